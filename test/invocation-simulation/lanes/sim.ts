// The simulation of lanes of a queue from the command line:
//   npm run sim:lanes                            seeds.json and 2,000 seeds from 1
//   npm run sim:lanes -- --seed N [--trace]      one seed; its trace on request
//   npm run sim:lanes -- --from A --seeds K      a range; `--first-failure` ends it with the first seed that fails
//   … --workers N                                      threads, one for each core by default
// A failure prints one line that replays it. Over a range of at least 500 seeds everything in `counts.ts` must have happened, else the range fails.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { playSeeds } from '../../support/seed-range.ts';
import { noOutcome, type Verdict } from '../verdict.ts';
import { LaneCounts, laneHappenings } from './counts.ts';
import { simulate } from './scenario.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '2000' },
    workers: { type: 'string', default: String(availableParallelism()) },
    trace: { type: 'boolean', default: false },
    'first-failure': { type: 'boolean', default: false },
  },
});

const seedMsMax = 120_000;
/** Fewer seeds than this may leave something out. */
const seedsThatShowAll = 500;

if (values.seed !== undefined) await one(Number(values.seed));
else await range(Number(values.from), Number(values.seeds));

async function one(seed: number): Promise<void> {
  const outcome = await simulate(seed, { keepTrace: values.trace });
  if (values.trace) for (const line of outcome.trace) console.log(line);
  const happened = Object.entries(outcome.counts).map(([what, n]) => `${what} ${n}`);
  console.log(`seed ${seed}: ${outcome.ending}, ${outcome.steps} steps, trace ${outcome.traceHash}; ${happened.join(', ')}`);
  for (const f of outcome.failures) console.log(`  ${f}`);
  process.exitCode = outcome.failures.length > 0 ? 1 : 0;
}

async function range(from: number, count: number): Promise<void> {
  const begin = performance.now();
  const known = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
  const seeds = [...new Set([...(values['first-failure'] ? [] : known), ...Array.from({ length: count }, (_, i) => from + i)])];
  const verdicts = await playSeeds<Verdict>({
    worker: new URL('./sim-worker.ts', import.meta.url),
    seeds,
    workers: Number(values.workers),
    isFirstFailureTheLast: values['first-failure'],
    seedMsMax,
    hung: (seed) => noOutcome(seed, `I8: nothing was heard of it for ${seedMsMax / 1_000} s of real time`),
    onVerdict: ({ seed, failures }) => {
      if (failures.length > 0) console.log(`seed ${seed} fails: ${failures[0]!.split('\n')[0]}\n  npm run sim:lanes -- --seed ${seed}`);
    },
  });
  report(verdicts, (performance.now() - begin) / 1_000);
}

function report(verdicts: readonly Verdict[], seconds: number): void {
  const counts = new LaneCounts();
  for (const v of verdicts) counts.add(v.counts);
  const failed = verdicts.filter((v) => v.failures.length > 0);
  const steps = verdicts.reduce((n, v) => n + v.steps, 0);
  console.log(`${verdicts.length} seeds in ${seconds.toFixed(1)} s, ${steps} steps`);
  console.log(laneHappenings.map((what) => `${what} ${counts.get(what)}`).join(', '));
  if (verdicts.length >= seedsThatShowAll && counts.never.length > 0) {
    console.log(`never: ${counts.never.join(', ')}: these seeds prove less than they should`);
    process.exitCode = 1;
  }
  const which = failed.length === 0 ? '' : `: ${failed.map((v) => v.seed).join(' ')}`;
  console.log(`${verdicts.length - failed.length} passed, ${failed.length} failed${which}`);
  if (failed.length > 0) process.exitCode = 1;
}
