// `--runtime invocations` in real processes: workers are killed and stopped, the main process too, and everything at once. What is put out in the end
// is what an undisturbed run puts out.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import type { Line } from './kill-job.ts';

const repository = join(import.meta.dirname, '../..');
const main = join(repository, 'lib/cli/main.ts');
const seed = Number(process.env.SLUICE_KILL_SEED ?? 1);
const killsWanted = 20;
const redeliveryMs = 1_000;

interface Job {
  readonly name: string;
  readonly file: string;
  readonly input: string;
  readonly words: readonly string[];
  /** Slows the disturbed run down, so that there is something to kill. */
  readonly slow: readonly string[];
  /** Key of a row: rows of one key come in one order. */
  readonly keyOf: (row: Record<string, unknown>) => string;
}

let place = '';

const lateFlights: Job = {
  name: 'late-flights',
  file: join(repository, 'examples/late-flights/job.ts'),
  input: join(repository, 'node_modules/vega-datasets/data/flights-20k.json'),
  words: [],
  slow: ['--set', 'invocations.event-records=3'],
  keyOf: ({ airport }) => String(airport),
};

function twoStages(): Job {
  return {
    name: 'invocations-kill',
    file: join(import.meta.dirname, 'invocations-job.ts'),
    input: join(place, 'lines'),
    words: ['--parallelism', '2'],
    slow: ['--set', 'invocations.event-records=50', '--spins', '20000'],
    keyOf: ({ s, k }) => `${s} ${k}`,
  };
}

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sluice-kill-invocations-'));
  mkdirSync(join(place, 'lines'));
  const random = seededRandom(7);
  for (let s = 0; s < 3; s++) {
    let text = '';
    for (let n = 0; n < 6_000; n++) text += `${JSON.stringify({ s: `s${s}`, k: `k${random.below(200)}`, n } satisfies Line)}\n`;
    writeFileSync(join(place, 'lines', `s${s}.ndjson`), text);
  }
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  said: string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

function start(job: Job, name: string, more: readonly string[]): Run {
  const directory = join(place, name);
  mkdirSync(directory, { recursive: true });
  const words = ['run', job.file, '--json', '--input', job.input, '--output', join(directory, 'out'), ...job.words, ...more];
  const child = spawn(process.execPath, [main, ...words], { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const run: Run = {
    child,
    said: '',
    ended: new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal }))),
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      run.said = (run.said + data.toString()).slice(-20_000);
    });
  }
  return run;
}

const invocations = ['--runtime', 'invocations', '--workers', '3', '--set', `invocations.redelivery-time=${redeliveryMs} ms`];

/** Workers that live now, by their process ids. */
function workersOf({ child }: Run): readonly number[] {
  try {
    const text = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    return text
      .split(' ')
      .filter((id) => id !== '')
      .map(Number);
  } catch {
    return [];
  }
}

function signal(pid: number, how: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, how);
  } catch {
    return false;
  }
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Below 20 everything is killed, below 40 a worker is stopped, else one is killed. */
const everythingDraw = 0;
const stopDraw = 20;

interface Harm {
  workers: number;
  everything: number;
  stopped: number;
  /** Of the new beginnings after everything was killed, those that went back to a checkpoint. */
  restored: number;
}

/** What chance is not asked about, so that a quick machine does not end the job before each kind has come often enough. */
function nextHarm(step: number, harm: Harm): number | undefined {
  if (step % 5 === 1 && harm.everything < 3) return everythingDraw;
  return step % 5 === 3 && harm.stopped < 3 ? stopDraw : undefined;
}

