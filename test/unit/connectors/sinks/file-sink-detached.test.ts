import { describe, expect, test } from 'vitest';
import type { DetachedContext, Sink } from '../../../../lib/api/sink.ts';
import { csv } from '../../../../lib/connectors/formats/csv.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { type FileSinkOptions, fileSink } from '../../../../lib/connectors/sinks/file-sink.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { type FakeDisk, fakeFileSystem, seededRandom } from '../../../../lib/testing/index.ts';
import { contextOf, prepare, transactional, transactionOf } from '../support/detached.ts';
import { diskOf } from '../support/reading.ts';
import { attempt, batch, hidden, joinedText, visible } from '../support/sinks.ts';

const sink = (o: Partial<FileSinkOptions<string>> = {}): Sink<string> => fileSink<string>({ path: '/out', format: lines(), ...o });

const atOnce = (files: FileSystem, o: Partial<DetachedContext> = {}): DetachedContext => contextOf({ files, ...o });

/** Files of one process that may stop: before its call number `stopsAt` it waits until it is let go on. */
function stoppable(disk: FakeDisk, stopsAt: number): { readonly files: FileSystem; readonly calls: () => number; goOn(): void } {
  let calls = 0;
  let goOn = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const call = async <T>(_method: string, _place: string, effect: (fraction: number) => T): Promise<T> => {
    if (calls++ === stopsAt) await stopped;
    return effect(1);
  };
  return { files: fakeFileSystem({ name: `stops at ${stopsAt}`, random: seededRandom(1), call }, disk), calls: () => calls, goOn };
}

async function callsOfCommit(o: Partial<FileSinkOptions<string>>): Promise<number> {
  const { disk, files } = diskOf({});
  const prepared = await prepare(sink(o), atOnce(files), t);
  const counting = stoppable(disk, -1);
  await transactional(sink(o)).commit(atOnce(counting.files), t, prepared);
  return counting.calls();
}

const t = transactionOf(['a', 'b', 'c'], { opened: 6 });
const inThree: Partial<FileSinkOptions<string>> = { rollBytes: 2 };
const namesOf: readonly (readonly [string, Partial<FileSinkOptions<string>>, readonly string[]])[] = [
  ['one part', {}, ['part-0-0000000007.txt']],
  ['three parts', inThree, ['part-0-0000000007.000001.txt', 'part-0-0000000007.000002.txt', 'part-0-0000000007.000003.txt']],
];

describe('D1: names and cuts derive from the transaction alone', () => {
  test.each(namesOf)('%s', async (_what, o, names) => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(o), atOnce(files), t);
    expect(visible(disk)).toEqual([]);
    await transactional(sink(o)).commit(atOnce(files), t, prepared);
    expect(visible(disk)).toEqual(names);
    expect(joinedText(disk)).toBe('a\nb\nc\n');
  });

  test('the order of names is the order of rows, over checkpoints of any length of number', async () => {
    const { disk, files } = diskOf({});
    for (const checkpoint of [9, 10, 99, 100]) {
      const one = transactionOf([String(checkpoint)], { opened: checkpoint - 1 });
      await transactional(sink()).commit(atOnce(files), one, await prepare(sink(), atOnce(files), one));
    }
    expect(joinedText(disk)).toBe('9\n10\n99\n100\n');
  });

  test('a part is closed behind the row that filled it, and every part has the head of its format', async () => {
    const { disk, files } = diskOf({});
    const rolling = fileSink<{ a: string }>({ path: '/out', format: csv({ header: true, columns: { a: 'string' } }), rollBytes: 6 });
    const three = transactionOf([{ a: 'xx' }, { a: 'yyyyyyyy' }, { a: 'zz' }]);
    await transactional(rolling).commit(atOnce(files), three, await prepare(rolling, atOnce(files), three));
    expect(visible(disk).map((name) => disk.text(`/out/${name}`))).toEqual(['a\nxx\nyyyyyyyy\n', 'a\nzz\n']);
  });

  test('a change of the sink between prepare and commit does not change the parts', async () => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(), atOnce(files), t);
    await transactional(sink(inThree)).commit(atOnce(files), t, prepared);
    expect(visible(disk)).toEqual(['part-0-0000000007.txt']);
  });

  test('parts of an earlier run stay, and new ones are numbered above them', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(() => sink() as never, { files });
    await writer!.write(batch('old'));
    await writer!.prepare(1);
    await writer!.commit(1);
    const first = transactionOf(['new']);
    await transactional(sink()).commit(atOnce(files), first, await prepare(sink(), atOnce(files), first));
    expect(joinedText(disk)).toBe('old\nnew\n');
    expect(visible(disk)).toEqual(['part-0-0000000001.txt', 'part-0-0000000002.txt']);
  });

  test('rollEvery is told to have no effect', async () => {
    const told: string[] = [];
    const { files } = diskOf({});
    await transactional(sink({ rollEvery: '1 min' })).start!(atOnce(files, { report: (line) => told.push(line) }));
    expect(told).toEqual([
      'out: rollEvery has no effect here: the parts of a checkpoint are written when it has completed, none is open before',
    ]);
  });

  test('a directory that cannot be written is told when the sink looks at it', async () => {
    const { files } = diskOf({ '/out': 'a file' });
    await expect(prepare(sink(), atOnce(files), t)).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITABLE' });
  });
});

