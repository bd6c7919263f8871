import { describe, expect, test } from 'vitest';
import type { Prepared, SinkWriter } from '../../../lib/api/sink.ts';
import { lines } from '../../../lib/connectors/formats/lines.ts';
import { fileSink } from '../../../lib/connectors/sinks/file-sink.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';
import { fakeFileSystem } from '../../../lib/testing/fake-file-system.ts';
import { FakeDisk, type SeededRandom, seededRandom } from '../../../lib/testing/index.ts';
import { attempt, batch, hidden, joinedText, type KeptSink, keep, nothingKept, visible } from '../../unit/connectors/support/sinks.ts';

// A life of a file sink: rows 0, 1, 2 … arrive, barriers pass, checkpoints complete or are aborted, commits follow. In the middle of some
// call to the disk the process is killed or the machine loses power; a fresh sink then recovers from what the last completed checkpoint
// kept, and the rows come again from its position. Whatever happened, the visible rows are those of the completed checkpoints, once.

type Death = 'kill before' | 'kill after' | 'power cut';

/** The disk of one process that dies at its k-th call. A dead process hears nothing, and its calls do nothing. */
function mortal(disk: FakeDisk, random: SeededRandom, diesAt: number, death: Death): { readonly files: FileSystem; calls: () => number } {
  let calls = 0;
  const call = async <T>(_method: string, _place: string, effect: (fraction: number) => T): Promise<T> => {
    calls++;
    if (calls > diesAt) throw new Error('dead');
    if (calls === diesAt) {
      if (death !== 'kill before') effect(death === 'kill after' ? 1 : random.below(100) / 100);
      if (death === 'power cut') disk.powerCut(random);
      throw new Error('dead');
    }
    return effect(1);
  };
  return { files: fakeFileSystem({ name: 'process', random, call }, disk), calls: () => calls };
}

/** What lies outside the sink and survives: the last completed checkpoint, and the row it had come to. */
interface Outside {
  kept: KeptSink;
  row: number;
  checkpoint: number;
}

const create = () => fileSink<string>({ path: '/home/job/out', format: lines(), rollBytes: 12 });

async function run(
  files: FileSystem,
  random: SeededRandom,
  outside: Outside,
  p: { generation: number; parallelism: number; rows: number },
): Promise<void> {
  const writers = await attempt(create as never, { files, generation: p.generation, parallelism: p.parallelism, from: outside.kept });
  let row = outside.row;
  while (row < p.rows) {
    const end = Math.min(p.rows, row + 1 + random.below(6));
    for (const [subtask, writer] of writers.entries()) {
      const own: string[] = [];
      for (let r = row; r < end; r++) if (r % p.parallelism === subtask) own.push(String(r));
      await writer.write(batch(...own));
    }
    row = end;
    if (row === p.rows || random.chance(0.5)) await checkpoint(writers, random, outside, row, row === p.rows);
  }
  for (const writer of writers) await writer.close();
}

async function checkpoint(
  writers: readonly SinkWriter[],
  random: SeededRandom,
  outside: Outside,
  row: number,
  isLast: boolean,
): Promise<void> {
  const number = ++outside.checkpoint;
  const prepared: Prepared[] = [];
  for (const writer of writers) prepared.push(await writer.prepare(number));
  if (!isLast && random.chance(0.3)) return; // aborted
  outside.kept = keep(number, prepared);
  outside.row = row;
  if (!isLast && random.chance(0.2)) return; // the notification is late: the next one covers it
  for (const writer of writers) await writer.commit(number);
}

/** Runs one life with deaths at the given calls, one a process, and looks at the disk after each. */
async function live(
  seed: number,
  deaths: readonly { readonly at: number; readonly death: Death }[],
  parallelisms: readonly number[],
): Promise<number> {
  const random = seededRandom(seed);
  const disk = new FakeDisk();
  const outside: Outside = { kept: nothingKept, row: 0, checkpoint: 0 };
  const rows = 30;
  for (let i = 0; ; i++) {
    const planned = deaths[i] ?? { at: Number.POSITIVE_INFINITY, death: 'kill before' };
    const process = mortal(disk, random, planned.at, planned.death);
    const parallelism = parallelisms[i % parallelisms.length]!;
    try {
      await run(process.files, random, outside, { generation: i + 1, parallelism, rows });
      expectRows(disk, rows, parallelisms, 'exactly');
      expect(hidden(disk, '/home/job/out')).toEqual([]);
      return process.calls();
    } catch (e) {
      if (process.calls() < planned.at) throw e; // not of the death, however the sink told it
      expectRows(disk, outside.row, parallelisms, 'at most');
    }
  }
}

function expectRows(disk: FakeDisk, upTo: number, parallelisms: readonly number[], how: 'exactly' | 'at most'): void {
  const text = joinedText(disk, '/home/job/out');
  const seen = text === '' ? [] : text.trim().split('\n').map(Number);
  const sorted = [...seen].sort((a, b) => a - b);
  const expected = Array.from({ length: upTo }, (_, i) => i);
  expect(new Set(seen).size, 'a row is visible twice').toBe(seen.length);
  if (how === 'exactly') expect(sorted).toEqual(expected);
  else expect(expected).toEqual(expect.arrayContaining(sorted));
  if (parallelisms.every((p) => p === 1)) expect(seen, 'names are not in the order of rows').toEqual(sorted);
  for (const name of visible(disk, '/home/job/out')) {
    const part = disk.text(`/home/job/out/${name}`).trim().split('\n').map(Number);
    expect(part).toEqual([...part].sort((a, b) => a - b));
  }
}

describe('fileSink, dying at any call to the disk', () => {
  test.each<Death>(['kill before', 'kill after', 'power cut'])(
    'at parallelism 1, by %s: the joined parts are the rows of completed checkpoints, in order',
    async (death) => {
      const calls = await live(1, [], [1]);
      expect(calls).toBeGreaterThan(60);
      for (let at = 1; at <= calls; at++) {
        await live(1, [{ at, death }], [1]);
      }
    },
  );

  test.each<Death>(['kill before', 'kill after', 'power cut'])(
    'at changing parallelism, by %s: every row is visible once',
    async (death) => {
      const calls = await live(2, [], [3]);
      for (let at = 1; at <= calls; at++) await live(2, [{ at, death }], [3, 1, 2]);
    },
  );

  test('a recovery that dies itself, again and again, ends as if it had not', async () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = seededRandom(seed * 7_919);
      const kinds = ['kill before', 'kill after', 'power cut'] as const;
      const deaths = Array.from({ length: 1 + random.below(5) }, () => ({
        at: 1 + random.below(random.chance(0.5) ? 25 : 150),
        death: kinds[random.below(3)]!,
      }));
      const parallelisms = random.chance(0.5) ? [1] : [1 + random.below(3), 1 + random.below(3)];
      await live(seed, deaths, parallelisms).catch((e: unknown) => {
        throw new Error(`seed ${seed}`, { cause: e });
      });
    }
  });
});
