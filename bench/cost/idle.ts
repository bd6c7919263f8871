// idle.ts measures a job that has nothing to do: an hour of pulses of a deployed job whose last checkpoint has everything.

import { type EventKind, Fleet } from '../calls/fleet.ts';
import { type Counts, minus } from '../calls/meter.ts';
import type { OpenStores } from '../calls/stores.ts';
import { zipfWorkload } from '../calls/workload.ts';
import { type Bill, billOf, type Usage, usageOf } from './bill.ts';
import { Functions } from './functions.ts';

export interface Idle {
  readonly stages: 1 | 2;
  readonly subtasks: number;
  readonly pulses: number;
  /** Begun in that time. */
  readonly checkpoints: number;
  readonly units: Counts;
  readonly coordinator: Counts;
  readonly calls: Readonly<Record<EventKind, number>>;
  /** Of 30 days, without what mappings ask their queues. */
  readonly month: Bill;
}

const minutes = 120;
const monthMinutes = 30 * 24 * 60;

export async function measureIdle(o: { readonly stages: 1 | 2; readonly stores: OpenStores }): Promise<Idle> {
  const workload = zipfWorkload({ records: 4_000, keys: 1_000, shards: 4, valueBytes: 100 });
  const settings = { batch: 100, placement: 'affinity', environments: 1, ringSlots: 1_024, secondsPerCheckpoint: 60 } as const;
  const fleet = new Fleet({ ...o, ...settings, workload });
  await fleet.create();
  await fleet.run();
  const pass = async (count: number): Promise<void> => {
    for (let minute = 0; minute < count; minute++) {
      fleet.pass(60);
      await fleet.pulse();
    }
  };
  await pass(10); // whatever was under way is over
  const functions = new Functions(fleet);
  fleet.onCall = (call) => functions.note(call);
  const [units, coordinator, begun] = [fleet.unitMeter.counts, fleet.coordinatorMeter.counts, (await fleet.item()).begun];
  await pass(minutes);
  const { calls, gbSeconds } = functions.use;
  const spent = { units: minus(fleet.unitMeter.counts, units), coordinator: minus(fleet.coordinatorMeter.counts, coordinator) };
  const { begun: now, owners } = await fleet.item();
  const scale = monthMinutes / minutes;
  const used = [usageOf(spent.units), usageOf(spent.coordinator)];
  const sum = (of: (u: (typeof used)[number]) => number): number => used.reduce((all, u) => all + of(u), 0) * scale;
  const month: Usage = {
    writeUnits: sum((u) => u.writeUnits),
    readUnits: sum((u) => u.readUnits),
    objectPuts: sum((u) => u.objectPuts),
    objectGets: sum((u) => u.objectGets),
    queueUnits: sum((u) => u.queueUnits),
    putUnits: sum((u) => u.putUnits),
    functions: { calls: { ...calls, pulse: calls.pulse * scale, control: calls.control * scale }, gbSeconds: gbSeconds * scale },
    executions: monthMinutes,
    executionSeconds: 0.2,
  };
  return { stages: o.stages, ...spent, calls, subtasks: owners.length, pulses: minutes, checkpoints: now - begun, month: billOf(month) };
}
