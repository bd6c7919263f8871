import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findRun, forgetRun, listRuns, livenessOf, registerRun } from '../../../../lib/adapters/embedded/registry.ts';

let directory = '';
let child: ChildProcess | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-registry-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  child = undefined;
  rmSync(directory, { recursive: true });
});

test('a run is found by its job, as the last that registered', () => {
  registerRun(directory, 'late', 1);
  registerRun(directory, 'late', process.pid);
  registerRun(directory, 'other', process.pid);
  expect(findRun(directory, 'late')?.pid).toBe(process.pid);
  expect(listRuns(directory).map((run) => run.job)).toEqual(['late', 'other']);
  expect(findRun(directory, 'nobody')).toBeUndefined();
});

test('a run takes its own entry away and nobody else’s, and leaves no empty directory', () => {
  registerRun(directory, 'late', process.pid);
  forgetRun(directory, 'late', process.pid + 1);
  expect(findRun(directory, 'late')).toBeDefined();
  forgetRun(directory, 'late', process.pid);
  forgetRun(directory, 'late', process.pid);
  expect(readdirSync(directory)).toEqual([]);
});

test('forgetting keeps checkpoints that lie beside', () => {
  registerRun(directory, 'late', process.pid);
  writeFileSync(join(directory, '.sluice', 'late'), '');
  forgetRun(directory, 'late', process.pid);
  expect(existsSync(join(directory, '.sluice', 'late'))).toBe(true);
});

test('a damaged entry says nothing', () => {
  registerRun(directory, 'late', process.pid);
  for (const text of ['', '{', '{"job":"late"}', '{"job":"late","pid":-1}', 'null']) {
    writeFileSync(join(directory, '.sluice/.runs/late.json'), text);
    expect(findRun(directory, 'late'), text).toBeUndefined();
  }
});

test('a process is running, then stopped, then running again, then gone', async () => {
  child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  registerRun(directory, 'late', child.pid!);
  const entry = findRun(directory, 'late')!;
  const becomes = async (wanted: string): Promise<void> => {
    while (livenessOf(entry) !== wanted) await new Promise((resolve) => setImmediate(resolve));
  };
  await becomes('running');
  child.kill('SIGSTOP');
  if (process.platform === 'linux') await becomes('stopped');
  child.kill('SIGCONT');
  await becomes('running');
  child.kill('SIGKILL');
  await becomes('gone');
});

test('another process with the id of a dead one is not taken for it', () => {
  registerRun(directory, 'late', process.pid);
  const entry = findRun(directory, 'late')!;
  if (entry.began === undefined) return; // the system does not tell when a process began
  expect(livenessOf(entry)).toBe('running');
  expect(livenessOf({ ...entry, began: 'another boot/1' })).toBe('gone');
});