describe('D2: a part is visible whole, durable and once', () => {
  test.each(namesOf)('C01: a commit whose reply was lost changes nothing when it is made again (%s)', async (_what, o, names) => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(o), atOnce(files), t);
    for (let i = 0; i < 3; i++) await transactional(sink(o)).commit(atOnce(files), t, prepared);
    expect(visible(disk)).toEqual(names);
    expect(hidden(disk)).toEqual(['/out/.sluice-late-flights-out-detached/1.0.6.7.1000.done']);
  });

  test.each(namesOf)('C07: after a kill before any call of a commit the next one makes the same parts (%s)', async (_what, o, names) => {
    const calls = await callsOfCommit(o);
    expect(calls).toBeGreaterThan(10);
    for (let stopsAt = 0; stopsAt < calls; stopsAt++) {
      const { disk, files } = diskOf({});
      const prepared = await prepare(sink(o), atOnce(files), t);
      const killed = stoppable(disk, stopsAt);
      void transactional(sink(o)).commit(atOnce(killed.files), t, prepared);
      await turns();
      expect(['', 'a\n', 'a\nb\n', 'a\nb\nc\n'], `call ${stopsAt}`).toContain(joinedText(disk));
      await transactional(sink(o)).commit(atOnce(files), t, prepared);
      expect(visible(disk), `call ${stopsAt}`).toEqual(names);
      expect(joinedText(disk), `call ${stopsAt}`).toBe('a\nb\nc\n');
      expect(hidden(disk), `call ${stopsAt}`).toHaveLength(1);
    }
  });

  test.each(namesOf)('what was committed survives a power cut (%s)', async (_what, o) => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(o), atOnce(files), t);
    await transactional(sink(o)).commit(atOnce(files), t, prepared);
    disk.powerCut({ bits: () => 0, chance: () => false, below: () => 0 } as never);
    expect(joinedText(disk)).toBe('a\nb\nc\n');
  });

  test.each(namesOf)('C03: two commits at once make each part once, in any order of their calls (%s)', async (_what, o, names) => {
    for (let seed = 1; seed <= 200; seed++) {
      const { disk, files } = diskOf({});
      const prepared = await prepare(sink(o), atOnce(files), t);
      await interleaved(disk, seed, (each) => transactional(sink(o)).commit(atOnce(each), t, prepared));
      expect(visible(disk), `seed ${seed}`).toEqual(names);
      expect(joinedText(disk), `seed ${seed}`).toBe('a\nb\nc\n');
      await transactional(sink(o)).commit(atOnce(files), t, prepared);
    }
  });

  test('a foreign file under the name of a part is told, left alone, and the commit goes through once it is gone', async () => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(), atOnce(files), t);
    disk.append(disk.create('/out/part-0-0000000007.txt', 'somebody'), Buffer.from('foreign'));
    const commit = (): unknown => transactional(sink()).commit(atOnce(files), t, prepared);
    await expect(commit()).rejects.toMatchObject({ code: 'OUTPUT_CONFLICT' });
    expect(joinedText(disk)).toBe('foreign');
    expect(hidden(disk)).toEqual([]);
    disk.unlink('/out/part-0-0000000007.txt', 'somebody');
    await commit();
    expect(joinedText(disk)).toBe('a\nb\nc\n');
  });
});

