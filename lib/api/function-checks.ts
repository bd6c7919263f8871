// function-checks.ts owns what a user's function may look like when it is given to the stream algebra.
//   C1  An instance is shared by all subtasks and attempts, so it must not be able to remember anything: no fields, no `open`, no
//       `initializeState`, no `restoreState`. A factory gives each of them its own.
//   C2  A factory is called once for each subtask and attempt. The call that looks at the declared state when the job is built counts: what it
//       made goes to the first that asks.
//   C3  Nothing that awaits runs on the hot path, so an async function is refused here instead of losing its errors later.

import { SluiceError } from '../core/errors.ts';
import { kindOf, nameOfKind } from '../core/kinds.ts';
import type { OneOrFactory } from './functions.ts';
import { checkFunction } from './option-checks.ts';
import type { Sink } from './sink.ts';
import { isStateDescriptor, type StateShape } from './state.ts';

export interface Factory<F> {
  readonly create: () => F;
  /** The object to look at when the job is built. */
  readonly sample: F;
}

/**
 * Turns what the user gave into a factory.
 * @param owner    how messages call it, such as `process`
 * @param methods  methods that it must have
 * @throws SluiceError `FUNCTION_NEEDS_FACTORY`, `FUNCTION_INVALID`, `FUNCTION_ASYNC`
 */
export function factoryOf<F extends object>(owner: string, given: OneOrFactory<F>, methods: readonly string[]): Factory<F> {
  if (typeof given === 'function') return madeBy(owner, given, methods);
  checkMethods(owner, given, methods);
  const memory = waysToRemember(given);
  if (memory.length > 0) throw needsFactory(owner, given, memory);
  return { create: () => given, sample: given };
}

function madeBy<F extends object>(owner: string, factory: () => F, methods: readonly string[]): Factory<F> {
  if (isClass(factory)) {
    throw invalid(owner, `takes an instance or a factory, not a class; write () => new ${factory.name || 'It'}()`);
  }
  const sample = factory();
  checkMethods(owner, sample, methods, 'the factory ');
  const madeBefore = new WeakSet<object>();
  let waiting: F | undefined = sample;
  const create = (): F => {
    const made = waiting ?? factory();
    waiting = undefined;
    if (madeBefore.has(made) && waysToRemember(made).length > 0) throw givesTheSame(owner, made);
    madeBefore.add(made);
    return made;
  };
  return { create, sample };
}

/**
 * Turns what was given to `sinkTo` into a factory. A sink's memory lies in its writers, so one object may serve all of them; the sink classes
 * that users extend are one writer each.
 * @throws SluiceError `FUNCTION_NEEDS_FACTORY`, `FUNCTION_INVALID`
 */
export function sinkFactoryOf<T>(given: OneOrFactory<Sink<T>>): Factory<Sink<T>> {
  const methods = ['recover', 'createWriter'];
  if (typeof given === 'function') return madeBy('sinkTo', given, methods);
  checkMethods('sinkTo', given, methods);
  const isWriterOfUser = 'beginTransaction' in given || 'sendValues' in given || 'open' in given;
  const memory = isWriterOfUser ? waysToRemember(given, ['kind', 'isStateless', 'needsRowIdentity', 'detached']) : [];
  if (memory.length > 0) throw needsFactory('sinkTo', given, memory);
  return { create: () => given, sample: given };
}

/**
 * What of an object can remember something between two calls, in the user's words. Empty: it can be shared.
 * @param harmless  names of fields that never change
 */
export function waysToRemember(o: object, harmless: readonly string[] = ['state']): readonly string[] {
  const ways: string[] = [];
  for (const key of Reflect.ownKeys(o)) {
    if (typeof key === 'string' && harmless.includes(key)) continue;
    const property = Reflect.getOwnPropertyDescriptor(o, key);
    if (typeof property?.value !== 'function') ways.push(`the field '${String(key)}'`);
  }
  for (const method of ['open', 'initializeState', 'restoreState']) if (method in o) ways.push(`'${method}'`);
  if (declaresPrivateFields(o)) ways.push('private fields');
  return ways;
}

/** Private fields cannot be seen from outside, but their class tells them. */
function declaresPrivateFields(o: object): boolean {
  for (let prototype: unknown = Object.getPrototypeOf(o); isObject(prototype); prototype = Object.getPrototypeOf(prototype)) {
    const made: unknown = Object.hasOwn(prototype, 'constructor') ? prototype.constructor : undefined;
    if (typeof made === 'function' && isClass(made) && /^\s*(static\s+)?#[\w$]+\s*[=;]/m.test(Function.prototype.toString.call(made)))
      return true;
  }
  return false;
}

function isObject(o: unknown): o is object {
  return typeof o === 'object' && o !== null;
}

function isClass(f: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(f));
}

