// Keyed and broadcast state as users declare and use it. A descriptor is plain data about a state; the handle that user code reads and
// writes is made from it by the state backend.
//   T1  A state is known by its name, which is the property name of its declaration unless `name` says otherwise.
//   T2  State owns its values: writes copy and freeze, reads give the frozen value, or a fresh copy where it holds a Map, Set, Date or bytes.

import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import type { DeepReadonly, Writable } from './data-types.ts';
import type { AggregateFunction } from './functions.ts';
import { checkOptions } from './option-checks.ts';

/** One value for each key. */
export interface ValueState<T, Empty = undefined> {
  /** The value, frozen; without one, what `default` gives, else `undefined`. */
  value(): DeepReadonly<T> | Empty;
  /** @throws SluiceError `VALUE_NOT_SUPPORTED` when it cannot be encoded, naming the path in the value */
  update(value: Writable<T>): void;
  clear(): void;
}

/** A list for each key; also the form of operator list state. */
export interface ListState<T> {
  /** Frozen, in the order of adding; empty when there is nothing. */
  get(): readonly DeepReadonly<T>[];
  add(value: Writable<T>): void;
  addAll(values: Iterable<Writable<T>>): void;
  /** Replaces the list. */
  update(values: Iterable<Writable<T>>): void;
  clear(): void;
}

/**
 * A map for each key. Map keys are what keys may be, compared by value; iteration is in the order of their encodings, over the entries
 * present when it began.
 */
export interface MapState<K, V> {
  get(key: K): DeepReadonly<V> | undefined;
  put(key: K, value: Writable<V>): void;
  putAll(entries: Iterable<readonly [K, Writable<V>]>): void;
  has(key: K): boolean;
  remove(key: K): void;
  entries(): IterableIterator<[K, DeepReadonly<V>]>;
  keys(): IterableIterator<K>;
  values(): IterableIterator<DeepReadonly<V>>;
  isEmpty(): boolean;
  clear(): void;
}

/** State that folds what is added into one result. */
export interface AppendingState<I, O> {
  /** The result so far; `undefined` before the first `add`. */
  get(): DeepReadonly<O> | undefined;
  add(value: I): void;
  clear(): void;
}

/** How long a state's value lives. Time-to-live is checked when it is declared and refused when the job is built: it is not available yet. */
export interface TtlOptions {
  /** Longer than 0. */
  duration: Duration;
  /** What starts the time again; `OnCreateAndWrite` by default. */
  updateType?: 'OnCreateAndWrite' | 'OnReadAndWrite';
  /** Whether an expired value that still lies there is given; `NeverReturnExpired` by default. */
  visibility?: 'NeverReturnExpired' | 'ReturnExpiredIfNotCleanedUp';
}

/** Options of every state. */
export interface StateOptions<T> {
  /** Name in checkpoints; the property name by default. */
  name?: string;
  ttl?: TtlOptions;
  /** Version of the stored form, 0 by default; raise it together with `migrate`. */
  version?: number;
  /** Makes a value of this version from one that was stored by version `from`. */
  migrate?: (old: unknown, from: number) => T;
}

export interface Ttl {
  readonly durationMs: number;
  readonly updateType: 'OnCreateAndWrite' | 'OnReadAndWrite';
  readonly visibility: 'NeverReturnExpired' | 'ReturnExpiredIfNotCleanedUp';
}

interface StateCommon {
  readonly name: string | undefined;
  readonly ttl: Ttl | undefined;
  readonly version: number;
  readonly migrate: ((old: unknown, from: number) => unknown) | undefined;
}

/** What the state layer reads of a descriptor. */
export type StateDeclaration = StateCommon &
  (
    | { readonly kind: 'value'; readonly default: (() => unknown) | undefined }
    | { readonly kind: 'list' }
    | { readonly kind: 'map' }
    | { readonly kind: 'reducing'; readonly reduce: (a: unknown, b: unknown) => unknown }
    | { readonly kind: 'aggregating'; readonly aggregate: AggregateFunction<unknown, unknown, unknown> }
    | { readonly kind: 'folding'; readonly initial: unknown; readonly fold: (acc: unknown, value: unknown) => unknown }
  );

export type StateKind = StateDeclaration['kind'];

declare const handle: unique symbol;
/** The declaration of a state whose handle is `H`. Made by `valueState`, `listState` …; plain data, so it may be shared by functions. */
export type StateDescriptor<H> = StateDeclaration & { readonly [handle]: H };

/** The states of a function, by property name. */
export type StateShape = { readonly [name: string]: StateDescriptor<unknown> };

/** The handles of declared states, by property name. */
export type Handles<S> = { readonly [N in keyof S]: S[N] extends { readonly [handle]: infer H } ? H : never };

/** A map state that can only be read: broadcast state seen from the keyed side. */
export type ReadonlyMapState<K, V> = Pick<MapState<K, V>, 'get' | 'has' | 'entries' | 'keys' | 'values' | 'isEmpty'>;

/** The read-only handles of broadcast states. */
export type ReadonlyHandles<S> = {
  readonly [N in keyof S]: S[N] extends { readonly [handle]: MapState<infer K, infer V> } ? ReadonlyMapState<K, V> : never;
};

/**
 * One value for each key. With `default`, reading an empty state gives what `default()` makes, and its type has no `undefined`.
 * @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID`
 */
