// lines.ts holds what was counted against what is promised of cost. Pure.

import { type Kind, requestsOf } from '../calls/meter.ts';
import type { Arrival, CheckpointCost } from '../calls/moments.ts';
import { checkpointTargets } from '../calls/targets.ts';
import type { TargetLine } from '../report.ts';
import type { Beside } from './beside-emulator.ts';
import type { BundleSize } from './bundle-size.ts';
import type { ByHand } from './by-hand.ts';
import type { Idle } from './idle.ts';
import type { JobRun } from './job-run.ts';

const pageBytes = 1_048_576;
const number = (value: number): string => value.toLocaleString('en');

/** Of the total of the hand-written way, and of its write units a record: at batches of 100 and of 1,000. */
export const limits = {
  direct: { 100: { total: 0.15, units: 1 / 10 }, 1000: { total: 0.06, units: 1 / 30 } },
  exchange: { 100: { total: 0.35 }, 1000: { total: 0.1 } },
} as const;

export function totalLines(run: JobRun, a: { readonly usdPerRecord: number; readonly unitsPerRecord: number }): readonly TargetLine[] {
  const { stages, batch } = run.options;
  const { records } = run.steady;
  const size = batch <= 100 ? 100 : 1_000;
  const most = stages === 1 ? limits.direct[size].total : limits.exchange[size].total;
  const ratio = run.bill.usd / records / a.usdPerRecord;
  const what = `batch ${number(batch)}, ${run.name}`;
  const apart =
    run.rows.requests === 0 ? '' : `; the ${number(run.rows.requests)} writes of the sink apart: ${millionth(run.rows.usd, records)}`;
  const measured = `${ratio.toFixed(3)} × (${millionth(run.bill.usd, records)})${apart}`;
  const total = { what: `${what}: total`, target: `≤ ${most} × (a)`, measured, isMet: ratio <= most };
  if (stages === 2) return [total];
  const units = run.usage.writeUnits / records / a.unitsPerRecord;
  const { units: mostUnits } = limits.direct[size];
  return [
    total,
    {
      what: `${what}: DynamoDB write units a record`,
      target: `≤ 1/${Math.round(1 / mostUnits)} of (a)`,
      measured: `${(run.usage.writeUnits / records).toFixed(4)}, 1/${(1 / units).toFixed(1)} of (a)`,
      isMet: units <= mostUnits,
    },
  ];
}

/** Nothing is promised of streams. */
export function streamLine(run: JobRun, a: { readonly usdPerRecord: number }): TargetLine {
  const { records } = run.steady;
  const total = `${(run.bill.usd / records / a.usdPerRecord).toFixed(3)} × (${millionth(run.bill.usd, records)})`;
  const { hours, usd } = run.shards;
  const apart = `the ${hours.toFixed(2)} hours of its shards apart: ${millionth(usd, records)} at this pace`;
  return {
    what: `batch ${number(run.options.batch)}, ${run.name}: total`,
    target: 'no target',
    measured: `${total}; ${apart}`,
    isMet: true,
  };
}

export const usdPerMillion = (usd: number, records: number): string => (usd * (1e6 / records)).toFixed(3);
const millionth = (usd: number, records: number): string => `${usdPerMillion(usd, records)} USD a million records`;

/** One write, no read. */
export function warmLine({ name, options, steady }: JobRun): TargetLine {
  const { units, others } = steady.warm;
  const { units: withNew, excessReads } = steady.warmWithNewKeys;
  const seen = `${number(units)} invocations; ${number(withNew)} more met keys that were new to them and asked for those, ${excessReads} reads too many`;
  return {
    what: `batch ${number(options.batch)}, ${name}: an invocation whose environment and keys are warm`,
    target: '1 DynamoDB write, no read',
    measured: others.length === 0 ? seen : `${others.length} of ${units} differ: ${others[0]}`,
    isMet: units > 0 && others.length === 0 && excessReads === 0,
  };
}

export function arrivalLine(what: string, arrivals: readonly Arrival[]): TargetLine {
  const excess = arrivals.flatMap(excessOfArrival);
  const most = (of: (a: Arrival) => number): number => Math.max(0, ...arrivals.map(of));
  const of = (kind: Kind): number => most(({ counts }) => counts[kind].requests);
  const bodies = of('object get');
  const seen = `${arrivals.length} of them; at most ${of('item get')} gets, ${of('ring page')} pages, ${of('table read')} batch reads for ${most((a) => a.touchedKeys)} keys`;
  return {
    what: `${what}: an invocation in an environment that is new to the subtask`,
    target: '2 GetItem, ⌈MB of the ring⌉ pages, ⌈keys / 100⌉ batch reads',
    measured: excess[0] ?? `${seen}${bodies === 0 ? '' : `; and up to ${bodies} bodies of entries above 8 KB, from S3`}`,
    isMet: arrivals.length > 0 && excess.length === 0,
  };
}