function checkMethods(owner: string, o: unknown, methods: readonly string[], who = ''): void {
  if (!isObject(o))
    throw invalid(
      owner,
      `${who === '' ? 'takes' : 'takes a factory that gives'} an object with ${methods.join(', ')}, not ${nameOfKind(o)}`,
    );
  if (o instanceof Promise) throw invalid(owner, `${who}gives a promise, but it must give the object at once`);
  const members = o as Readonly<Record<string, unknown>>;
  for (const method of methods) {
    if (typeof members[method] !== 'function')
      throw invalid(owner, `needs ${method}, which ${who}${who === '' ? 'the object' : 'result'} does not have`);
  }
  // A sink may take its time to recover: that happens before the first record.
  const hot = methods.filter((m) => m !== 'recover');
  for (const method of [...hot, 'onTimer', 'snapshotState', 'initializeState', 'restoreState']) refuseAsync(owner, members[method], method);
}

/**
 * Checks a plain function such as that of `map`.
 * @throws SluiceError `OPTION_INVALID` when it is no function, `FUNCTION_ASYNC`
 */
export function checkPlainFunction(owner: string, f: unknown): void {
  checkFunction(owner, f);
  refuseAsync(owner, f, 'the function');
}

function refuseAsync(owner: string, f: unknown, name: string): void {
  if (typeof f !== 'function' || !['AsyncFunction', 'AsyncGeneratorFunction'].includes(f.constructor.name)) return;
  throw new SluiceError('FUNCTION_ASYNC', {
    message: `${owner}: ${name} is async, but records are handled without waiting; read ahead in a source, or write through a sink`,
    next: 'fix-the-job',
  });
}

/**
 * Checks the states that a function declares.
 * @throws SluiceError `FUNCTION_INVALID` for what is no declaration, `STATE_NAME_DUPLICATE`, `FEATURE_NOT_AVAILABLE` for a time-to-live
 */
export function checkStates(owner: string, state: unknown): StateShape {
  if (state === undefined) return {};
  if (!isObject(state) || kindOf(state) !== 'plain') throw invalid(owner, `state is an object of declarations, not ${nameOfKind(state)}`);
  const names = new Set<string>();
  for (const [property, descriptor] of Object.entries(state)) {
    if (!isStateDescriptor(descriptor))
      throw invalid(owner, `state.${property} is made by valueState, listState, mapState …, not ${nameOfKind(descriptor)}`);
    const name = descriptor.name ?? property;
    if (descriptor.ttl !== undefined) throw withoutTtl(owner, name);
    if (names.has(name)) {
      throw new SluiceError('STATE_NAME_DUPLICATE', {
        message: `${owner}: two states have the name '${name}'`,
        next: 'fix-the-job',
        state: name,
      });
    }
    names.add(name);
  }
  return state as StateShape;
}

function withoutTtl(owner: string, state: string): SluiceError {
  return new SluiceError('FEATURE_NOT_AVAILABLE', {
    message: `${owner}: the state '${state}' has a ttl, which is not available yet; clear it with a timer instead`,
    next: 'fix-the-job',
    state,
  });
}

function needsFactory(owner: string, o: object, memory: readonly string[]): SluiceError {
  const made = (o as { constructor?: { name?: unknown } }).constructor?.name;
  const example = kindOf(o) === 'plain' || typeof made !== 'string' ? '() => ({ … })' : `() => new ${made}()`;
  return new SluiceError('FUNCTION_NEEDS_FACTORY', {
    message: `${owner}: the object has ${memory.join(', ')}, and all subtasks and attempts would share it; give a factory, ${example}`,
    next: 'fix-the-job',
  });
}

function givesTheSame(owner: string, o: object): SluiceError {
  return new SluiceError('FUNCTION_NEEDS_FACTORY', {
    message: `${owner}: the factory gave one object twice, and it has ${waysToRemember(o).join(', ')}; make a new one in each call`,
    next: 'fix-the-job',
  });
}

function invalid(owner: string, what: string): SluiceError {
  return new SluiceError('FUNCTION_INVALID', { message: `${owner} ${what}`, next: 'fix-the-job' });
}
