// The simulation from the command line:
//   npm run sim                            seeds.json and 3,000 seeds from 1
//   npm run sim -- --seed N [--trace]      one seed; its trace on request
//   npm run sim -- --from A --seeds K      a range
//   … --workers N                          processes, one for each core by default
// A failure prints one line that replays it. Over a range of at least 500 seeds each kind of fault must have struck, else the range fails.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type FaultKind, faultKinds } from '../../lib/testing/index.ts';
import { playSeeds } from '../support/seed-range.ts';
import { simulate } from './scenario.ts';
import { noOutcome, type Verdict } from './verdict.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '3000' },
    workers: { type: 'string', default: String(availableParallelism()) },
    trace: { type: 'boolean', default: false },
    'first-failure': { type: 'boolean', default: false },
  },
});

const seedMsMax = 120_000; // of real time; the longest takes a few seconds

export function knownSeeds(): readonly number[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
}

if (values.seed !== undefined) await one(Number(values.seed));
else await range(Number(values.from), Number(values.seeds));

async function one(seed: number): Promise<void> {
  const outcome = await simulate(seed, { keepTrace: values.trace });
  if (values.trace) for (const line of outcome.trace) console.log(line);
  if (values.trace) for (const line of outcome.told) console.log(line);
  const { runs, steps, completed, ending, planned, struck, traceHash } = outcome;
  console.log(
    `seed ${seed}: ${ending}, ${runs} processes, ${steps} steps, ${completed} checkpoints, faults ${struck.join(' ') || 'none'} of ${planned.join(' ') || 'none'}, trace ${traceHash}`,
  );
  for (const f of outcome.failures) console.log(`  ${f}`);
  process.exitCode = outcome.failures.length > 0 ? 1 : 0;
}

function hung(seed: number): Verdict {
  return noOutcome(seed, `I8: nothing was heard of it for ${seedMsMax / 1_000} s of real time`);
}

async function range(from: number, count: number): Promise<void> {
  const begin = performance.now();
  const seeds = [...new Set([...(values['first-failure'] ? [] : knownSeeds()), ...Array.from({ length: count }, (_, i) => from + i)])];
  const isTty = process.stdout.isTTY === true;
  const verdicts = await playSeeds<Verdict>({
    worker: new URL('./sim-worker.ts', import.meta.url),
    seeds,
    workers: Number(values.workers),
    isFirstFailureTheLast: values['first-failure'],
    seedMsMax,
    hung,
    onVerdict: (verdict, played) => {
      if (verdict.failures.length > 0)
        console.log(`seed ${verdict.seed} fails: ${verdict.failures[0]}\n  npm run sim -- --seed ${verdict.seed}`);
      else if (isTty && played % 100 === 0) console.log(`${played} of ${seeds.length} seeds`);
    },
  });
  report(verdicts, (performance.now() - begin) / 1_000);
}

function report(verdicts: readonly Verdict[], seconds: number): void {
  const failed = verdicts.filter((v) => v.failures.length > 0);
  const sum = (f: (v: Verdict) => number): number => verdicts.reduce((n, v) => n + f(v), 0);
  const tally = (kind: FaultKind, list: (v: Verdict) => readonly FaultKind[]): number =>
    sum((v) => list(v).filter((k) => k === kind).length);
  const faults = faultKinds.map((k) => `${k} ${tally(k, (v) => v.struck)}/${tally(k, (v) => v.planned)}`);
  const never: string[] = faultKinds.filter((k) => tally(k, (v) => v.struck) === 0);
  const missed = verdicts.filter((v) => v.struck.length < v.planned.length).length;
  console.log(
    `${verdicts.length} seeds in ${seconds.toFixed(1)} s: ${sum((v) => v.runs)} processes, ${sum((v) => v.completed)} checkpoints, ${sum((v) => v.steps)} steps`,
  );
  console.log(`faults struck/planned: ${faults.join(', ')}; ${missed} seeds ended before all of theirs had struck`);
  const modes = ['EXACTLY_ONCE', 'AT_LEAST_ONCE', 'AT_MOST_ONCE'].map((m) => `${m} ${verdicts.filter((v) => v.mode === m).length}`);
  const others = { 'take-over': sum((v) => v.takeOvers), rewind: sum((v) => v.rewinds), rival: sum((v) => v.rivals) };
  console.log(
    `${modes.join(', ')}; ${Object.entries(others)
      .map(([what, n]) => `${what} ${n}`)
      .join(', ')}`,
  );
  never.push(...Object.entries(others).flatMap(([what, n]) => (n === 0 ? [what] : [])));
  if (verdicts.length >= 500 && never.length > 0) {
    console.log(`no ${never.join(', ')} ever struck: these seeds prove less than they should`);
    process.exitCode = 1;
  }
  console.log(
    `${verdicts.length - failed.length} passed, ${failed.length} failed${failed.length === 0 ? '' : `: ${failed.map((v) => v.seed).join(' ')}`}`,
  );
  if (failed.length > 0) process.exitCode = 1;
}
