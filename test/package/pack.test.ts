// What a stranger gets: the tarball, installed in an empty project. Everything is asked of that project, nothing of this repository.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const work = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
const project = join(work, 'project');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let tarball = '';

function call(cwd: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd, env, encoding: 'utf8' });
}

function succeed(cwd: string, command: string, ...args: readonly string[]): string {
  const done = call(cwd, command, args);
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${done.status}\n${done.stdout}\n${done.stderr}`);
  return done.stdout;
}

/** Runs a program of the temporary project the way its user would, with the Node that runs this test. */
function inProject(name: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return call(project, process.execPath, [join('node_modules', '.bin', name), ...args]);
}

function writeProject(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
}

/** The job that README.md shows, so that what a newcomer copies is what is tested. */
function jobOfReadme(): string {
  const sample = /```ts\n(\/\/ first-visits\.ts:[\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'));
  if (sample?.[1] === undefined) throw new Error('README.md has no sample that begins with `// first-visits.ts:`');
  return sample[1];
}

/** Every TypeScript sample of the guide, as files of the project. */
function samplesOfGuide(): Readonly<Record<string, string>> {
  const samples = [...readFileSync(join(root, 'docs/guide.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)];
  return Object.fromEntries(samples.map((sample, i) => [`guide-${i + 1}.ts`, sample[1] ?? '']));
}

const visits = [
  { user: 'a', page: '/', at: 1 },
  { user: 'b', page: '/', at: 2 },
  { user: 'a', page: '/cart', at: 3 },
];

beforeAll(() => {
  succeed(root, 'npm', 'run', 'build', '--silent');
  const [packed] = JSON.parse(succeed(root, 'npm', 'pack', '--json', '--pack-destination', work)) as [{ filename: string }];
  tarball = join(work, packed.filename);
  mkdirSync(project);
  writeProject({
    'package.json': JSON.stringify({ name: 'stranger', private: true, type: 'module' }),
    'first-visits.ts': jobOfReadme(),
    'visits.ndjson': visits.map((visit) => `${JSON.stringify(visit)}\n`).join(''),
    'tsconfig.json': JSON.stringify({
      compilerOptions: { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: [] },
      include: ['*.ts'],
    }),
    ...samplesOfGuide(),
  });
  succeed(project, 'npm', 'install', tarball, '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund');
});

afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the tarball', () => {
  test('publint finds nothing to say', async () => {
    const pkgDir = join(project, 'node_modules', 'sluice');
    const { messages } = await publint({ pkgDir, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
  });

  test('its types resolve from every entry point', () => {
    const attw = call(root, join(root, 'node_modules/.bin/attw'), [tarball, '--no-color', '--no-emoji']);
    expect(attw.status, attw.stdout + attw.stderr).toBe(0);
  });

  test('holds what it needs to run and to be licensed, and none of the tests, tools or data', () => {
    const here = readdirSync(join(project, 'node_modules', 'sluice')).sort();
    expect(here).toEqual(['LICENSE', 'README.md', 'dist', 'functions', 'package.json']);
  });
});

describe('an empty project with the tarball', () => {
  test('has the command line', () => {
    const said = inProject('sluice', '--version');
    expect(said.stderr).toBe('');
    expect(said.stdout.trim()).toBe(manifest.version);
  });

  test('gets no Node of ours', () => {
    expect(existsSync(join(project, 'node_modules/.bin/node'))).toBe(false);
    expect(readdirSync(join(project, 'node_modules')).filter((name) => name.startsWith('node-linux'))).toEqual([]);
  });

  test('gets the dependencies that the manifest names and nothing else', () => {
    const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(installed.sort()).toEqual([...Object.keys(manifest.dependencies), 'sluice'].sort());
  });

  test('imports both entry points', () => {
    const script = `const a = await import('sluice'); const b = await import('sluice/testing'); console.log(typeof a.defineJob, Object.keys(b).length > 0)`;
    const said = call(project, process.execPath, ['--input-type=module', '--eval', script]);
    expect(said.stderr).toBe('');
    expect(said.stdout.trim()).toBe('function true');
  });

  test('type-checks the job of the README and every sample of the guide against the published declarations', () => {
    expect(Object.keys(samplesOfGuide()).length).toBeGreaterThan(5);
    const said = call(project, join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json']);
    expect(said.stdout + said.stderr).toBe('');
  });

  test('runs a TypeScript job file with no build step', () => {
    const said = inProject('sluice', 'run', 'first-visits.ts', '--input', 'visits.ndjson', '--output', 'out');
    expect(said.status, said.stderr).toBe(0);
    const out = join(project, 'out');
    const parts = readdirSync(out).filter((name) => name.startsWith('part-'));
    const rows = parts.sort().flatMap((name) => readFileSync(join(out, name), 'utf8').trim().split('\n'));
    expect(rows.map((row) => JSON.parse(row))).toEqual([visits[0], visits[1]]);
  });
});