/** Does harm until enough was done, or the job has ended before. */
async function disturbed(job: Job, random: SeededRandom): Promise<Harm> {
  const harm: Harm = { workers: 0, everything: 0, stopped: 0, restored: 0 };
  let run = start(job, `${job.name}-wild`, [...invocations, ...job.slow]);
  let isOver = false;
  let steps = 0;
  let ended = watch(run);
  function watch(one: Run): Run['ended'] {
    void one.ended.then(({ signal: how }) => {
      if (one === run && how !== 'SIGKILL') isOver = true;
    });
    return one.ended;
  }
  while (!isOver && (harm.workers + harm.everything < killsWanted || harm.everything < 3 || harm.stopped < 3)) {
    await later(random.between(80, 400));
    if (isOver) break;
    const draw = nextHarm(steps++, harm) ?? random.below(100);
    const workers = workersOf(run);
    if (draw < 20) {
      // The whole group: the main process and its workers at one moment.
      if (!signal(-run.child.pid!, 'SIGKILL')) continue;
      harm.everything++;
      await ended;
      const goesBack = random.chance(0.4);
      if (goesBack) harm.restored++;
      run = start(job, `${job.name}-wild`, [...invocations, ...job.slow, ...(goesBack ? ['--from', 'latest'] : [])]);
      ended = watch(run);
    } else if (workers.length === 0) {
      // It has only just begun.
    } else if (draw < 40) {
      const victim = random.pick(workers);
      if (!signal(victim, 'SIGSTOP')) continue;
      harm.stopped++;
      const stoppedMs = redeliveryMs + random.below(redeliveryMs);
      void later(stoppedMs).then(() => signal(victim, 'SIGCONT'));
      if (random.chance(0.5)) await later(stoppedMs);
    } else if (signal(random.pick(workers), 'SIGKILL')) harm.workers++;
  }
  const { code } = await ended;
  expect({ code, said: code === 0 ? '' : run.said }).toEqual({ code: 0, said: '' });
  return harm;
}

async function undisturbed(job: Job, name: string, more: readonly string[]): Promise<void> {
  const run = start(job, name, more);
  const { code } = await run.ended;
  expect({ code, said: code === 0 ? '' : run.said }).toEqual({ code: 0, said: '' });
}

/** Lines of each key, in the order in which they were written. */
function perKey(job: Job, name: string): ReadonlyMap<string, readonly string[]> {
  const output = join(place, name, 'out');
  const parts = readdirSync(output).filter((part) => !part.startsWith('.'));
  const found = new Map<string, string[]>();
  for (const part of parts.sort()) {
    for (const line of readFileSync(join(output, part), 'utf8').split('\n')) {
      if (line === '') continue;
      const key = job.keyOf(JSON.parse(line) as Record<string, unknown>);
      found.set(key, [...(found.get(key) ?? []), line]);
    }
  }
  return found;
}

function expectEqual(job: Job, name: string, reference: string): void {
  const expected = perKey(job, reference);
  const actual = perKey(job, name);
  expect(actual.size).toBe(expected.size);
  for (const [key, lines] of expected) expect(actual.get(key), key).toEqual(lines);
}

describe('a job by invocations whose processes are killed and stopped', () => {
  test.each([
    ['late-flights', () => lateFlights],
    ['two shuffles', twoStages],
  ])('%s puts out what an undisturbed run puts out', async (_, jobOf) => {
    const job = jobOf();
    await undisturbed(job, `${job.name}-embedded`, []);
    await undisturbed(job, `${job.name}-calm`, invocations);
    expectEqual(job, `${job.name}-calm`, `${job.name}-embedded`);
    const harm = await disturbed(job, seededRandom(seed).fork(job.name));
    console.info(`${job.name}: ${JSON.stringify(harm)}`);
    expect(harm.workers + harm.everything, 'kills that hit a running job; it is too quick for this machine').toBeGreaterThanOrEqual(
      killsWanted,
    );
    expect(harm.everything).toBeGreaterThanOrEqual(3);
    expect(harm.stopped).toBeGreaterThanOrEqual(3);
    expectEqual(job, `${job.name}-wild`, `${job.name}-embedded`);
  });

  test('--chaos puts out what an undisturbed run puts out', async () => {
    const name = `${lateFlights.name}-chaos`;
    const run = start(lateFlights, name, [...invocations, '--set', 'invocations.event-records=25', '--chaos']);
    const { code } = await run.ended;
    expect({ code, said: code === 0 ? '' : run.said }).toEqual({ code: 0, said: '' });
    const done = /chaos: (\{.*?\})"/.exec(run.said.replaceAll('\\"', "'"))?.[1];
    const { killed, duplicated } = JSON.parse((done ?? '{}').replaceAll("'", '"')) as { killed: number; duplicated: number };
    expect(killed, run.said).toBeGreaterThan(0);
    expect(duplicated).toBeGreaterThan(0);
    expectEqual(lateFlights, name, `${lateFlights.name}-embedded`);
  });
});
