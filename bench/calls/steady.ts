// steady.ts measures a job that runs: what its units ask for, how large what they write is, and what a record costs in write units when everything
// is counted, also the part of a materialise that is yet to come.

import { Buffer } from 'node:buffer';
import { encodeKey } from '../../lib/core/key-codec.ts';
import { itemAddressOf } from '../../lib/invocation/address.ts';
import { flushBelowSlots } from '../../lib/invocation/limits.ts';
import { addressKey } from '../../lib/invocation/request-limits.ts';
import { readRing } from '../../lib/invocation/ring.ts';
import { decodeItem } from '../../lib/invocation/versions.ts';
import { type Call, Fleet, type FleetOptions, type Placement } from './fleet.ts';
import { type Counts, Meter, minus, plus, requestsOf, type Tally } from './meter.ts';
import { type Workload, zipfWorkload } from './workload.ts';

/** What an object costs, in write units: the price of a put is that of eight. */
export const unitsOfObject = 8;

/** CPU time of a group of units: many ticks of the clock. */
const groupMs = 100;

export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly p99: number;
}

export interface Steady {
  readonly name: string;
  readonly stages: 1 | 2;
  readonly batch: number;
  readonly placement: Placement;
  readonly records: number;
  readonly units: Counts;
  readonly coordinator: Counts;
  /** What the poller of the exchange asked for. */
  readonly polls: Counts;
  /** Of what is not materialised yet, as far as its round of the ring has come. */
  readonly left: Pick<Tally, 'writeUnits' | 'readUnits'>;
  /** Of the clock of the job. */
  readonly seconds: number;
  readonly entries: Spread;
  readonly objects: Spread;
  readonly versionsPerItem: { readonly mean: number; readonly max: number };
  readonly tableItems: number;
  /** Of a source unit in an environment that ran the unit before. */
  readonly warm: { readonly units: number; readonly others: readonly string[]; readonly wallMs: Spread; readonly cpuMs: Spread };
  /** Of those, the ones in which a key came that the environment had not seen: they read it, and nothing else. */
  readonly warmWithNewKeys: { readonly units: number; readonly excessReads: number };
  readonly unitsPerRecord: { readonly entries: number; readonly objects: number; readonly table: number; readonly other: number };
}

export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { count: sorted.length, median: at(0.5), p99: at(0.99) };
}

export type SteadyOptions = Pick<
  FleetOptions,
  'stages' | 'batch' | 'placement' | 'stores' | 'writesRows' | 'messagesPerEvent' | 'gathers'
> & {
  readonly records: number;
  readonly ringSlots?: number;
  readonly keys?: number;
  readonly secondsPerCheckpoint?: number;
  /** Told of the job before it runs. @returns what is told of every call */
  readonly watch?: (fleet: Fleet) => (call: Call) => void;
};

export async function measureSteady(o: SteadyOptions): Promise<Steady> {
  const { stages, batch, placement, records, ringSlots = 1_024, keys = 10_000, secondsPerCheckpoint = 60 } = o;
  const workload = zipfWorkload({ records, keys, shards: 4, valueBytes: 100 });
  const fleet = new Fleet({ ...o, workload, stages, batch, placement, environments: 8, ringSlots, secondsPerCheckpoint });
  await fleet.create();
  const created = fleet.coordinatorMeter.counts;
  const warm = new WarmUnits(batch, placement);
  const watched = o.watch?.(fleet);
  fleet.onCall = (call) => {
    warm.note(call);
    watched?.(call);
  };
  await fleet.run();
  fleet.onCall = undefined;
  const units = fleet.unitMeter.counts;
  const coordinator = minus(fleet.coordinatorMeter.counts, created);
  const [entries, objects] = [spreadOf(fleet.unitMeter.entrySizes), spreadOf(fleet.unitMeter.objectSizes)];
  const left = await materialiseRest(fleet);
  checkState(fleet, workload);
  return {
    name: `${stages === 1 ? 'one stage' : 'two stages'}, batch ${batch.toLocaleString('en')}, ${placement}`,
    ...{ stages, batch, placement, units, coordinator, entries, objects, warm: warm.report(), warmWithNewKeys: warm.withNewKeys },
    records: workload.shards.reduce((sum, { count }) => sum + count, 0),
    versionsPerItem: versionsPerItem(fleet),
    tableItems: fleet.stores.items().length,
    unitsPerRecord: unitsPerRecord(plus(units, coordinator), left.writeUnits, records),
    ...{ polls: fleet.pollMeter.counts, left, seconds: fleet.elapsedSeconds },
  };
}

/** Source units whose environment had the subtask: what they asked for besides one append, and the CPU time of the full ones. */
class WarmUnits {
  readonly #batch: number;
  readonly #placement: Placement;
  readonly #others: string[] = [];
  readonly #wallMs: number[] = [];
  /** Of each group of units whose sum is large enough to be told by a clock that ticks, the mean. */
  readonly #cpuMs: number[] = [];
  #group = { units: 0, cpuMs: 0 };
  #units = 0;
  withNewKeys = { units: 0, excessReads: 0 };

