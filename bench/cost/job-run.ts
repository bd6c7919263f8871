// job-run.ts runs the job on the adapters of AWS and says what it used.

import type { Call } from '../calls/fleet.ts';
import { type Kind, kinds, plus } from '../calls/meter.ts';
import type { Arrival } from '../calls/moments.ts';
import { measureSteady, type Steady, type SteadyOptions } from '../calls/steady.ts';
import type { CallRecord } from '../calls/workload.ts';
import { awsStores, inMemory, inStreams, shards } from './aws-stores.ts';
import { type Bill, billOf, prices, type Usage, usageOf } from './bill.ts';
import { Functions } from './functions.ts';

export type JobOptions = Pick<
  SteadyOptions,
  'stages' | 'batch' | 'placement' | 'records' | 'keys' | 'ringSlots' | 'writesRows' | 'messagesPerEvent' | 'stores'
> & {
  /** Between two stages; queues when absent. */
  readonly exchange?: 'kinesis';
};

export interface JobRun {
  readonly name: string;
  readonly options: JobOptions;
  readonly steady: Steady;
  readonly usage: Usage;
  readonly bill: Bill;
  /** Of each invocation that found an environment which knew nothing of its subtask. */
  readonly arrivals: readonly Arrival[];
  /** What the sink's own writes cost, which is in no other number here. */
  readonly rows: { readonly requests: number; readonly writeUnits: number; readonly usd: number };
  /** What the shards of an exchange cost while the job ran, which is in no other number either: they cost the same when nothing comes. */
  readonly shards: { readonly hours: number; readonly usd: number };
}

const ownKinds: readonly Kind[] = kinds.filter((kind) => kind !== 'row write');

export async function runJob(o: JobOptions): Promise<JobRun> {
  let functions: Functions | undefined;
  const arrivals: Arrival[] = [];
  const steady = await measureSteady({
    stores: awsStores(o.exchange === 'kinesis' ? inStreams : inMemory),
    gathers: o.exchange === 'kinesis',
    ...o,
    watch: (fleet) => {
      const watching = new Functions(fleet);
      functions = watching;
      return (call) => {
        watching.note(call);
        if (call.isFirst && call.invocation.kind === 'records') arrivals.push(arrivalOf(call));
      };
    },
  });
  if (functions === undefined) throw new Error('nobody watched the job');
  const counts = plus(plus(steady.units, steady.coordinator), steady.polls);
  const used = usageOf(counts, ownKinds);
  const usage: Usage = {
    ...used,
    writeUnits: used.writeUnits + steady.left.writeUnits,
    readUnits: used.readUnits + steady.left.readUnits,
    functions: functions.use,
    executions: Math.ceil(steady.seconds / 60),
    executionSeconds: 2,
  };
  const { requests, writeUnits } = counts['row write'];
  const rowsUse = { ...noFunctions, gbSeconds: usage.functions.rowsGbSeconds ?? 0 };
  const rowsBill = billOf({ ...usageOf(counts, ['row write']), functions: rowsUse, executions: 0, executionSeconds: 0 });
  const rows = { requests, writeUnits, usd: rowsBill.usd };
  return { name: nameOf(o), options: o, steady, usage, arrivals, bill: billOf(usage), rows, shards: shardsOf(o, steady) };
}

/** Of a stream as the construct makes it, which is kept for a week. */
function shardsOf({ exchange }: JobOptions, { seconds }: Steady): JobRun['shards'] {
  const hours = exchange === 'kinesis' ? (shards * seconds) / 3_600 : 0;
  return { hours, usd: hours * (prices.usdPerShardHour + prices.usdPerShardHourKept) };
}

function arrivalOf({ invocation, counts }: Call): Arrival {
  const records = invocation.kind === 'records' ? invocation.records : [];
  return { batch: records.length, counts, touchedKeys: new Set(records.map(({ value }) => (value as CallRecord).key)).size };
}

const noFunctions = { calls: { records: 0, messages: 0, control: 0, pulse: 0 }, gbSeconds: 0 };

export function nameOf({ stages, placement, writesRows, messagesPerEvent, exchange }: JobOptions): string {
  const parts = [
    stages === 1 ? 'no exchange' : `exchange of four targets${exchange === 'kinesis' ? ' in a stream' : ''}`,
    ...(writesRows === true ? ['dynamoDbSink'] : []),
    ...(messagesPerEvent === 1 ? ['one message an event'] : []),
    placement,
  ];
  return parts.join(', ');
}
