// Are the simulations hard enough? Each mutation takes one rule out of a copy of the product; the simulation of the copy must fail within a range of
// seeds. Where none of its seeds can notice, mutation-reasons.ts beside the list says why and names what does: a rule of another simulation, or a
// test, which has to fail on the copy. A mutation with neither survives, and so does one whose text is not found exactly once: the product has
// changed, and the mutation has to follow.
//   npm run sim:mutations                     all of them, of both runtimes; each begins with the seed that caught it last
//   npm run sim:mutations -- --only NAME      one; `--of embedded`, `invocations` or `lanes`; `--workers N` at once
//   npm run sim:mutations -- --table          what is known of the breaks of the models, as in docs/mutations.md
//   npm run sim:mutations -- --scan           from seed 1 on, and writes down what catches; `--seeds K` at most
// The seeds that caught lie in mutation-seeds.json beside each list. They are hints: a seed that has come to mean another world is looked for anew.

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { breakTable } from './break-table.ts';
import { MutableCopy } from './mutable-copy.ts';
import { type Mutation, patched, type Reason } from './mutation.ts';
import { root, type Seeds, type Simulation, seedsFile, simulations } from './mutation-lists.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    of: { type: 'string' },
    seeds: { type: 'string' },
    scan: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

if (values.table) {
  for (const line of breakTable()) console.log(line);
  process.exit();
}

/** The product as it is now: everything below is made from this copy, whatever is edited meanwhile. */
const pristine = new MutableCopy(root);

interface Verdict {
  readonly by: string | undefined;
  readonly what: string;
  /** Of the own simulation. */
  readonly seed?: number;
}

/** A mutation that does not even run proves nothing. */
const brokenCode = /ReferenceError|SyntaxError|is not a function/;

/** How one seed of a copy fails; `undefined`: it does not. */
async function failureOf(copy: MutableCopy, script: string, seed: number): Promise<string | undefined> {
  return /^ {2}(.*)$/m.exec(await copy.run(script, ['--seed', String(seed)]))?.[1];
}

async function verdictOn(seed: number, what: string, script: string): Promise<Verdict> {
  if (brokenCode.test(what)) return { by: undefined, what: `the mutated code is broken: ${what}` };
  const calm = await failureOf(pristine, script, seed);
  return calm === undefined
    ? { by: `seed ${seed}`, what, seed }
    : { by: undefined, what: `seed ${seed} fails without the mutation too: ${calm}` };
}

async function scanned(copy: MutableCopy, { script, seedsMax }: Simulation): Promise<Verdict> {
  const seeds = values.seeds ?? seedsMax;
  const said = await copy.run(script, ['--from', '1', '--seeds', String(seeds), '--workers', '1', '--first-failure']);
  const failure = /^seed (\d+) fails: (.*)$/m.exec(said);
  if (failure === null) return { by: undefined, what: said.trim().split('\n').slice(-3).join(' / ') };
  return verdictOn(Number(failure[1]), failure[2]!, script);
}

/** Whether the seed that caught a rule of the simulation last, if there is one, notices what is gone from the copy. */
async function noticedAgain(copy: MutableCopy, simulation: Simulation, rule: string): Promise<Verdict | undefined> {
  const hint = simulation.seeds[rule];
  const failure = hint === undefined ? undefined : await failureOf(copy, simulation.script, hint);
  const verdict = failure === undefined ? undefined : await verdictOn(hint!, failure, simulation.script);
  return verdict?.seed === undefined ? undefined : verdict;
}

