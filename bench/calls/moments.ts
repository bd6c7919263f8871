// moments.ts measures what happens now and then: a subtask that comes into an environment that knows nothing of it, a checkpoint, a restore.

import { encodeKey } from '../../lib/core/key-codec.ts';
import { addressOfItem, itemAddressOf } from '../../lib/invocation/address.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { addressKey } from '../../lib/invocation/request-limits.ts';
import { type Call, Fleet, type SubtaskCost } from './fleet.ts';
import { type Counts, minus, noCounts, plus, requestsOf } from './meter.ts';
import type { OpenStores } from './stores.ts';
import { type CallRecord, keyName, roundRobinWorkload, zipfWorkload } from './workload.ts';

const calm = { placement: 'affinity', environments: 1, secondsPerCheckpoint: 60 } as const;

export interface Arrival {
  readonly batch: number;
  readonly counts: Counts;
  readonly touchedKeys: number;
}

/** One more event of each shard, each in an environment that is new, at about half a round of the ring. */
export async function measureArrival(
  batch: number,
  o: { readonly records: number; readonly ringSlots: number; readonly stores?: OpenStores },
): Promise<readonly Arrival[]> {
  const workload = zipfWorkload({ records: o.records, keys: 10_000, shards: 4, valueBytes: 100 });
  const fleet = new Fleet({ ...calm, workload, stages: 1, batch, ringSlots: o.ringSlots, stores: o.stores });
  await fleet.create();
  await fleet.run({ reserve: 2 });
  // The newest entry is no barrier, which whoever comes next would acknowledge again.
  for (const shard of workload.shards.keys()) await fleet.feed(shard);
  const arrivals: Arrival[] = [];
  for (const shard of workload.shards.keys()) {
    const event = fleet.next(shard);
    let counts = noCounts;
    fleet.onCall = (call) => {
      counts = call.counts;
    };
    await fleet.invoke(event, fleet.environment({ flushBelowSlots: -1 })); // a materialise has nothing to do with where it runs
    const touched = new Set(event.records.map(({ value }) => (value as CallRecord).key));
    arrivals.push({ batch, counts, touchedKeys: touched.size });
  }
  return arrivals;
}

export interface CheckpointCost {
  readonly stages: 1 | 2;
  readonly keys: number;
  readonly where: 'same environment' | 'new environment';
  /** Of each subtask, in order. */
  readonly subtasks: readonly SubtaskCost[];
  readonly coordinator: Counts;
}

export interface MomentOptions {
  readonly stages: 1 | 2;
  readonly keys: number;
  readonly ringSlots: number;
  readonly stores?: OpenStores | undefined;
}

/** Records of the events that bring the keys, and of those that come while it is measured. */
const loadedBatch = 1_000;
const measuredBatch = 100;

/** A job whose keys all lie in the table, some of them changed since. */
async function loaded(o: MomentOptions): Promise<Fleet> {
  const { stages, keys, ringSlots, stores } = o;
  const workload = roundRobinWorkload({ records: 24 * loadedBatch, keys, shards: 4, valueBytes: 16 });
  const fleet = new Fleet({ ...calm, workload, stages, batch: loadedBatch, ringSlots, stores });
  await fleet.create();
  await fleet.run({ reserve: 4 });
  fleet.batch = measuredBatch;
  const { owners } = await fleet.item();
  const eager = fleet.environment({ flushBelowSlots: ringSlots, flushKeepSlots: 0 });
  for (const { subtask } of owners) await fleet.invoke({ kind: 'tick', subtask }, eager);
  await fillTable(fleet, keys);
  await settle(fleet, 2);
  return fleet;
}

