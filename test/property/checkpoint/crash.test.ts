// Lives of one job's checkpoint directory: each begins an attempt, takes checkpoints and dies at some call of the file-system port, by a
// kill or a power cut, with the last call done or not. Whatever the place, the next life finds what was promised to the one before.
import { expect, test } from 'vitest';
import { openAttempt } from '../../../lib/adapters/embedded/attempt-directory.ts';
import type { KeyGroupSnapshot, SubtaskSnapshot } from '../../../lib/checkpoint/snapshot.ts';
import { CheckpointStorage } from '../../../lib/checkpoint/storage.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';
import { FakeDisk, instantFileSystem, type SeededRandom, seededRandom } from '../../../lib/testing/index.ts';
import { filesBelow } from '../../unit/checkpoint/support/ports.ts';
import { bytes, nothing, sampleInfo, text } from '../../unit/checkpoint/support/samples.ts';

const root = '/state/job';
const parallelism = 2;
const dead = new Error('the process is dead');

/** A process that dies at its `lifespan`-th call: that call happens or not, and every later one fails without effect. */
function mortal(files: FileSystem, lifespan: number, isLastDone: boolean): FileSystem {
  let calls = 0;
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    calls++;
    if (calls > lifespan || (calls === lifespan && !isLastDone)) throw dead;
    const result = await work();
    if (calls === lifespan) throw dead;
    return result;
  };
  const wrapped: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(files) as [string, (...a: unknown[]) => Promise<unknown>][]) {
    wrapped[name] = (...args: unknown[]) => around(() => method(...args));
  }
  wrapped.createFile = (path: string) =>
    around(async () => {
      const file = await files.createFile(path);
      return {
        append: (b: Uint8Array) => around(() => file.append(b)),
        sync: () => around(() => file.sync()),
        close: () => around(() => file.close()),
      };
    });
  return wrapped as unknown as FileSystem;
}

function snapshotOf(checkpoint: number, subtask: number, groupBytes: number): SubtaskSnapshot {
  const groups = [0, 1, 2, 3].map(
    (i): KeyGroupSnapshot => ({ group: subtask * 4 + i, bytes: new Uint8Array(groupBytes).fill(checkpoint) }),
  );
  return {
    stage: 0,
    subtask,
    operators: [
      { uid: 'counts', ...nothing, keyed: { states: [{ name: 'n', kind: 'value', version: 0 }], groups } },
      { uid: 'out', ...nothing, sink: { state: bytes('s'), transactions: [bytes(`t${checkpoint}/${subtask}`)] } },
    ],
  };
}

/** What was answered to the job, over all its lives. */
interface Known {
  generation: number;
  begun: number;
  completed: number;
  /** Asked to be complete, answered or not. */
  readonly asked: Set<number>;
  readonly announced: Map<number, string[]>;
  readonly given: Set<number>;
}

async function live(files: FileSystem, known: Known, random: SeededRandom, checkpoints: number): Promise<CheckpointStorage> {
  const attempt = await openAttempt(files, root, { owner: 'me' });
  expect(attempt.generation).toBeGreaterThan(known.generation);
  known.generation = attempt.generation;
  const storage = new CheckpointStorage({
    files,
    path: attempt.path,
    job: 'job',
    generation: attempt.generation,
    backend: { kind: random.chance(0.5) ? 'memory' : 'filesystem' },
  });
  await storage.open();
  const { checkpoint, notices } = await storage.load('latest');
  expect(notices).toEqual([]);
  const latest = checkpoint?.metadata.checkpoint ?? 0;
  expect(latest, 'a completed checkpoint was lost').toBeGreaterThanOrEqual(known.completed);
  if (latest > known.completed) expect(known.asked.has(latest), 'a checkpoint completed by itself').toBe(true);
  expect(known.given.has(latest), 'a checkpoint that was given up is back').toBe(false);
  known.completed = latest;
  if (checkpoint !== undefined) {
    const { operators } = await storage.readSubtask(checkpoint, ['counts'], { subtask: 0, parallelism: 1, maxParallelism: 8 });
    const groups = operators[0]!.keyed.flatMap((k) => k.groups);
    expect(groups.map((g) => g.group)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(groups.every((g) => g.bytes.every((b) => b === latest))).toBe(true);
  }
  const abandoned = (await storage.abandonedTransactions(checkpoint)).map((t) => text(t.transaction));
  for (const [n, names] of known.announced)
    if (n > latest) expect(abandoned, 'a noted transaction was forgotten').toEqual(expect.arrayContaining(names));
  for (let i = 0; i < checkpoints; i++) await takeOne(storage, known, random);
  return storage;
}

async function takeOne(storage: CheckpointStorage, known: Known, random: SeededRandom): Promise<void> {
  const n = storage.nextNumber();
  expect(n, 'a number was used twice').toBeGreaterThan(known.begun);
  await storage.begin(n);
  known.begun = n;
  const handles = [];
  for (let subtask = 0; subtask < parallelism; subtask++) {
    const names = [`t${n}/${subtask}`];
    await storage.announce(n, { stage: 0, subtask, uid: 'out', transactions: names.map(bytes) });
    known.announced.set(n, [...(known.announced.get(n) ?? []), ...names]);
    handles.push(await storage.storeSubtask(n, snapshotOf(n, subtask, random.chance(0.5) ? 10 : 8_000)));
  }
  if (random.chance(0.3)) {
    await storage.discard(n);
    known.given.add(n);
    return;
  }
  known.asked.add(n);
  await storage.complete(n, handles, sampleInfo({ parallelism }));
  known.completed = n;
  await storage.subsume(1 + random.below(2));
}

async function lives(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const disk = new FakeDisk();
  const files = instantFileSystem(disk);
  const known: Known = { generation: 0, begun: 0, completed: 0, asked: new Set(), announced: new Map(), given: new Set() };
  for (let life = 0; life < 5; life++) {
    try {
      await live(mortal(files, 1 + random.below(160), random.chance(0.5)), known, random, 4);
    } catch (e) {
      if (e !== dead) throw e;
    }
    if (random.chance(0.5)) disk.powerCut(random);
    else disk.releaseLocks('auditor');
    if (random.chance(0.2)) disk.syncEverything();
  }
  const storage = await live(files, known, random, 1);
  while (known.completed !== known.begun) await takeOne(storage, known, random);
  await storage.subsume(1);
  const left = (await filesBelow(files, storage.path)).filter((f) => !f.startsWith('owner-') && !f.startsWith(`chk-${known.completed}/`));
  expect(left).toEqual(['numbers']);
}

test.each(Array.from({ length: 10 }, (_, i) => i))(
  'a crash at any call loses no promise and brings nothing back (seeds %i of 10)',
  async (part) => {
    for (let seed = part * 100; seed < part * 100 + 100; seed++) {
      await lives(seed).catch((e: unknown) => {
        throw new Error(`seed ${seed}: ${e instanceof Error ? e.message : e}`, { cause: e });
      });
    }
  },
);
