// calls.ts is `npm run bench:calls`: what the invocation runtime asks of its stores, counted at the ports over the strict fake, held against the
// targets. Counts are exact and the same on every machine; only the lines about CPU depend on it. Ends with 1 when a target is not met.
//
//   npm run bench:calls -- [--records 1000000] [--keys 1000000] [--no-page] [--quick]

import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { describeEnvironment } from '../environment.ts';
import { type TargetLine, targetTable, writeBetweenMarkers } from '../report.ts';
import { type CheckpointCost, measureArrival, measureCheckpoint, measureRestore } from './moments.ts';
import { measureSteady, type Steady } from './steady.ts';
import { countTables } from './tables.ts';
import { arrivalTarget, checkpointTargets, cpuTarget, restoreTarget, unitsTarget, warmTargets } from './targets.ts';

const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    /** Of each of the runs of a job. */
    records: { type: 'string' },
    /** Of the larger state that is checkpointed and restored. */
    keys: { type: 'string' },
    /** Fewer records of fewer keys: the same targets in half a minute, and nothing written. */
    quick: { type: 'boolean', default: false },
    /** Write docs/benchmarks.md. */
    page: { type: 'boolean', default: true },
  },
});

/** Records of four shards that fill half a ring, in events of one. */
const halfRing = 4 * 512;

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} is ${text}, but it must be a number above 0`);
  return value;
}

const records = positive('records', flags.records ?? (flags.quick ? '24000' : '1000000'));
const keys = positive('keys', flags.keys ?? (flags.quick ? '20000' : '1000000'));
/** Of the running jobs: few enough for units without a new key. */
const runningKeys = flags.quick ? 200 : 10_000;
const environment = describeEnvironment(false);
const say = (text: string): void => console.error(text);

/** Runs whose CPU time has a target come first: what others have stored would have to be collected in the middle of them. */
async function steadyRuns(): Promise<readonly Steady[]> {
  const runs: Steady[] = [];
  for (const placement of ['affinity', 'random'] as const) {
    for (const stages of [1, 2] as const) {
      for (const batch of [1_000, 100]) {
        // Most of the time would go into this one, which has no target.
        const share = stages === 2 && placement === 'random' ? 4 : 1;
        runs.push(await measureSteady({ stages, batch, placement, records: records / share, keys: runningKeys }));
        say(`${runs.at(-1)?.name}: done after ${process.uptime().toFixed(0)} s`);
      }
    }
  }
  return runs.toSorted((a, b) => a.stages - b.stages || a.batch - b.batch || a.placement.localeCompare(b.placement));
}

function steadyTargets(runs: readonly Steady[]): readonly TargetLine[] {
  const oneStage = runs.filter(({ stages }) => stages === 1);
  const warm = oneStage.filter(({ placement }) => placement === 'affinity');
  return [...warm.flatMap(warmTargets), ...oneStage.map(unitsTarget), ...warm.map(cpuTarget)];
}

async function momentTargets(): Promise<readonly TargetLine[]> {
  const lines: TargetLine[] = [];
  for (const batch of [100, 1_000])
    lines.push(arrivalTarget(batch, await measureArrival(batch, { records: Math.min(records, halfRing * batch), ringSlots: 1_024 })));
  say('arrivals: done');
  const sizes = [1_000, keys].map((count) => ({ keys: count, ringSlots: 1_024 }));
  const checkpoints: CheckpointCost[] = [];
  for (const stages of [1, 2] as const) {
    for (const where of ['same environment', 'new environment'] as const) {
      for (const size of sizes) checkpoints.push(await measureCheckpoint({ ...size, stages, where }));
    }
  }
  say(`checkpoints: done after ${process.uptime().toFixed(0)} s`);
  lines.push(...checkpointTargets(checkpoints));
  for (const stages of [1, 2] as const) for (const size of sizes) lines.push(restoreTarget(await measureRestore({ ...size, stages })));
  say(`restores: done after ${process.uptime().toFixed(0)} s`);
  return lines;
}

const runs = await steadyRuns();
const lines = [...steadyTargets(runs), ...(await momentTargets())];
const command = ['npm run bench:calls', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
const text = [
  `Machine: ${environment.cpu}, ${environment.memory}; load average before the run ${environment.load1.toFixed(2)}.  `,
  `Versions: ${environment.versions}; commit ${environment.commit}.  `,
  `Command: \`${command}\`. Records of each run: ${records.toLocaleString('en')}, a quarter of that where two stages are placed at random.`,
  '',
  targetTable(lines),
  '',
  countTables(runs),
].join('\n');
console.log(text);
if (flags.page && !flags.quick) writeBetweenMarkers(join(import.meta.dirname, '../../docs/benchmarks.md'), text, 'calls');
const missed = lines.filter(({ isMet }) => !isMet);
for (const { what, target, measured } of missed) console.error(`not met: ${what}: ${target}, but ${measured}`);
process.exitCode = missed.length > 0 ? 1 : 0;
