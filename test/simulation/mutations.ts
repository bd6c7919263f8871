// Are the simulations hard enough? Each mutation takes one rule out of a copy of the product; the simulation of the copy must fail within a range of
// seeds. A mutation whose text is not found exactly once fails loudly: then the product has changed and the mutation has to follow.
//   npm run sim:mutations                     all of them, of both runtimes; each begins with the seed that caught it last
//   npm run sim:mutations -- --only NAME      one; `--of embedded`, `invocations` or `lanes`; `--workers N` at once
//   npm run sim:mutations -- --scan           from seed 1 on, and writes down what catches; `--seeds K` at most
// The seeds that caught lie in mutation-seeds.json beside each list. They are hints: a seed that has come to mean another world is looked for anew.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutations as ofLanes } from '../invocation-simulation/lanes/mutation-list.ts';
import { mutations as ofInvocations } from '../invocation-simulation/mutation-list.ts';
import { type Mutation, patched } from './mutation.ts';
import { mutations as ofEmbedded } from './mutation-list.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    of: { type: 'string' },
    seeds: { type: 'string' },
    scan: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

interface Simulation {
  readonly of: string;
  readonly script: string;
  /** Within which each mutation must be caught. */
  readonly seeds: number;
  readonly mutations: readonly Mutation[];
  /** The list names rules for which no seed is known yet. */
  readonly isListOpen: boolean;
}

const simulations: readonly Simulation[] = [
  { of: 'embedded', script: 'test/simulation/sim.ts', seeds: 3_000, mutations: ofEmbedded, isListOpen: false },
  { of: 'invocations', script: 'test/invocation-simulation/sim.ts', seeds: 2_000, mutations: ofInvocations, isListOpen: true },
  { of: 'lanes', script: 'test/invocation-simulation/lanes/sim.ts', seeds: 2_000, mutations: ofLanes, isListOpen: true },
];

const root = join(import.meta.dirname, '../..');

/** The product as it is now: everything below is made from this copy, whatever is edited meanwhile. */
const pristine = copied(root);

