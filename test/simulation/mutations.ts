// Are the simulations hard enough? Each mutation takes one rule out of a copy of the product; the simulation of the copy must fail within a range of
// seeds. A mutation whose text is not found exactly once fails loudly: then the product has changed and the mutation has to follow.
//   npm run sim:mutations                     all of them, of both runtimes
//   npm run sim:mutations -- --only NAME      one; `--of embedded` or `--of invocations`; `--seeds K` seeds at most, `--workers N`

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutations as ofInvocations } from '../invocation-simulation/mutation-list.ts';
import type { Mutation } from './mutation.ts';
import { mutations as ofEmbedded } from './mutation-list.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    of: { type: 'string' },
    seeds: { type: 'string' },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

interface Simulation {
  readonly of: string;
  readonly script: string;
  /** Within which each mutation must be caught. */
  readonly seeds: number;
  readonly mutations: readonly Mutation[];
}

const simulations: readonly Simulation[] = [
  { of: 'embedded', script: 'test/simulation/sim.ts', seeds: 3_000, mutations: ofEmbedded },
  { of: 'invocations', script: 'test/invocation-simulation/sim.ts', seeds: 2_000, mutations: ofInvocations },
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

/** A copy of the product with one rule taken out, ready to be simulated. */
function mutated(mutation: Mutation): string {
  const copy = copied(pristine);
  for (const { file, find, replace } of mutation.patches) {
    const path = join(copy, 'lib', file);
    const text = readFileSync(path, 'utf8');
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`lib/${file} holds the text of mutation '${mutation.name}' ${times} times, not once: ${find}`);
    writeFileSync(
      path,
      text.replace(find, () => replace),
    );
  }
  return copy;
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

async function verdictOf(mutation: Mutation, { script, seeds }: { readonly script: string; readonly seeds: string }): Promise<Verdict> {
  const copy = mutated(mutation);
  try {
    const said = await simulated(copy, script, ['--from', '1', '--seeds', seeds, '--workers', values.workers, '--first-failure']);
    const failure = /^seed (\d+) fails: (.*)$/m.exec(said);
    if (failure === null) return { seed: undefined, what: said.trim().split('\n').slice(-3).join(' / ') };
    const [, seed, what] = failure;
    // A mutation that does not even run proves nothing, and neither does a seed that fails by itself.
    if (/ReferenceError|SyntaxError|is not a function/.test(what!)) return { seed: undefined, what: `the mutated code is broken: ${what}` };
    const calm = await simulated(pristine, script, ['--seed', seed!]);
    if (/^ {2}/m.test(calm)) return { seed: undefined, what: `seed ${seed} fails without the mutation too: ${calm}` };
    return { seed: Number(seed), what: what! };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const chosen = simulations
  .filter(({ of }) => values.of === undefined || values.of === of)
  .flatMap((simulation) => simulation.mutations.map((mutation) => ({ simulation, mutation })))
  .filter(({ mutation }) => values.only === undefined || mutation.name === values.only);
if (chosen.length === 0) throw new Error(`no mutation is called '${values.only}'`);
let survivors = 0;
try {
  for (const { simulation, mutation } of chosen) {
    const begin = performance.now();
    const seeds = values.seeds ?? String(simulation.seeds);
    const { seed, what } = await verdictOf(mutation, { script: simulation.script, seeds });
    if (seed === undefined) survivors++;
    const verdict = seed === undefined ? `SURVIVES ${seeds} seeds` : `seed ${seed}`;
    const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
    console.log(`${mutation.name} (${mutation.rule}) → ${verdict} in ${seconds} s: ${what.slice(0, 200)}`);
  }
} finally {
  rmSync(pristine, { recursive: true, force: true });
}
console.log(`${chosen.length - survivors} caught, ${survivors} survived`);
process.exitCode = survivors === 0 ? 0 : 1;