/** Bodies of entries that are too large for the ring are as much of it as its pages, and are told, not limited. */
function excessOfArrival({ counts, touchedKeys }: Arrival): readonly string[] {
  const { 'item get': gets, 'slot read': slots, 'ring page': pages, 'table read': reads } = counts;
  const checks: readonly (readonly [string, number, number])[] = [
    ['gets', gets.requests + slots.requests, 2],
    ['pages', pages.requests, Math.max(1, Math.ceil(pages.bytes / pageBytes))],
    ['batch reads', reads.requests, Math.ceil(touchedKeys / 100)],
    ['lists of items', counts['item list'].requests + counts['partition read'].requests, 0],
  ];
  return checks.filter(([, asked, most]) => asked > most).map(([what, asked, most]) => `${asked} ${what}, not ${most}`);
}

/** A subtask may be called once for each sender's barrier, and has two gets for all of them; and the two of an environment that knows nothing. */
export function checkpointLines(costs: readonly CheckpointCost[]): readonly TargetLine[] {
  const getsOf = ({ where }: CheckpointCost): number => (where === 'new environment' ? 2 : 1);
  const held = costs.map((cost) => ({ ...cost, subtasks: cost.subtasks.map((one) => ({ ...one, calls: getsOf(cost) })) }));
  return checkpointTargets(held).map((line) => ({
    ...line,
    target: line.target.replace(
      '2 gets a call',
      line.what.includes('new environment') ? '2 gets, 2 more as the environment is new' : '2 gets',
    ),
  }));
}

export function idleLines(idle: Idle): readonly TargetLine[] {
  const { subtasks, pulses, checkpoints, coordinator, units, calls, month, stages } = idle;
  const written = [...Object.values(units), ...Object.values(coordinator)].reduce((sum, tally) => sum + tally.writeUnits, 0);
  const objects = requestsOf(coordinator, ['object put', 'object get', 'object list', 'object remove']);
  const what = `idle, ${subtasks} subtasks, ${pulses} minutes`;
  const perPulse = (requestsOf(coordinator) / pulses).toFixed(1);
  const queues = stages - 1;
  return [
    { what: `${what}: checkpoints`, target: 'none', measured: `${checkpoints}`, isMet: checkpoints === 0 },
    {
      what: `${what}: what is asked for besides the schedule and the polls of mappings`,
      target: 'nothing written, no object, no subtask called but once an hour',
      measured: `${written} write units, ${objects} requests of objects, ${calls.control} calls; a pulse makes ${perPulse} small reads`,
      isMet: written === 0 && objects === 0 && calls.control <= (subtasks * pulses) / 60,
    },
    {
      what: `${what}: a month of it`,
      target: 'told',
      measured: `${month.usd.toFixed(2)} USD, and ${(queues * queuePollsUsd).toFixed(2)} for what the mappings of ${queues} FIFO queues ask`,
      isMet: true,
    },
  ];
}

/** Of 0.65 million requests, as AWS's mappings make them of an empty queue in a month. */
const queuePollsUsd = 0.325;

export function bundleLines({ bytes, cpuMs, medianCpuMs, wallMs, loads }: BundleSize): readonly TargetLine[] {
  const size = `${(bytes / 1_024).toFixed(0)} KiB`;
  return [
    { what: 'bundle of a stage with every connector', target: '< 700 KiB', measured: size, isMet: bytes < 700 * 1_024 },
    {
      what: `loading it in a fresh process, CPU time, fastest of ${loads}`,
      target: '< 120 ms',
      measured: `${cpuMs.toFixed(0)} ms (median ${medianCpuMs.toFixed(0)} ms; fastest on the wall ${wallMs.toFixed(0)} ms)`,
      isMet: cpuMs < 120,
    },
  ];
}

export function byHandOf(runs: readonly ByHand[], way: ByHand['way'], batch: number): ByHand {
  const found = runs.find((run) => run.way === way && run.batch === batch);
  if (found === undefined) throw new Error(`way ${way} was not run at batch ${batch}`);
  return found;
}

export function besideLine({ requests, differences, unequal }: Beside): TargetLine {
  const [first] = [...differences, ...unequal];
  return {
    what: 'the stand-in beside an emulator of AWS that is asked the same commands by HTTP',
    target: 'each answer and each count equal',
    measured: first ?? `${number(requests)} requests, all answers and counts equal`,
    isMet: first === undefined,
  };
}
