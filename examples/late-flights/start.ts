// `npm start`: this directory's job on the command line, then a look at what it wrote and at its last checkpoint. The output of the time
// before is removed first, unless the run goes on from a checkpoint: `npm start -- --from latest`.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const output = 'out/late-flights';
const input = 'node_modules/vega-datasets/data/flights-20k.json';
const further = process.argv.slice(2);

function sluice(...words: readonly string[]): void {
  console.log(`\n$ sluice ${words.join(' ')}`);
  const { status, signal } = spawnSync(process.execPath, ['lib/cli/main.ts', ...words], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}

if (!further.includes('--from')) {
  rmSync(output, { recursive: true, force: true });
  // With `--runtime invocations` a job that has finished is not run again; its file is what says that it has.
  for (const ending of ['', '-wal', '-shm']) rmSync(`.sluice/late-flights/invocations.db${ending}`, { force: true });
}
sluice('run', 'examples/late-flights/job.ts', '--input', input, '--output', output, ...further);

const parts = readdirSync(output).filter((name) => !name.startsWith('.'));
for (const part of parts.sort()) {
  const rows = readFileSync(join(output, part), 'utf8').split('\n').slice(0, -1);
  console.log(`\n${join(output, part)}: ${rows.length.toLocaleString('en-US')} rows, such as\n${rows.slice(0, 3).join('\n')}`);
}
sluice('checkpoints', 'show', 'late-flights');
