// Accumulators of a job that has ended. Their values lie in the newest entry of each subtask; the functions that merge and read them are with
// the operators, so workers are asked, which have run them.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { JobItem, Owner } from '../../invocation/job-item.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { readRing } from '../../invocation/ring.ts';
import { decodeOperatorState, readOperatorState } from '../../invocation/unit/operator-state.ts';
import type { AccumulatorValues } from './ipc.ts';

export interface FinalAccumulators {
  /** By name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** Those that nobody who was asked can read. */
  readonly unread: readonly string[];
}

const resultsItem = 'runner/accumulators';

/** So that a call of the finished job tells them again, when no worker is there to ask. */
export async function keepResults(
  { items }: Pick<InvocationPorts, 'items'>,
  generation: number,
  results: FinalAccumulators['results'],
): Promise<void> {
  await items.put({ name: resultsItem, content: { bytes: encodeValue([generation, results]), change: '' }, expects: 'any' });
}

/** What was kept when the job ended in this generation; nothing when it was not. */
export async function keptResults({ items }: Pick<InvocationPorts, 'items'>, generation: number): Promise<FinalAccumulators['results']> {
  const stored = await items.get(resultsItem);
  if (stored === undefined) return {};
  const [of, results] = decodeValue(stored.bytes) as [number, FinalAccumulators['results']];
  return of === generation ? results : {};
}

export type Ask = (values: AccumulatorValues) => Promise<readonly (readonly [name: string, result: Uint8Array])[]>;

/** @param asked  each is asked for what those before it did not know */
export async function finalAccumulators(ports: InvocationPorts, item: JobItem, asked: readonly Ask[]): Promise<FinalAccumulators> {
  const stored = new Map<string, Uint8Array[]>();
  for (const owner of item.owners) {
    for (const { name, value } of await accumulatorsOf(ports, item, owner)) stored.set(name, [...(stored.get(name) ?? []), value]);
  }
  const results: Record<string, unknown> = {};
  for (const ask of asked) {
    const values = [...stored].filter(([name]) => !Object.hasOwn(results, name));
    if (values.length === 0) break;
    for (const [name, result] of await ask(values)) results[name] = decodeValue(result);
  }
  return { results, unread: [...stored.keys()].filter((name) => !Object.hasOwn(results, name)) };
}

async function accumulatorsOf(ports: InvocationPorts, item: JobItem, { subtask }: Owner) {
  const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
  if (view === undefined || view === 'closed') return [];
  const bytes = await readOperatorState(view.head.operatorState, { objects: ports.objects, subtask });
  return bytes === undefined ? [] : decodeOperatorState(bytes).flatMap(({ accumulators }) => accumulators);
}