/** Whether what a reason names notices. */
async function noticedBy(copy: MutableCopy, { caughtBy }: Reason): Promise<Verdict> {
  if ('of' in caughtBy) {
    const other = simulations.find(({ of }) => of === caughtBy.of)!;
    const verdict = (await noticedAgain(copy, other, caughtBy.rule)) ?? (await scanned(copy, other));
    const by = verdict.by === undefined ? undefined : `caught by ${caughtBy.of}: ${caughtBy.rule}, ${verdict.by}`;
    return { by, what: verdict.what };
  }
  const { file, title } = caughtBy;
  const mutated = await copy.test(file, title);
  const what = mutated.failures[0] ?? `${mutated.passed} tests of ${file} with the title '${title}' pass`;
  if (mutated.failures.length === 0) return { by: undefined, what };
  if (brokenCode.test(what)) return { by: undefined, what: `the mutated code is broken: ${what}` };
  const calm = await pristine.test(file, title);
  if (calm.passed === 0 || calm.failures.length > 0) return { by: undefined, what: `${file} fails without the mutation too: ${title}` };
  return { by: `caught by ${file}: ${title}`, what };
}

async function verdictOf({ simulation, mutation }: Played, copy: MutableCopy): Promise<Verdict> {
  const restore = copy.mutate(mutation);
  try {
    const reason = simulation.reasons[mutation.name];
    if (!values.scan) {
      const again = await noticedAgain(copy, simulation, mutation.name);
      if (again !== undefined) return again;
      if (reason !== undefined) return await noticedBy(copy, reason);
    }
    const verdict = await scanned(copy, simulation);
    return verdict.by === undefined && reason !== undefined ? await noticedBy(copy, reason) : verdict;
  } finally {
    restore();
  }
}

interface Played {
  readonly simulation: Simulation;
  readonly mutation: Mutation;
}

const chosen = simulations
  .filter(({ of }) => values.of === undefined || values.of === of)
  .flatMap((simulation) => simulation.mutations.map((mutation): Played => ({ simulation, mutation })))
  .filter(({ mutation }) => values.only === undefined || mutation.name === values.only);
if (chosen.length === 0) throw new Error(`no mutation is called '${values.only}'`);

/** Why a rule can not be taken out; `undefined`: it can be. */
function staleness({ mutation }: Played): string | undefined {
  try {
    patched(mutation, (file) => pristine.read(file));
    return undefined;
  } catch (e) {
    return (e as Error).message.split('\n')[0];
  }
}

/** In order of the list, without what is gone. */
function sorted(seeds: Seeds, mutations: readonly Mutation[]): Seeds {
  return Object.fromEntries(mutations.flatMap(({ name }) => (seeds[name] === undefined ? [] : [[name, seeds[name]] as const])));
}

function noteSeed({ simulation, mutation: { name } }: Played, seed: number): void {
  const { seeds } = simulation;
  if (!values.scan && seeds[name] !== seed) console.log(`${name}: mutation-seeds.json is out of date, it is ${seed} now`);
  seeds[name] = seed;
  if (values.scan) writeFileSync(seedsFile(simulation), `${JSON.stringify(sorted(seeds, simulation.mutations), undefined, 2)}\n`);
}

let survivors = 0;
const survives = ({ mutation: { name, rule } }: Played, what: string): void => {
  survivors++;
  console.log(`${name} (${rule}) → SURVIVES: ${what}`);
};

const played: Played[] = [];
for (const one of chosen) {
  const stale = staleness(one);
  if (stale !== undefined) survives(one, stale);
  else played.push(one);
}

let next = 0;
async function work(copy: MutableCopy): Promise<void> {
  for (let one = played[next++]; one !== undefined; one = played[next++]) {
    const begin = performance.now();
    const { by, seed, what } = await verdictOf(one, copy);
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    const text = what.slice(0, 200);
    if (seed !== undefined) noteSeed(one, seed);
    if (by === undefined) survives(one, `${seconds} s: ${text}`);
    else console.log(`${one.mutation.name} (${one.mutation.rule}) → ${by} in ${seconds} s: ${text}`);
  }
}

const copies = Array.from({ length: Math.min(Number(values.workers), played.length) }, () => new MutableCopy(pristine.directory));
try {
  await Promise.all(copies.map(work));
} finally {
  for (const copy of [pristine, ...copies]) copy.remove();
}
console.log(`${chosen.length - survivors} caught, ${survivors} survived`);
process.exitCode = survivors === 0 ? 0 : 1;
