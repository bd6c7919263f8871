// The command line in a child process, killed with SIGKILL at random moments; what it has put out in the end is what an undisturbed run puts out.
// And stopped with SIGSTOP, taken over, and continued: the zombie does no harm.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import type { Counted, Line } from './kill-job.ts';

const main = join(import.meta.dirname, '../../lib/cli/main.ts');
const job = join(import.meta.dirname, 'kill-job.ts');
const killsWanted = 20;
const killsAtLeast = 15;
const seed = Number(process.env.SLUICE_KILL_SEED ?? 1);

let place = '';

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sluice-kill-'));
  writeInput(join(place, 'one'), 1, 150_000);
  writeInput(join(place, 'three'), 3, 50_000);
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

function writeInput(directory: string, splits: number, lines: number): void {
  mkdirSync(directory);
  const random = seededRandom(splits);
  for (let s = 0; s < splits; s++) {
    let text = '';
    for (let n = 0; n < lines; n++) text += `${JSON.stringify({ s: `s${s}`, k: `k${random.below(500)}`, n } satisfies Line)}\n`;
    writeFileSync(join(directory, `s${s}.ndjson`), text);
  }
}

interface Setting {
  readonly backend: 'jobmanager' | 'filesystem';
  readonly parallelism: number;
  /** Names the output and the checkpoints. */
  readonly name: string;
}

function output(s: Setting): string {
  return join(place, `out-${s.name}`);
}

interface Run {
  readonly child: ChildProcess;
  /** JSON lines so far. */
  readonly lines: Record<string, unknown>[];
  said: string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Resolves when a line of this kind has come, or the process has ended. */
  saw(kind: string): Promise<void>;
}

function start(s: Setting, more: readonly string[] = []): Run {
  const input = join(place, s.parallelism === 1 ? 'one' : 'three');
  const args = [
    main,
    'run',
    job,
    '--json',
    '--from',
    'latest',
    '--parallelism',
    String(s.parallelism),
    '--set',
    `state.backend=${s.backend}`,
  ];
  args.push('--set', `state.checkpoints.dir=${join(place, `checkpoints-${s.name}`)}`, '--input', input, '--output', output(s), ...more);
  const child = spawn(process.execPath, args, { cwd: place, stdio: ['ignore', 'pipe', 'pipe'] });
  const waiting: (() => void)[] = [];
  const lines: Record<string, unknown>[] = [];
  const run: Run = {
    child,
    lines,
    said: '',
    ended: new Promise((resolve) =>
      child.on('close', (code, signal) => {
        resolve({ code, signal });
        for (const look of waiting) look();
      }),
    ),
    saw: (kind) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (child.exitCode !== null || child.signalCode !== null || lines.some((l) => l.kind === kind)) resolve();
        };
        waiting.push(look);
        look();
      }),
  };
  let rest = '';
  child.stdout.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n');
    rest = parts.pop()!;
    for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part) as Record<string, unknown>);
    for (const look of waiting) look();
  });
  child.stderr.on('data', (data: Buffer) => {
    run.said += data.toString();
  });
  return run;
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills run after run until enough kills have hit one, then lets the job finish. */
async function disturbed(s: Setting, random: SeededRandom): Promise<{ readonly kills: number }> {
  let kills = 0;
  for (;;) {
    const run = start(s);
    if (kills < killsWanted) {
      // Most kills hit while records flow; some hit the start, the restore, or the end.
      if (random.chance(0.75)) {
        await run.saw('started');
        await later(random.below(450));
      } else await later(random.below(900));
      run.child.kill('SIGKILL');
    }
    const { code, signal } = await run.ended;
    if (signal === 'SIGKILL') {
      kills++;
      continue;
    }
    expect({ code, said: run.said }).toEqual({ code: 0, said: expect.any(String) });
    return { kills };
  }
}

function parts(s: Setting): readonly string[] {
  return readdirSync(output(s))
    .filter((name) => !name.startsWith('.'))
    .sort();
}

function joined(s: Setting): string {
  return parts(s)
    .map((name) => readFileSync(join(output(s), name), 'utf8'))
    .join('');
}

/** Lines of each (split, key), in the order in which they were written. */
function perKey(s: Setting): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of joined(s).split('\n')) {
    if (line === '') continue;
    const { s: split, k } = JSON.parse(line) as Counted;
    const key = `${split} ${k}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, [line]);
    else known.push(line);
  }
  return found;
}

async function undisturbed(s: Setting): Promise<void> {
  const run = start(s, ['--spins', '0']);
  const { code } = await run.ended;
  expect({ code, said: run.said }).toEqual({ code: 0, said: expect.any(String) });
}

describe.each(['jobmanager', 'filesystem'] as const)('a job on the backend %s that is killed again and again', (backend) => {
  test.each([1, 3])('puts out what an undisturbed run puts out, at parallelism %i', async (parallelism) => {
    const calm: Setting = { backend, parallelism, name: `${backend}-${parallelism}-calm` };
    const wild: Setting = { backend, parallelism, name: `${backend}-${parallelism}` };
    await undisturbed(calm);
    const { kills } = await disturbed(wild, seededRandom(seed).fork(wild.name));
    expect(kills, 'kills that hit a running job; the job is too quick for this machine').toBeGreaterThanOrEqual(killsAtLeast);
    if (parallelism === 1) expect(joined(wild) === joined(calm), 'the joined parts are equal byte for byte').toBe(true);
    const expected = perKey(calm);
    const actual = perKey(wild);
    expect(actual.size).toBe(expected.size);
    for (const [key, lines] of expected) expect(actual.get(key), key).toEqual(lines);
    expect(readdirSync(output(wild)).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('a run that is stopped', () => {
  test('keeps others out until it is taken over, and does no harm when it goes on', async () => {
    const s: Setting = { backend: 'filesystem', parallelism: 1, name: 'zombie' };
    const calm: Setting = { ...s, name: 'zombie-calm' };
    await undisturbed(calm);
    const random = seededRandom(seed).fork('zombie');
    const zombies: Run[] = [];
    for (let i = 0; i < 4; i++) {
      const zombie = start(s, i === 0 ? [] : ['--take-over']);
      zombies.push(zombie);
      await zombie.saw('checkpoint-completed');
      await later(random.below(200));
      zombie.child.kill('SIGSTOP');
      if (i > 0) continue;
      const refused = start(s);
      const { code } = await refused.ended;
      expect(code).not.toBe(0);
      expect(refused.said + JSON.stringify(refused.lines)).toContain(String(zombie.child.pid));
    }
    const last = start(s, ['--take-over']);
    await last.saw('checkpoint-completed');
    for (const zombie of zombies) zombie.child.kill('SIGCONT');
    const ends = await Promise.all(zombies.map((z) => z.ended));
    const { code } = await last.ended;
    expect({ code, said: last.said }).toEqual({ code: 0, said: expect.any(String) });
    // A zombie finds its directory gone; that is a failure of its run, told in words.
    for (const end of ends) expect(end).toEqual({ code: 1, signal: null });
    expect(joined(s) === joined(calm), 'the joined parts are equal byte for byte').toBe(true);
    expect(parts(s).length).toBeGreaterThan(1);
  });
});
