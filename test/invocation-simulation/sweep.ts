// Every place where one request of a few small jobs can go wrong, with every kind of fault, each once:
//   npm run sim:sweep                                           all of them; `--workers N` threads, one for each core by default
//   npm run sim:sweep -- --sample K                             every K-th pair
//   npm run sim:sweep -- --job J --point P --fault F [--trace]  one of them
//   npm run sim:sweep -- --job J                                all pairs of one job; `--list` tells its points instead
// A failure prints one line that replays it.

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { playSeeds } from '../support/seed-range.ts';
import { type SweepFault, sweepFaults, tellPoint } from './sweep-fault.ts';
import { sweepJobs } from './sweep-jobs.ts';
import { allPairs, pointsOf, replayOf, verdictOn } from './sweep-pairs.ts';
import { sweepOnce } from './sweep-world.ts';
import { noOutcome, type Verdict } from './verdict.ts';

const { values } = parseArgs({
  options: {
    job: { type: 'string' },
    point: { type: 'string' },
    fault: { type: 'string' },
    sample: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    trace: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});

const pairMsMax = 60_000;

if (values.list) await list(Number(values.job ?? 1));
else if (values.point !== undefined) await one(Number(values.job ?? 1), Number(values.point), values.fault as SweepFault);
else await all();

async function list(job: number): Promise<void> {
  const { points } = await pointsOf(job);
  points.forEach((p, i) => {
    console.log(`${i} ${tellPoint(p)}`);
  });
}

async function one(job: number, point: number, fault: SweepFault): Promise<void> {
  if (!sweepFaults.includes(fault)) throw new Error(`--fault is one of ${sweepFaults.join(', ')}`);
  const { points } = await pointsOf(job);
  if (points[point] === undefined) throw new Error(`job ${job} has points 0 to ${points.length - 1}`);
  if (values.trace) {
    const { trace } = await sweepOnce(sweepJobs[job - 1]!, { at: point, fault }, { keepTrace: true });
    for (const line of trace) console.log(line);
  }
  const { failures, steps, traceHash } = await verdictOn({ job, point, fault });
  console.log(`job ${job}, point ${point}, ${tellPoint(points[point])}, ${fault}: ${steps} steps, trace ${traceHash}`);
  for (const f of failures) console.log(`  ${f}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

async function all(): Promise<void> {
  const begin = performance.now();
  let isRight = true;
  for (const [i, { title }] of sweepJobs.entries()) {
    const { points, failures } = await pointsOf(i + 1);
    console.log(`job ${i + 1}: ${title}: ${points.length} points`);
    for (const f of failures) console.log(`  ${f}`);
    isRight &&= failures.length === 0;
  }
  const pairs = await allPairs();
  const chosen = pairs.flatMap(({ job }, i) => (values.job === undefined || job === Number(values.job) ? [i] : []));
  const seeds = chosen.filter((_, i) => i % Number(values.sample) === 0);
  const verdicts = await playSeeds<Verdict>({
    worker: new URL('./sweep-worker.ts', import.meta.url),
    seeds,
    workers: Number(values.workers),
    isFirstFailureTheLast: false,
    seedMsMax: pairMsMax,
    hung: (number) => noOutcome(number, `I8: nothing was heard of it for ${pairMsMax / 1_000} s of real time`),
    onVerdict: ({ seed, failures }) => {
      if (failures.length > 0) console.log(`${failures[0]!.split('\n')[0]}\n  ${replayOf(pairs[seed]!)}`);
    },
  });
  const kinds = sweepFaults.map((fault) => `${fault} ${seeds.filter((i) => pairs[i]!.fault === fault).length}`);
  const steps = verdicts.reduce((n, v) => n + v.steps, 0);
  console.log(kinds.join(', '));
  console.log(`${verdicts.length} of ${pairs.length} pairs in ${((performance.now() - begin) / 1_000).toFixed(1)} s, ${steps} steps`);
  const failed = verdicts.filter((v) => v.failures.length > 0).length;
  console.log(`${verdicts.length - failed} passed, ${failed} failed`);
  if (failed > 0 || !isRight) process.exitCode = 1;
}
