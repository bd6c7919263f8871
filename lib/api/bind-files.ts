// bind-files.ts puts files in the place of services, before a job is planned: a file ends, can be read again and is no queue, and a plan depends on
// such things. A job that runs where its services are is left as it is, and so is a sink that is bound to a service itself.
//   B1  Every name of the job is bound, and everything that is bound is a name of the job.
//   B2  A source is read from a file: what delivers the records of a stream or a queue, and knows its shards and receipts, is there in a deployment only.

import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';
import type { Binding, BindingKind } from './binding.ts';
import { type BoundService, serviceBehind, serviceForms } from './bound-service.ts';
import type { LogicalNode, OperatorSpec } from './description.ts';
import type { Sink } from './sink.ts';

export type FileBindings = Readonly<Record<string, string>>;

/**
 * @param bind  name → path or service
 * @throws SluiceError `BIND_UNKNOWN`, `BIND_MISSING`, `BIND_UNFIT`, each naming the flag
 */
export function bindFiles(nodes: readonly LogicalNode[], bind: FileBindings): readonly LogicalNode[] {
  const names = new Set(nodes.flatMap(({ operator }) => bindingOf(operator)?.name ?? []));
  for (const name of Object.keys(bind)) if (!names.has(name)) throw unknownName(name, names);
  return nodes.map((node) => {
    const binding = bindingOf(node.operator);
    if (binding === undefined) return node;
    const path = Object.hasOwn(bind, binding.name) ? bind[binding.name] : undefined;
    const isSource = node.operator.kind === 'source';
    if (path === undefined || path === '') throw missing(binding, isSource);
    const service = serviceBehind(binding.name, path);
    if (service !== undefined) {
      checkService(binding, service, { isSource, path });
      return node;
    }
    return { ...node, operator: boundTo(node.operator, binding.name, path) };
  });
}

function bindingOf(operator: OperatorSpec): Binding | undefined {
  if (operator.kind === 'source') return operator.source.binding;
  return operator.kind === 'sink' ? operator.binding : undefined;
}

function boundTo(operator: OperatorSpec, name: string, path: string): OperatorSpec {
  if (operator.kind === 'source') {
    const source = operator.source.fromFile?.(path);
    if (source === undefined) throw unfit(name, operator.source.kind, 'is read from no file');
    return { ...operator, source };
  }
  if (operator.kind !== 'sink') return operator;
  const toFiles = (sink: Sink<unknown>): Sink<unknown> => {
    const there = sink.toFiles?.(path);
    if (there === undefined) throw unfit(name, sink.kind, 'writes to no file');
    return there;
  };
  const { create } = operator;
  const { needsRowIdentity, target } = toFiles(create());
  return {
    kind: 'sink',
    create: () => toFiles(create()),
    ...(needsRowIdentity === true ? { needsRowIdentity } : {}),
    ...(target === undefined ? {} : { target }),
  };
}

function unknownName(name: string, names: ReadonlySet<string>): SluiceError {
  const meant = nearest(name, names);
  const known = names.size === 0 ? 'it names none' : `it names ${[...names].join(', ')}`;
  return new SluiceError('BIND_UNKNOWN', {
    message: `--bind ${name}=…: the job has no source or sink of that name; ${meant === undefined ? known : `did you mean '${meant}'?`}`,
    next: 'fix-the-command',
    binding: name,
  });
}

/** @throws SluiceError `BIND_UNFIT` */
function checkService({ name, kinds }: Binding, { kind }: BoundService, { isSource, path }: { isSource: boolean; path: string }): void {
  const refuse = (why: string, advice: string): never => {
    throw new SluiceError('BIND_UNFIT', { message: `--bind ${name}=${path}: ${why}`, next: 'fix-the-command', advice, binding: name });
  };
  if (isSource)
    refuse(
      `'${name}' is a source, and a run on one machine reads files only`,
      `give a file to read: --bind ${name}=FILE; or deploy the job`,
    );
  if (kinds.includes(kind)) return;
  refuse(`'${name}' does not write to ${kind}`, `give ${formsOf(name, kinds) || `a directory: --bind ${name}=DIRECTORY`}`);
}

function formsOf(name: string, kinds: readonly BindingKind[]): string {
  return kinds.flatMap((kind) => (kind === 'kafka' ? [] : [`--bind ${name}=${serviceForms[kind]}`])).join(' or ');
}

function missing({ name, kinds }: Binding, isSource: boolean): SluiceError {
  const service = formsOf(name, kinds);
  return new SluiceError('BIND_MISSING', {
    message: `the ${isSource ? 'source' : 'sink'} '${name}' is bound to nothing`,
    next: 'fix-the-command',
    advice: isSource
      ? `give a file to read: --bind ${name}=FILE`
      : `give a directory for its rows: --bind ${name}=DIRECTORY${service === '' ? '' : `, or what it writes to: ${service}`}`,
    binding: name,
  });
}

function unfit(name: string, kind: string, why: string): SluiceError {
  return new SluiceError('BIND_UNFIT', {
    message: `--bind ${name}=…: ${kind} ${why}`,
    next: 'fix-the-job',
    binding: name,
  });
}
