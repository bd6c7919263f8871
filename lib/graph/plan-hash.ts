import { createHash } from 'node:crypto';
import type { JobDescription } from '../api/description.ts';
import { statesOf } from './states.ts';
import { parallelismOf } from './validate.ts';

/**
 * The hash of everything that decides where state and records go (P4): uids, kinds, states with their versions, edges with their partitioning
 * as it was written, maximum parallelism. Not names, not parallelism, not the code of functions.
 * @returns 32 hexadecimal digits
 */
export function planHash(description: JobDescription, uids: readonly string[]): string {
  const operators = description.nodes.map((node) => ({
    uid: uids[node.id],
    kind: node.operator.kind,
    states: statesOf(node.operator).map(({ scope, name, kind, version }) => [scope, name, kind, version]),
    maxParallelism: parallelismOf(node, description).maxParallelism,
    inputs: node.inputs.map(({ from, sideOutput, partitioning, input }) => [uids[from], sideOutput ?? null, partitioning.kind, input]),
  }));
  operators.sort((a, b) => ((a.uid as string) < (b.uid as string) ? -1 : 1)); // the order of independent branches decides nothing
  return createHash('sha256')
    .update(JSON.stringify([description.job, operators]))
    .digest('hex')
    .slice(0, 32);
}
