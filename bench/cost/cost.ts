// cost.ts is `npm run bench:cost`: what a deployed job costs, counted at the boundary of the SDK, beside what people write by hand. Counts are the same
// on every machine; only the lines about CPU depend on it. Ends with 1 when a line is not met.
//
//   npm run bench:cost -- [--records 1000000] [--keys 1000000] [--no-page] [--no-emulator] [--only TEXT]

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmulator } from '../../tools/emulator/emulator.ts';
import { type CheckpointCost, measureArrival, measureCheckpoint, measureRestore } from '../calls/moments.ts';
import { measureSteady } from '../calls/steady.ts';
import { cpuTarget, restoreTarget } from '../calls/targets.ts';
import { zipfWorkload } from '../calls/workload.ts';
import { describeEnvironment } from '../environment.ts';
import { type TargetLine, targetTable, writeBetweenMarkers } from '../report.ts';
import { awsStores, inMemory } from './aws-stores.ts';
import { besideEmulator } from './beside-emulator.ts';
import { type Bill, billOf, noUsage } from './bill.ts';
import { measureBundle } from './bundle-size.ts';
import { type ByHand, runByHand } from './by-hand.ts';
import { measureIdle } from './idle.ts';
import { type JobOptions, type JobRun, nameOf, runJob } from './job-run.ts';
import { arrivalLine, besideLine, bundleLines, checkpointLines, idleLines, streamLine, totalLines, warmLine } from './lines.ts';
import { moneyTable, pricedByHand, pricedJob, requestTable } from './tables.ts';