  constructor(batch: number, placement: Placement) {
    this.#batch = batch;
    this.#placement = placement;
  }

  note({ invocation, counts, cpuMs, wallMs, isFirst }: Call): void {
    if (invocation.kind !== 'records' || isFirst || this.#placement === 'random') return;
    // A materialise, and objects that a large entry needs, have lines of their own.
    const { append, 'table write': flushed, 'table read': reads } = counts;
    if (flushed.requests > 0) return;
    const others = requestsOf(counts) - append.requests - counts['object put'].requests - counts.send.requests;
    if (reads.requests > 0 && others === reads.requests) {
      const excess = Math.max(0, reads.requests - Math.ceil(reads.items / 100));
      this.withNewKeys = { units: this.withNewKeys.units + 1, excessReads: this.withNewKeys.excessReads + excess };
      return;
    }
    this.#units += 1;
    if (append.requests !== 1 || others !== 0) this.#others.push(`${append.requests} appends, ${others} others`);
    if (invocation.records.length !== this.#batch) return;
    this.#wallMs.push(wallMs);
    const group = { units: this.#group.units + 1, cpuMs: this.#group.cpuMs + cpuMs };
    const isFull = group.cpuMs >= groupMs;
    this.#group = isFull ? { units: 0, cpuMs: 0 } : group;
    if (isFull) this.#cpuMs.push(group.cpuMs / group.units);
  }

  report(): Steady['warm'] {
    const { units, cpuMs } = this.#group;
    const means = this.#cpuMs.length === 0 && units > 0 ? [cpuMs / units] : this.#cpuMs;
    return { units: this.#units, others: this.#others, wallMs: spreadOf(this.#wallMs), cpuMs: spreadOf(means) };
  }
}

/** Moves to the table what is not there yet, to be looked at. @returns units of it, each as far as its round of the ring has come */
async function materialiseRest(fleet: Fleet): Promise<Steady['left']> {
  const { owners, ringSlots, generation } = await fleet.item();
  const eager = fleet.environment({ flushBelowSlots: ringSlots, flushKeepSlots: 0 });
  const left = { writeUnits: 0, readUnits: 0 };
  for (const { subtask } of owners) {
    const view = await readRing(fleet.stores.ports(new Meter()).changelog, { generation, subtask }, ringSlots);
    if (view === undefined || view === 'closed') throw new Error(`subtask ${subtask} has no ring`);
    const before = fleet.unitMeter.counts;
    await fleet.invoke({ kind: 'tick', subtask }, eager);
    const counts = minus(fleet.unitMeter.counts, before);
    const share = Math.min(1, view.above.length / (ringSlots - flushBelowSlots));
    left.writeUnits += counts['table write'].writeUnits * share;
    left.readUnits += counts['table read'].readUnits * share;
  }
  return left;
}

/** What the table holds of each key has to be what its last record said. */
function checkState(fleet: Fleet, workload: Workload): void {
  const last = new Map<string, Uint8Array>();
  for (const shard of workload.shards) {
    for (let i = 0; i < shard.count; i++) {
      const { key, value } = shard.at(i);
      last.set(key, value);
    }
  }
  const items = fleet.stores.items();
  if (items.length !== last.size) throw new Error(`the table has ${items.length} items, and ${last.size} keys came`);
  const stored = new Map(items.map((item) => [addressKey(item.address), item.bytes]));
  for (const [key, value] of last) {
    const bytes = stored.get(addressKey(itemAddressOf({ operator: 'last', state: 'last', key: encodeKey(key), sub: '' })));
    const newest = bytes === undefined ? undefined : decodeItem(bytes)[0]?.value;
    if (newest === undefined || Buffer.compare(newest.subarray(-value.length), value) !== 0)
      throw new Error(`the state of ${key} is wrong`);
  }
}

function unitsPerRecord(counts: Counts, rest: number, records: number): Steady['unitsPerRecord'] {
  const { append, 'table write': table, 'object put': objects, 'row write': _, ...others } = counts;
  const other = Object.values(others).reduce((sum, tally) => sum + tally.writeUnits, 0);
  return {
    entries: append.writeUnits / records,
    objects: (objects.requests * unitsOfObject) / records,
    table: (table.writeUnits + rest) / records,
    other: other / records,
  };
}

export function totalUnitsPerRecord({ entries, objects, table, other }: Steady['unitsPerRecord']): number {
  return entries + objects + table + other;
}

function versionsPerItem(fleet: Fleet): Steady['versionsPerItem'] {
  const counts = fleet.stores.items().map(({ bytes }) => decodeItem(bytes).length);
  return { mean: counts.reduce((a, b) => a + b, 0) / Math.max(1, counts.length), max: counts.reduce((a, b) => Math.max(a, b), 0) };
}