export function valueState<T>(o: StateOptions<T> & { default: () => T }): StateDescriptor<ValueState<T, never>>;
export function valueState<T>(o?: StateOptions<T>): StateDescriptor<ValueState<T>>;
export function valueState<T>(o: StateOptions<T> & { default?: () => T } = {}): StateDescriptor<ValueState<T, never>> {
  const common = commonOf('valueState', o, ['default']);
  if (o.default !== undefined && typeof o.default !== 'function') {
    throw invalid('valueState', 'default', 'is a function that makes the value, such as () => 0');
  }
  return descriptor({ ...common, kind: 'value', default: o.default });
}

/** A list for each key. @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID` */
export function listState<T>(o: StateOptions<T> = {}): StateDescriptor<ListState<T>> {
  return descriptor({ ...commonOf('listState', o), kind: 'list' });
}

/** A map for each key. @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID` */
export function mapState<K, V>(o: StateOptions<V> = {}): StateDescriptor<MapState<K, V>> {
  return descriptor({ ...commonOf('mapState', o), kind: 'map' });
}

/**
 * One value for each key, into which what is added is reduced.
 * @param reduce  from what was there and what is added to what will be there; changes neither
 * @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID`
 */
export function reducingState<T>(reduce: (a: T, b: T) => T, o: StateOptions<T> = {}): StateDescriptor<AppendingState<T, T>> {
  if (typeof reduce !== 'function') throw invalid('reducingState', 'reduce', 'is a function of two values');
  return descriptor({ ...commonOf('reducingState', o), kind: 'reducing', reduce: reduce as (a: unknown, b: unknown) => unknown });
}

/**
 * An accumulator for each key; reading gives its result.
 * @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID`
 */
export function aggregatingState<I, Acc, O>(
  f: AggregateFunction<I, Acc, O>,
  o: StateOptions<Acc> = {},
): StateDescriptor<AppendingState<I, O>> {
  checkAggregate('aggregatingState', f);
  return descriptor({
    ...commonOf('aggregatingState', o),
    kind: 'aggregating',
    aggregate: f as AggregateFunction<unknown, unknown, unknown>,
  });
}

/**
 * A value for each key that starts as `initial` and into which what is added is folded.
 * @deprecated kept because Flink jobs have it; `aggregatingState` does the same and can be merged
 * @throws SluiceError `OPTION_INVALID` or `DURATION_INVALID`
 */
export function foldingState<I, Acc>(
  initial: Acc,
  fold: (acc: Acc, value: I) => Acc,
  o: StateOptions<Acc> = {},
): StateDescriptor<AppendingState<I, Acc>> {
  if (typeof fold !== 'function') throw invalid('foldingState', 'fold', 'is a function of the accumulator and a value');
  return descriptor({ ...commonOf('foldingState', o), kind: 'folding', initial, fold: fold as (acc: unknown, value: unknown) => unknown });
}

/** @throws SluiceError `OPTION_INVALID` when one of the four functions is missing */
export function checkAggregate<I, Acc, O>(owner: string, f: AggregateFunction<I, Acc, O>): void {
  for (const method of ['createAccumulator', 'add', 'getResult', 'merge'] as const) {
    if (typeof f?.[method] !== 'function')
      throw invalid(owner, method, 'is a function of the aggregate (createAccumulator, add, getResult, merge)');
  }
}

/** True for what `valueState` and its siblings made, also in another copy of the package. */
export function isStateDescriptor(d: unknown): d is StateDescriptor<unknown> {
  if (typeof d !== 'object' || d === null) return false;
  const { kind, version } = d as Partial<StateDeclaration>;
  return typeof version === 'number' && ['value', 'list', 'map', 'reducing', 'aggregating', 'folding'].includes(kind as string);
}

function descriptor<H>(declaration: StateDeclaration): StateDescriptor<H> {
  return Object.freeze(declaration) as StateDescriptor<H>;
}

const versionMax = 65_535; // two bytes are plenty for how often a stored form changes

function commonOf<T>(owner: string, o: StateOptions<T>, more: readonly string[] = []): StateCommon {
  checkOptions(owner, o, ['name', 'ttl', 'version', 'migrate', ...more]);
  const { name, version = 0, migrate } = o;
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw invalid(owner, 'name', 'is text that is not empty');
  if (!Number.isInteger(version) || version < 0 || version > versionMax)
    throw invalid(owner, 'version', `is a whole number from 0 to ${versionMax}`);
  if (migrate !== undefined && typeof migrate !== 'function')
    throw invalid(owner, 'migrate', 'is a function of the old value and its version');
  return { name, ttl: o.ttl === undefined ? undefined : ttlOf(owner, o.ttl), version, migrate };
}

function ttlOf(owner: string, ttl: TtlOptions): Ttl {
  checkOptions(`${owner} ttl`, ttl, ['duration', 'updateType', 'visibility']);
  const durationMs = parseDuration(ttl.duration, { name: `${owner} ttl.duration` });
  if (durationMs === 0) throw invalid(owner, 'ttl.duration', 'is longer than 0');
  const { updateType = 'OnCreateAndWrite', visibility = 'NeverReturnExpired' } = ttl;
  if (!['OnCreateAndWrite', 'OnReadAndWrite'].includes(updateType))
    throw invalid(owner, 'ttl.updateType', 'is OnCreateAndWrite or OnReadAndWrite');
  if (!['NeverReturnExpired', 'ReturnExpiredIfNotCleanedUp'].includes(visibility)) {
    throw invalid(owner, 'ttl.visibility', 'is NeverReturnExpired or ReturnExpiredIfNotCleanedUp');
  }
  return { durationMs, updateType, visibility };
}

function invalid(owner: string, option: string, rule: string): SluiceError {
  return new SluiceError('OPTION_INVALID', { message: `${owner}: ${option} ${rule}`, next: 'fix-the-job', option });
}
