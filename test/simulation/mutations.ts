// Is the simulation hard enough? Each mutation takes one rule out of a copy of the product; the simulation of the copy must fail within a range of
// seeds. A mutation whose text is not found exactly once fails loudly: then the product has changed and the mutation has to follow.
//   npm run sim:mutations                     all of them
//   npm run sim:mutations -- --only NAME      one; `--seeds K` seeds at most (default 3,000), `--workers N`

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Mutation, mutations } from './mutation-list.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '3000' },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

const root = join(import.meta.dirname, '../..');

/** A copy of the product with one rule taken out, ready to be simulated. */
function mutated(mutation: Mutation): string {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-mutation-'));
  mkdirSync(join(copy, 'test'));
  cpSync(join(root, 'lib'), join(copy, 'lib'), { recursive: true });
  cpSync(join(root, 'test/simulation'), join(copy, 'test/simulation'), { recursive: true });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
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

interface Verdict {
  readonly seed: number | undefined;
  readonly what: string;
  readonly seconds: number;
}

async function caught(mutation: Mutation): Promise<Verdict> {
  const copy = mutated(mutation);
  const begin = performance.now();
  try {
    const args = ['test/simulation/sim.ts', '--from', '1', '--seeds', values.seeds, '--workers', values.workers, '--first-failure'];
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (d: Buffer) => {
      said += d;
    });
    child.stderr.on('data', (d: Buffer) => {
      said += d;
    });
    await new Promise((resolve) => child.on('close', resolve));
    const failure = /^seed (\d+) fails: (.*)$/m.exec(said);
    const seconds = (performance.now() - begin) / 1_000;
    if (failure !== null) return { seed: Number(failure[1]), what: failure[2]!, seconds };
    return { seed: undefined, what: said.trim().split('\n').slice(-3).join(' / '), seconds };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const chosen = mutations.filter((m) => values.only === undefined || m.name === values.only);
if (chosen.length === 0) throw new Error(`no mutation is called '${values.only}'`);
let survivors = 0;
for (const mutation of chosen) {
  const { seed, what, seconds } = await caught(mutation);
  if (seed === undefined) survivors++;
  const verdict = seed === undefined ? `SURVIVES ${values.seeds} seeds` : `seed ${seed}`;
  console.log(`${mutation.name} (${mutation.rule}) → ${verdict} in ${seconds.toFixed(1)} s: ${what.slice(0, 200)}`);
}
console.log(`${chosen.length - survivors} caught, ${survivors} survived`);
process.exitCode = survivors === 0 ? 0 : 1;
