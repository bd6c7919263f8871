// The command line of a simulation over the fakes of the invocation runtime, `npm run sim:invocations` or `sim:lanes`:
//   …                               seeds.json and as many seeds from 1 as its file says
//   … -- --seed N [--trace]         one seed; its trace on request
//   … -- --from A --seeds K         a range; `--first-failure` ends it with the first seed that fails
//   … -- --workers N                threads, one for each core by default
// A failure prints one line that replays it. Over a range that is long enough everything in its `counts.ts` must have happened, else the range fails.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { playSeeds } from '../support/seed-range.ts';
import { noOutcome, type Verdict } from './verdict.ts';

export interface Simulated {
  /** Name of the npm script. */
  readonly script: string;
  readonly seedsByDefault: number;
  /** Fewer seeds than this may leave something out. */
  readonly seedsThatShowAll: number;
  /** Directory with `seeds.json` and `sim-worker.ts`. */
  readonly directory: URL;
  readonly simulate: (
    seed: number,
    options: { readonly keepTrace: boolean },
  ) => Promise<Verdict & { readonly trace: readonly string[]; readonly told?: readonly string[] }>;
  readonly happenings: readonly string[];
  readonly newCounts: () => HappeningCounts;
}

export interface HappeningCounts {
  add(other: Readonly<Record<string, number>>): void;
  toJSON(): Readonly<Record<string, number>>;
  /** What a long range has to bring and did not. */
  readonly never: readonly string[];
}

const seedMsMax = 120_000;

/** Does what the arguments of the process ask for. */
export async function playFromCommandLine(simulated: Simulated): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      from: { type: 'string', default: '1' },
      seeds: { type: 'string', default: String(simulated.seedsByDefault) },
      workers: { type: 'string', default: String(availableParallelism()) },
      trace: { type: 'boolean', default: false },
      'first-failure': { type: 'boolean', default: false },
    },
  });
  if (values.seed !== undefined) return one(simulated, Number(values.seed), values.trace);
  const isFirstFailureTheLast = values['first-failure'];
  const begin = performance.now();
  const known = JSON.parse(readFileSync(new URL('seeds.json', simulated.directory), 'utf8')) as number[];
  const range = Array.from({ length: Number(values.seeds) }, (_, i) => Number(values.from) + i);
  const verdicts = await playSeeds<Verdict>({
    worker: new URL('sim-worker.ts', simulated.directory),
    seeds: [...new Set([...(isFirstFailureTheLast ? [] : known), ...range])],
    workers: Number(values.workers),
    isFirstFailureTheLast,
    seedMsMax,
    hung: (seed) => noOutcome(seed, `I8: nothing was heard of it for ${seedMsMax / 1_000} s of real time`),
    onVerdict: ({ seed, failures }) => {
      if (failures.length > 0)
        console.log(`seed ${seed} fails: ${failures[0]!.split('\n')[0]}\n  npm run ${simulated.script} -- --seed ${seed}`);
    },
  });
  report(simulated, verdicts, (performance.now() - begin) / 1_000);
}

async function one({ simulate }: Simulated, seed: number, keepTrace: boolean): Promise<void> {
  const outcome = await simulate(seed, { keepTrace });
  if (keepTrace) for (const line of [...(outcome.told ?? []), ...outcome.trace]) console.log(line);
  const happened = Object.entries(outcome.counts).map(([what, n]) => `${what} ${n}`);
  console.log(`seed ${seed}: ${outcome.ending}, ${outcome.steps} steps, trace ${outcome.traceHash}; ${happened.join(', ')}`);
  for (const f of outcome.failures) console.log(`  ${f}`);
  process.exitCode = outcome.failures.length > 0 ? 1 : 0;
}

function report({ happenings, newCounts, seedsThatShowAll }: Simulated, verdicts: readonly Verdict[], seconds: number): void {
  const counts = newCounts();
  for (const v of verdicts) counts.add(v.counts);
  const times = counts.toJSON();
  const failed = verdicts.filter((v) => v.failures.length > 0);
  const steps = verdicts.reduce((n, v) => n + v.steps, 0);
  console.log(`${verdicts.length} seeds in ${seconds.toFixed(1)} s, ${steps} steps`);
  console.log(happenings.map((what) => `${what} ${times[what] ?? 0}`).join(', '));
  if (verdicts.length >= seedsThatShowAll && counts.never.length > 0) {
    console.log(`never: ${counts.never.join(', ')}: these seeds prove less than they should`);
    process.exitCode = 1;
  }
  const which = failed.length === 0 ? '' : `: ${failed.map((v) => v.seed).join(' ')}`;
  console.log(`${verdicts.length - failed.length} passed, ${failed.length} failed${which}`);
  if (failed.length > 0) process.exitCode = 1;
}