/** Puts the keys that have not come yet into the table: items like those that a unit left there, without the units. */
async function fillTable(fleet: Fleet, keys: number): Promise<void> {
  const [like] = fleet.stores.items();
  if (like === undefined) throw new Error('the table is empty');
  const { operator, state, sub } = addressOfItem(like.address);
  const isThere = new Set(fleet.stores.items().map(({ address }) => addressKey(address)));
  const addresses = Array.from({ length: keys }, (_, rank) => itemAddressOf({ operator, state, key: encodeKey(keyName(rank)), sub }));
  const missing = addresses.filter((address) => !isThere.has(addressKey(address)));
  await fleet.stores.fill(missing.map((address) => ({ address, tags: like.tags, bytes: like.bytes })));
  const { length } = fleet.stores.items();
  if (length !== keys) throw new Error(`the table has ${length} items, and there are ${keys} keys`);
}

/** Checkpoints until everything is acknowledged, and the coordinator remembers what it does in a running job. */
async function settle(fleet: Fleet, checkpoints: number): Promise<void> {
  for (let i = 0; i < checkpoints; i++) {
    fleet.pass(60);
    await fleet.pulse();
    await fleet.pulse();
  }
}

export async function measureCheckpoint(o: MomentOptions & Pick<CheckpointCost, 'where'>): Promise<CheckpointCost> {
  const fleet = await loaded(o);
  // One checkpoint like any other goes before, with an event of each shard between the two.
  for (let round = 0; ; round++) {
    for (let shard = 0; shard < 4; shard++) await fleet.feed(shard);
    fleet.pass(60);
    if (o.where === 'new environment') fleet.forget();
    const subtasks = new Map<string, Pick<SubtaskCost, 'calls' | 'counts'>>();
    fleet.onCall = ({ invocation, counts }: Call) => {
      const { calls, counts: sofar } = subtasks.get(invocation.subtask) ?? { calls: 0, counts: noCounts };
      subtasks.set(invocation.subtask, { calls: calls + 1, counts: plus(sofar, counts) });
    };
    const before = (await fleet.item()).completed.at(-1)?.checkpoint ?? 0;
    const coordinator = plus(await fleet.pulse(), await fleet.pulse());
    fleet.onCall = undefined;
    const after = (await fleet.item()).completed.at(-1)?.checkpoint ?? 0;
    if (after !== before + 1) throw new Error(`checkpoint ${before + 1} did not complete in two pulses`);
    if (round === 1) return { ...o, subtasks: fleet.described(subtasks), coordinator };
  }
}

export interface RestoreCost {
  readonly stages: 1 | 2;
  readonly keys: number;
  readonly subtasks: number;
  /** From the mark until the generation is raised. */
  readonly counts: Counts;
  /** Bodies of entries that lie in objects, among what was read. */
  readonly overflowed: number;
}

export async function measureRestore(o: MomentOptions): Promise<RestoreCost> {
  const fleet = await loaded(o);
  for (let shard = 0; shard < 4; shard++) await fleet.feed(shard);
  await settle(fleet, 1);
  for (let shard = 0; shard < 4; shard++) await fleet.feed(shard);
  const { generation, owners } = await fleet.item();
  const before = fleet.coordinatorMeter.counts;
  let raised: Counts | undefined;
  fleet.stores.onJobItem((was, is) => {
    if (was !== '' && is === '') raised ??= fleet.coordinatorMeter.counts;
  });
  await startRestore(fleet.coordinatorPorts(), 'latest');
  for (let pulses = 0; raised === undefined && pulses < 10; pulses++) await fleet.pulse();
  const item = await fleet.item();
  if (raised === undefined || item.generation !== generation + 1) throw new Error('the restore did not end');
  const counts = minus(raised, before);
  // The put that raised the generation is counted when it has been answered.
  const put = { ...noCounts, 'item put': { ...noCounts['item put'], requests: 1, items: 1, writeUnits: 1 } };
  const metadata = 1;
  return { ...o, subtasks: owners.length, counts: plus(counts, put), overflowed: counts['object get'].requests - metadata };
}

export function requestsOfRestore({ counts, overflowed, subtasks }: RestoreCost): number {
  return (requestsOf(counts) - counts['ring page'].requests - overflowed) / subtasks;
}
