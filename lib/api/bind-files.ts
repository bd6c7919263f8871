// bind-files.ts puts files in the place of services, before a job is planned: a file ends, can be read again and is no queue, and a plan depends on
// such things. A job that runs where its services are is left as it is.
//   B1  Every name of the job is bound, and everything that is bound is a name of the job.

import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';
import type { Binding } from './binding.ts';
import type { LogicalNode, OperatorSpec } from './description.ts';
import type { Sink } from './sink.ts';

export type FileBindings = Readonly<Record<string, string>>;

/**
 * @param bind  name → path
 * @throws SluiceError `BIND_UNKNOWN`, `BIND_MISSING`, `BIND_UNFIT`, each naming the flag
 */
export function bindFiles(nodes: readonly LogicalNode[], bind: FileBindings): readonly LogicalNode[] {
  const names = new Set(nodes.flatMap(({ operator }) => bindingOf(operator)?.name ?? []));
  for (const name of Object.keys(bind)) if (!names.has(name)) throw unknownName(name, names);
  return nodes.map((node) => {
    const binding = bindingOf(node.operator);
    if (binding === undefined) return node;
    const path = Object.hasOwn(bind, binding.name) ? bind[binding.name] : undefined;
    if (path === undefined || path === '') throw missing(binding.name, node.operator.kind === 'source');
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

function missing(name: string, isSource: boolean): SluiceError {
  return new SluiceError('BIND_MISSING', {
    message: `the ${isSource ? 'source' : 'sink'} '${name}' is bound to nothing`,
    next: 'fix-the-command',
    advice: isSource ? `give a file to read: --bind ${name}=FILE` : `give a directory for its rows: --bind ${name}=DIRECTORY`,
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
