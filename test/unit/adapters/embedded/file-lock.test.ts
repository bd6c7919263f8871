import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lockFile } from '../../../../lib/adapters/embedded/file-lock.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-lock-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const module = join(import.meta.dirname, '../../../../lib/adapters/embedded/file-lock.ts');

/** Runs a program text in a process of its own. */
function run(program: string): { readonly out: string; readonly err: string } {
  const script = `import { lockFile } from ${JSON.stringify(module)};\nconst path = ${JSON.stringify(join(directory, 'lock'))};\n${program}`;
  const out = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', `${script}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { out, err: '' };
}

test('a lock keeps other processes out, and goes with a process that ends without releasing it', async () => {
  expect(run(`console.log((await lockFile(path, 'first')).kind);`).out).toBe('locked\n');
  const mine = await lockFile(join(directory, 'lock'), 'the test');
  expect(mine.kind).toBe('locked');
  expect(run(`console.log(JSON.stringify(await lockFile(path, 'second')));`).out).toBe('{"kind":"held","owner":"the test"}\n');
  if (mine.kind === 'locked') await mine.lock.release();
  expect(run(`console.log((await lockFile(path, 'third')).kind);`).out).toBe('locked\n');
});

test('the lock file stays empty and leaves nothing but the note of its owner beside it', async () => {
  const inside = await mkdtemp(join(directory, 'alone-'));
  const lock = await lockFile(join(inside, 'lock'), 'me');
  if (lock.kind === 'locked') await lock.lock.release();
  expect((await readdir(inside)).sort()).toEqual(['lock', 'lock-owner']);
  expect((await stat(join(inside, 'lock'))).size).toBe(0);
});

test('a lock survives the collection of everything that does not hold it', () => {
  const program = `
    await lockFile(path + '-gc', 'kept');
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    for (let i = 0; i < 5; i++) { runInNewContext('gc')(); await new Promise((r) => setImmediate(r)); }
    console.log((await lockFile(path + '-gc', 'other')).kind);`;
  expect(run(program).out).toBe('held\n');
});

test('taking a lock says nothing on its own, and hides no warning of others', () => {
  const program = `
    const told = [];
    process.on('warning', (w) => told.push(w.message));
    await lockFile(path + '-quiet', 'me');
    process.emitWarning('SQLite is an experimental feature, says somebody else');
    await new Promise((r) => setImmediate(r));
    console.log(JSON.stringify(told));`;
  expect(run(program).out).toBe('["SQLite is an experimental feature, says somebody else"]\n');
});