const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    /** Of each of the runs of a job. With few, reading each key once is most of what is paid, and the totals say little. */
    records: { type: 'string', default: '1000000' },
    /** Of the larger state that is checkpointed and restored. */
    keys: { type: 'string', default: '1000000' },
    /** Write docs/benchmarks.md. */
    page: { type: 'boolean', default: true },
    /** Compare the stand-in with an emulator first. */
    emulator: { type: 'boolean', default: true },
    /** Of the runs of a job those whose names have this in them, beside (a), and nothing else; no page is written. */
    only: { type: 'string' },
  },
});

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} is ${text}, but it must be a number above 0`);
  return value;
}

const records = positive('records', flags.records);
const keys = positive('keys', flags.keys);
/** Of the running jobs: few enough for most invocations to meet no new one. */
const runningKeys = Math.min(10_000, Math.ceil(records / 20));
/** By hand a batch costs the same whatever came before it, so that a part says what the whole would. */
const recordsByHand = Math.min(records, 100_000);
const ringSlots = 1_024;
const batches = [100, 1_000] as const;
const stores = awsStores(inMemory);
const environment = describeEnvironment(false);
const say = (what: string): void => console.error(`${what}: done after ${process.uptime().toFixed(0)} s`);

interface HandRun extends ByHand {
  readonly bill: Bill;
}

async function byHand(): Promise<readonly HandRun[]> {
  const runs: HandRun[] = [];
  for (const batch of batches) {
    for (const way of flags.only === undefined ? (['a', 'b', 'c'] as const) : (['a'] as const)) {
      const workload = zipfWorkload({ records: recordsByHand, keys: runningKeys, shards: 4, valueBytes: 100 });
      const run = await runByHand(way, batch, workload);
      runs.push({ ...run, bill: billOf({ ...noUsage, writeUnits: run.writeUnits, functions: run.use }) });
      say(`by hand, ${way}, batch ${batch}`);
    }
  }
  return runs;
}

const jobs: readonly Pick<JobOptions, 'stages' | 'placement' | 'writesRows' | 'messagesPerEvent' | 'exchange'>[] = [
  { stages: 1, placement: 'affinity' },
  { stages: 1, placement: 'random' },
  { stages: 1, placement: 'affinity', writesRows: true },
  { stages: 2, placement: 'affinity' },
  { stages: 2, placement: 'affinity', exchange: 'kinesis' },
];
/** As bad as a queue may be: every message comes alone. No line is about it. */
const worst = { stages: 2, placement: 'affinity', messagesPerEvent: 1 } as const;

async function ownRuns(): Promise<readonly JobRun[]> {
  const runs: JobRun[] = [];
  for (const batch of batches) {
    for (const job of [...jobs, worst]) {
      const options = { ...job, batch, records: job === worst ? records / 4 : records, keys: runningKeys };
      if (!nameOf(options).includes(flags.only ?? '')) continue;
      runs.push(await runJob(options));
      say(`batch ${batch}, ${runs.at(-1)?.name}`);
    }
  }
  return runs;
}

function runLines(hand: readonly HandRun[], runs: readonly JobRun[]): readonly TargetLine[] {
  return runs
    .filter(({ options }) => options.messagesPerEvent === undefined)
    .flatMap((run) => {
      const a = hand.find(({ way, batch }) => way === 'a' && batch === run.options.batch) as HandRun;
      const measure = { usdPerRecord: a.bill.usd / a.records, unitsPerRecord: a.writeUnits / a.records };
      const { stages, placement, writesRows, batch, exchange } = run.options;
      if (exchange === 'kinesis') return [streamLine(run, measure)];
      const isPlain = stages === 1 && writesRows !== true;
      const invocation = !isPlain
        ? []
        : placement === 'affinity'
          ? [warmLine(run)]
          : [arrivalLine(`batch ${batch.toLocaleString('en')}, ${run.name}`, run.arrivals)];
      return [...invocation, ...totalLines(run, measure)];
    });
}

async function momentLines(): Promise<readonly TargetLine[]> {
  const lines: TargetLine[] = [];
  for (const batch of batches) {
    const arrivals = await measureArrival(batch, { records: Math.min(records, 4 * 512 * batch), ringSlots, stores });
    lines.push(arrivalLine(`batch ${batch.toLocaleString('en')}, half a ring`, arrivals));
  }
  say('arrivals');
  const sizes = [1_000, keys].map((count) => ({ keys: count, ringSlots, stores }));
  const costs: CheckpointCost[] = [];
  for (const stages of [1, 2] as const) {
    for (const where of ['same environment', 'new environment'] as const) {
      for (const size of sizes) costs.push(await measureCheckpoint({ ...size, stages, where }));
    }
  }
  say('checkpoints');
  lines.push(...checkpointLines(costs));
  for (const stages of [1, 2] as const) for (const size of sizes) lines.push(restoreTarget(await measureRestore({ ...size, stages })));
  say('restores');
  for (const stages of [1, 2] as const) lines.push(...idleLines(await measureIdle({ stages, stores })));
  return lines;
}

/** Over the fakes, which answer at once: what is left is the engine. */
async function speedLines(): Promise<readonly TargetLine[]> {
  const steady = await measureSteady({
    stages: 1,
    batch: 100,
    placement: 'affinity',
    records: Math.min(records, 200_000),
    keys: Math.min(runningKeys, 1_000),
  });
  return [cpuTarget(steady), ...bundleLines(measureBundle(15))];
}

async function emulatorLines(): Promise<readonly TargetLine[]> {
  if (!flags.emulator || flags.only !== undefined) return [];
  const emulator = await startEmulator();
  Object.assign(process.env, emulator.variables);
  try {
    return [besideLine(await besideEmulator(emulator.endpoint))];
  } finally {
    await emulator.stop();
    // From here on nobody may reach it by accident.
    for (const name of Object.keys(emulator.variables)) delete process.env[name];
    say('beside an emulator');
  }
}

const emulated = await emulatorLines();
const speed = flags.only === undefined ? await speedLines() : [];
const moments = flags.only === undefined ? await momentLines() : [];
const hand = await byHand();
const runs = await ownRuns();
const lines = [...runLines(hand, runs), ...moments, ...speed, ...emulated];
const command = ['npm run bench:cost', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
const text = [
  `Machine: ${environment.cpu}, ${environment.memory}; load average before the run ${environment.load1.toFixed(2)}.  `,
  `Versions: ${environment.versions}; commit ${environment.commit}.  `,
  `Command: \`${command}\`.`,
  '',
  targetTable(lines),
  '',
  moneyTable([...hand.map((run) => pricedByHand(run, run.bill)), ...runs.map(pricedJob)]),
  '',
  requestTable(runs),
].join('\n');
console.log(text);
if (flags.page && flags.only === undefined) writeBetweenMarkers(join(import.meta.dirname, '../../docs/benchmarks.md'), text, 'cost');
const missed = lines.filter(({ isMet }) => !isMet);
for (const { what, target, measured } of missed) console.error(`not met: ${what}: ${target}, but ${measured}`);
process.exitCode = missed.length > 0 ? 1 : 0;