describe('D3: a part that was carried away does not come back', () => {
  test.each(namesOf)('by a commit that was left behind before any of its calls (%s)', async (_what, o, names) => {
    const calls = await callsOfCommit(o);
    for (let stopsAt = 0; stopsAt < calls; stopsAt++) {
      const { disk, files } = diskOf({});
      const prepared = await prepare(sink(o), atOnce(files), t);
      const zombie = stoppable(disk, stopsAt);
      const late = transactional(sink(o)).commit(atOnce(zombie.files), t, prepared);
      await turns();
      await transactional(sink(o)).commit(atOnce(files), t, prepared);
      expect(visible(disk), `call ${stopsAt}`).toEqual(names);
      for (const name of names) disk.unlink(`/out/${name}`, 'consumer');
      zombie.goOn();
      await late;
      expect(visible(disk), `call ${stopsAt}`).toEqual([]);
    }
  });

  test('after a power cut either, since the marker is durable before the commit is done', async () => {
    const { disk, files } = diskOf({});
    const prepared = await prepare(sink(), atOnce(files), t);
    await transactional(sink()).commit(atOnce(files), t, prepared);
    disk.powerCut({ bits: () => 0, chance: () => false, below: () => 0 } as never);
    disk.unlink('/out/part-0-0000000007.txt', 'consumer');
    await transactional(sink()).commit(atOnce(files), t, prepared);
    expect(visible(disk)).toEqual([]);
  });

  test('markers go after a day', async () => {
    const { disk, files } = diskOf({});
    const day = 24 * 60 * 60 * 1000;
    for (const [opened, now] of [
      [1, 0],
      [2, day],
      [3, day + 1],
    ] as const) {
      const each = transactionOf(['a'], { opened, timestamp: now });
      const ctx = atOnce(files, { clock: { ...contextOf().clock, now: () => now } });
      await transactional(sink()).commit(ctx, each, await prepare(sink(), ctx, each));
    }
    expect(hidden(disk).map((path) => path.split('/').at(-1))).toEqual([`1.0.2.3.${day}.done`, `1.0.3.4.${day + 1}.done`]);
  });

  test('the embedded runtime leaves the markers alone', async () => {
    const { disk, files } = diskOf({});
    await transactional(sink()).commit(atOnce(files), t, await prepare(sink(), atOnce(files), t));
    await attempt(() => sink() as never, { files, generation: 5 });
    expect(hidden(disk).some((path) => path.endsWith('.done'))).toBe(true);
  });
});

async function turns(): Promise<void> {
  for (let i = 0; i < 300; i++) await Promise.resolve();
}

/** Two processes do the same; the seed decides whose call is next. */
async function interleaved(disk: FakeDisk, seed: number, work: (files: FileSystem) => unknown): Promise<void> {
  const random = seededRandom(seed);
  const waiting: (() => void)[] = [];
  const filesOf = (name: string): FileSystem => {
    const call = async <T>(_method: string, _place: string, effect: (fraction: number) => T): Promise<T> => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return effect(1);
    };
    return fakeFileSystem({ name, random, call }, disk);
  };
  const done = Promise.all([work(filesOf('one')), work(filesOf('other'))]);
  let isDone = false;
  void done.then(
    () => {
      isDone = true;
    },
    () => {
      isDone = true;
    },
  );
  while (!isDone) {
    await turns();
    waiting.splice(random.below(waiting.length), 1)[0]?.();
  }
  await done;
}