function copied(from: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-mutation-'));
  mkdirSync(join(copy, 'test'));
  cpSync(join(from, 'lib'), join(copy, 'lib'), { recursive: true });
  for (const part of ['simulation', 'invocation-simulation', 'support'])
    cpSync(join(from, 'test', part), join(copy, 'test', part), { recursive: true });
  cpSync(join(from, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Takes one rule out of a copy. @returns what puts it back */
function mutate(copy: string, mutation: Mutation): () => void {
  const read = (file: string): string => readFileSync(join(copy, 'lib', file), 'utf8');
  const before = new Map<string, string>();
  for (const [file, text] of patched(mutation, read)) {
    before.set(file, read(file));
    writeFileSync(join(copy, 'lib', file), text);
  }
  return () => {
    for (const [file, text] of before) writeFileSync(join(copy, 'lib', file), text);
  };
}

/** Simulates a copy. @returns what it printed */
async function simulated(copy: string, script: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const hear = (data: Buffer): void => {
    said += data;
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  await new Promise((resolve) => child.on('close', resolve));
  return said;
}

interface Verdict {
  readonly seed: number | undefined;
  readonly what: string;
}

/** How one seed of a copy fails; `undefined`: it does not. */
async function failureOf(copy: string, script: string, seed: number): Promise<string | undefined> {
  return /^ {2}(.*)$/m.exec(await simulated(copy, script, ['--seed', String(seed)]))?.[1];
}

async function verdictOn(seed: number, what: string, script: string): Promise<Verdict> {
  // A mutation that does not even run proves nothing, and neither does a seed that fails by itself.
  if (/ReferenceError|SyntaxError|is not a function/.test(what)) return { seed: undefined, what: `the mutated code is broken: ${what}` };
  const calm = await failureOf(pristine, script, seed);
  return calm === undefined ? { seed, what } : { seed: undefined, what: `seed ${seed} fails without the mutation too: ${calm}` };
}

async function scanned(copy: string, { script, seeds, workers }: { script: string; seeds: number; workers: number }): Promise<Verdict> {
  const range = ['--from', '1', '--seeds', String(seeds), '--workers', String(workers), '--first-failure'];
  const said = await simulated(copy, script, range);
  const failure = /^seed (\d+) fails: (.*)$/m.exec(said);
  if (failure === null) return { seed: undefined, what: said.trim().split('\n').slice(-3).join(' / ') };
  return verdictOn(Number(failure[1]), failure[2]!, script);
}

type Seeds = Record<string, number>;

const seedsFile = ({ script }: Simulation): string => join(root, dirname(script), 'mutation-seeds.json');
const known = new Map<Simulation, Seeds>(simulations.map((s) => [s, JSON.parse(readFileSync(seedsFile(s), 'utf8')) as Seeds]));

async function verdictOf(simulation: Simulation, mutation: Mutation, copy: string): Promise<Verdict> {
  const { script } = simulation;
  const restore = mutate(copy, mutation);
  try {
    const hint = values.scan ? undefined : known.get(simulation)![mutation.name];
    const failure = hint === undefined ? undefined : await failureOf(copy, script, hint);
    const verdict = failure === undefined ? undefined : await verdictOn(hint!, failure, script);
    if (verdict?.seed !== undefined) return verdict;
    return await scanned(copy, { script, seeds: Number(values.seeds ?? simulation.seeds), workers: 1 });
  } finally {
    restore();
  }
}

const chosen = simulations
  .filter(({ of }) => values.of === undefined || values.of === of)
  .flatMap((simulation) => simulation.mutations.map((mutation) => ({ simulation, mutation })))
  .filter(({ mutation }) => values.only === undefined || mutation.name === values.only);
if (chosen.length === 0) throw new Error(`no mutation is called '${values.only}'`);
/** Rules whose removal has never been noticed, or has not been tried: they are named, and not counted, until a scan finds their seed. */
const unknown = chosen.filter(({ simulation, mutation }) => isUnknown(simulation, mutation));

function isUnknown(simulation: Simulation, { name }: Mutation): boolean {
  return !values.scan && values.only === undefined && simulation.isListOpen && known.get(simulation)![name] === undefined;
}

const played = chosen.filter((one) => !unknown.includes(one));
let survivors = 0;
let next = 0;

async function work(copy: string): Promise<void> {
  for (let one = played[next++]; one !== undefined; one = played[next++]) {
    const { simulation, mutation } = one;
    const begin = performance.now();
    const { seed, what } = await verdictOf(simulation, mutation, copy);
    const seeds = known.get(simulation)!;
    if (seed === undefined) survivors++;
    else if (seeds[mutation.name] !== seed && !values.scan)
      console.log(`${mutation.name}: mutation-seeds.json is out of date, it is ${seed} now`);
    if (seed !== undefined) seeds[mutation.name] = seed;
    const verdict = seed === undefined ? `SURVIVES ${values.seeds ?? simulation.seeds} seeds` : `seed ${seed}`;
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    console.log(`${mutation.name} (${mutation.rule}) → ${verdict} in ${seconds} s: ${what.slice(0, 200)}`);
    if (values.scan) writeFileSync(seedsFile(simulation), `${JSON.stringify(sorted(seeds, simulation.mutations), undefined, 2)}\n`);
  }
}

/** In order of the list, without what is gone. */
function sorted(seeds: Seeds, mutations: readonly Mutation[]): Seeds {
  return Object.fromEntries(mutations.flatMap(({ name }) => (seeds[name] === undefined ? [] : [[name, seeds[name]] as const])));
}

// A rule whose text has moved is told before hours are spent on the others.
for (const { mutation } of chosen) patched(mutation, (file) => readFileSync(join(pristine, 'lib', file), 'utf8'));

const copies = Array.from({ length: Math.min(Number(values.workers), played.length) }, () => copied(pristine));
try {
  await Promise.all(copies.map(work));
} finally {
  for (const copy of [pristine, ...copies]) rmSync(copy, { recursive: true, force: true });
}
for (const { mutation } of unknown)
  console.log(`${mutation.name} (${mutation.rule}): no seed is known to notice; \`--only\` looks for one`);
console.log(`${played.length - survivors} caught, ${survivors} survived`);
process.exitCode = survivors === 0 ? 0 : 1;
