import { describe, expect, test } from 'vitest';
import type { Sink } from '../../../../lib/api/sink.ts';
import { csv } from '../../../../lib/connectors/formats/csv.ts';
import { jsonArray } from '../../../../lib/connectors/formats/json-array.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { type FileSinkOptions, fileSink } from '../../../../lib/connectors/sinks/file-sink.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { diskError } from '../../../../lib/testing/index.ts';
import { diskOf } from '../support/reading.ts';
import { attempt, batch, contextOfGeneration, hidden, joinedText, keep, visible } from '../support/sinks.ts';

const sink =
  (o: Partial<FileSinkOptions<string>> = {}) =>
  (): Sink<never> =>
    fileSink<string>({ path: '/out', format: lines(), ...o });

describe('K1: rows between two barriers are one promise', () => {
  test('nothing is visible before the checkpoint completes, everything after', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a', 'b'));
    const prepared = await writer!.prepare(1);
    await writer!.write(batch('c'));
    expect(visible(disk)).toEqual([]);
    expect(prepared.transactions).toHaveLength(1);
    await writer!.commit(1);
    expect(visible(disk)).toEqual(['part-0-0000000001.txt']);
    expect(joinedText(disk)).toBe('a\nb\n');
  });

  test('no part is open across a barrier, and a barrier without rows makes no part', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    for (const [checkpoint, rows] of [
      ['1', ['a']],
      ['2', []],
      ['3', ['b', 'c']],
      ['4', []],
    ] as const) {
      await writer!.write(batch(...rows));
      await writer!.prepare(Number(checkpoint));
      await writer!.commit(Number(checkpoint));
    }
    expect(visible(disk).map((name) => disk.text(`/out/${name}`))).toEqual(['a\n', 'b\nc\n']);
    expect(hidden(disk)).toEqual([]);
  });

  test('a prepared part survives a power cut, bytes and name', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a', 'b'));
    const kept = keep(1, [await writer!.prepare(1)]);
    disk.powerCut({ bits: () => 0, chance: () => false, below: () => 0 } as never);
    await attempt(sink(), { files, generation: 2, from: kept });
    expect(joinedText(disk)).toBe('a\nb\n');
  });
});

test('parts are counted over the state of another sink that had the uid, such as one bound to a table before', async () => {
  const { disk, files } = diskOf({});
  for (const state of [1_700_000_000_000, undefined]) {
    const kept = keep(1, [{ state, transactions: [] }]);
    const [writer] = await attempt(sink(), { files, generation: state === undefined ? 3 : 2, from: kept });
    await writer!.write(batch('a'));
    await writer!.prepare(2);
    await writer!.commit(2);
  }
  expect(visible(disk)).toEqual(['part-0-0000000001.txt', 'part-0-0000000002.txt']);
});

describe('K2: commit makes everything prepared visible, in order', () => {
  test('twice is harmless, and so is a commit of something that was committed by somebody else', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    await writer!.commit(1);
    await writer!.commit(1);
    await attempt(sink(), { files, generation: 2, from: kept });
    expect(joinedText(disk)).toBe('a\n');
  });

  test('a failed commit is made good by the next try, from the middle on', async () => {
    const { disk, files } = diskOf({});
    let failures = 2;
    const failing: FileSystem = {
      ...files,
      syncDirectory: (path) =>
        path === '/out' && failures-- > 0 ? Promise.reject(diskError('EIO', 'fsync', path)) : files.syncDirectory(path),
    };
    failures = 0;
    const [writer] = await attempt(sink({ rollBytes: 1 }), { files: failing });
    failures = 2;
    await writer!.write(batch('a', 'b'));
    await writer!.prepare(1);
    await expect(writer!.commit(1)).rejects.toThrow('EIO');
    await writer!.write(batch('c'));
    const prepared = await writer!.prepare(2);
    expect(prepared.transactions).toHaveLength(3);
    await expect(writer!.commit(2)).rejects.toThrow('EIO');
    await writer!.commit(2);
    expect(joinedText(disk)).toBe('a\nb\nc\n');
    expect(hidden(disk)).toEqual([]);
  });

  test('it never overwrites: a foreign file with the name of a part is a conflict, and both files stay', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('ours'));
    await writer!.prepare(1);
    disk.append(disk.create('/out/part-0-0000000001.txt', 'other'), Buffer.from('theirs\n'));
    await expect(writer!.commit(1)).rejects.toMatchObject({ code: 'OUTPUT_CONFLICT', details: { path: '/out/part-0-0000000001.txt' } });
    expect(joinedText(disk)).toBe('theirs\n');
    disk.unlink('/out/part-0-0000000001.txt', 'other');
    await writer!.commit(1);
    expect(joinedText(disk)).toBe('ours\n');
  });

  test('an output directory that somebody removed is told and not taken for a commit', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    disk.removeTree('/out', 'somebody');
    await writer!.write(batch('a'));
    await expect(writer!.prepare(1)).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
  });
});

describe('K3: what an aborted checkpoint prepared stays prepared', () => {
  test('C06: it comes with the next checkpoint, in order, once', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    await writer!.prepare(1); // aborted: no commit follows
    await writer!.write(batch('b'));
    const second = await writer!.prepare(2);
    expect(second.transactions).toMatchObject([{ checkpoint: 1 }, { checkpoint: 2 }]);
    await writer!.commit(2);
    expect(joinedText(disk)).toBe('a\nb\n');
  });

  test('C05: an update before an aborted checkpoint and one after it are applied in that order', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(() => fileSink({ path: '/out', format: ndjson() }), { files });
    await writer!.write(batch({ key: 'K', value: 1 }));
    await writer!.prepare(1);
    await writer!.write(batch({ key: 'K', value: 2 }));
    await writer!.prepare(2);
    await writer!.commit(2);
    const upserted = new Map(
      joinedText(disk)
        .trim()
        .split('\n')
        .map((line) => Object.values(JSON.parse(line)) as [string, number]),
    );
    expect([...upserted]).toEqual([['K', 2]]);
  });

  test('a commit of an older checkpoint leaves the newer promise alone', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    await writer!.prepare(1);
    await writer!.write(batch('b'));
    await writer!.prepare(2);
    await writer!.commit(1);
    expect(joinedText(disk)).toBe('a\n');
  });
});

describe('K4: recover commits exactly what the checkpoint lists', () => {
  test('C07: five promised parts appear once after a cold start, from plain data alone', async () => {
    const { disk, files } = diskOf({});
    const writers = await attempt(sink(), { files, parallelism: 5 });
    for (const [i, writer] of writers.entries()) await writer.write(batch(`row ${i}`));
    const prepared = [];
    for (const writer of writers) prepared.push(await writer.prepare(1));
    const kept = keep(1, prepared);
    for (const writer of writers) await writer.write(batch('undone'));
    for (const writer of writers) await writer.prepare(2);
    await attempt(sink(), { files, generation: 2, from: kept, parallelism: 2 });
    await attempt(sink(), { files, generation: 3, from: kept, parallelism: 1 });
    expect(joinedText(disk)).toBe('row 0\nrow 1\nrow 2\nrow 3\nrow 4\n');
    expect(hidden(disk)).toEqual([]);
  });

  test('without a checkpoint everything staged is deleted', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    await writer!.prepare(1);
    await attempt(sink(), { files, generation: 2 });
    expect(disk.walk('/out')).toEqual([]);
  });

  test('leftovers of several dead attempts are found, and their promises kept', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    disk.makeDirectory('/out/.sluice-late-flights-out-2', 'dead');
    disk.create('/out/.sluice-late-flights-out-2/2.1.part-0-0000000002.txt', 'dead');
    disk.makeTree('/out/.sluice-late-flights-out-3/older-0', 'dead');
    await attempt(sink(), { files, generation: 4, from: kept });
    expect(disk.list('/out').map((e) => e.name)).toEqual(['.sluice-late-flights-out-4', 'part-0-0000000001.txt']);
    expect(hidden(disk)).toEqual([]);
  });

  test('staged files of another sink or job in the same directory are left alone', async () => {
    const { disk, files } = diskOf({
      '/out/.sluice-late-flights-out-x-1/a': '',
      '/out/.sluice-late-flights-2-out-1/a': '',
      '/out/.sluice-late-out-1/a': '',
    });
    await attempt(sink(), { files, generation: 2 });
    expect(hidden(disk)).toHaveLength(3);
  });

  test('the directory of a later run is left alone and told', async () => {
    const { disk, files } = diskOf({ '/out/.sluice-late-flights-out-7/7.0.part-0-0000000001.txt': 'x' });
    const told: string[] = [];
    await attempt(sink(), { files, generation: 1, report: (line) => told.push(line) });
    expect(hidden(disk)).toHaveLength(1);
    expect(told.join()).toContain('.sluice-late-flights-out-7');
  });
});

describe('a zombie', () => {
  test('an attempt that was taken over can neither stage nor show anything any more', async () => {
    const { disk, files } = diskOf({});
    const [zombie] = await attempt(sink(), { files });
    await zombie!.write(batch('a'));
    const kept = keep(1, [await zombie!.prepare(1)]);
    await zombie!.write(batch('zombie'));
    const [writer] = await attempt(sink(), { files, generation: 2, from: kept });
    await zombie!.commit(1);
    await zombie!.commit(1);
    await expect(zombie!.prepare(2)).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
    await zombie!.write(batch('again'));
    await expect(zombie!.prepare(3)).rejects.toMatchObject({ code: 'OUTPUT_TAKEN_OVER' });
    await writer!.write(batch('b'));
    await writer!.prepare(2);
    await writer!.commit(2);
    expect(joinedText(disk)).toBe('a\nb\n');
  });
});

describe('parts', () => {
  test('rollBytes closes a part behind the row that filled it', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink({ rollBytes: 6 }), { files });
    await writer!.write(batch('éé', 'b', 'c', 'defghijkl', 'm'));
    await writer!.prepare(1);
    await writer!.commit(1);
    expect(visible(disk).map((name) => disk.text(`/out/${name}`))).toEqual(['éé\nb\n', 'c\ndefghijkl\n', 'm\n']);
  });

  test('rollEvery closes a part when its first row is old enough', async () => {
    const { disk, files } = diskOf({});
    let now = 1_000;
    const [writer] = await attempt(sink({ rollEvery: '1 s' }), { files, now: () => now });
    for (const [at, row] of [
      [1_000, 'a'],
      [1_999, 'b'],
      [2_000, 'c'],
      [2_500, 'd'],
      [9_000, 'e'],
    ] as const) {
      now = at;
      await writer!.write(batch(row));
    }
    await writer!.prepare(1);
    await writer!.commit(1);
    expect(visible(disk).map((name) => disk.text(`/out/${name}`))).toEqual(['a\nb\n', 'c\nd\n', 'e\n']);
  });

  test('every part of a format with a header begins with it', async () => {
    const { disk, files } = diskOf({});
    const format = csv<{ a: string }>({ columns: { a: 'string' }, header: true });
    const [writer] = await attempt(() => fileSink({ path: '/out', format }), { files });
    for (const checkpoint of [1, 2]) {
      await writer!.write(batch({ a: String(checkpoint) }));
      await writer!.prepare(checkpoint);
    }
    await writer!.commit(2);
    expect(joinedText(disk)).toBe('a\n1\na\n2\n');
  });

  test('the order of names is the order of rows, also over restores and above counters of other subtasks', async () => {
    const { disk, files } = diskOf({});
    let writers = await attempt(sink(), { files, parallelism: 2 });
    for (const checkpoint of [1, 2, 3]) {
      await writers[1]!.write(batch(`1: ${checkpoint}`));
      for (const writer of writers) await writer.prepare(checkpoint);
      for (const writer of writers) await writer.commit(checkpoint);
    }
    const kept = keep(4, [await writers[0]!.prepare(4), await writers[1]!.prepare(4)]);
    writers = await attempt(sink(), { files, generation: 2, from: kept });
    await writers[0]!.write(batch('0'));
    await writers[0]!.prepare(5);
    await writers[0]!.commit(5);
    expect(visible(disk)).toEqual(['part-0-0000000004.txt', 'part-1-0000000001.txt', 'part-1-0000000002.txt', 'part-1-0000000003.txt']);
  });

  test('output that is newer than the restored checkpoint is kept, counted above and told', async () => {
    const { disk, files } = diskOf({});
    const [first] = await attempt(sink(), { files });
    await first!.write(batch('a'));
    const kept = keep(1, [await first!.prepare(1)]);
    await first!.commit(1);
    await first!.write(batch('b'));
    await first!.prepare(2);
    await first!.commit(2);
    const told: string[] = [];
    const [second] = await attempt(sink(), { files, generation: 2, from: kept, report: (line) => told.push(line) });
    expect(told).toEqual([expect.stringMatching(/1 part newer than checkpoint 1/)]);
    await second!.write(batch('b'));
    await second!.prepare(2);
    await second!.commit(2);
    expect(visible(disk)).toHaveLength(3);
  });

  test('a fresh start into a directory with parts adds to them and says so', async () => {
    const { disk, files } = diskOf({ '/out/part-0-0000000041.txt': 'old\n', '/out/part-x.txt': '', '/out/notes.md': '' });
    const told: string[] = [];
    const [writer] = await attempt(sink(), { files, report: (line) => told.push(line) });
    expect(told).toEqual([expect.stringMatching(/already holds 1 part of an earlier run/)]);
    await writer!.write(batch('new'));
    await writer!.prepare(1);
    await writer!.commit(1);
    expect(visible(disk)).toContain('part-0-0000000042.txt');
  });

  test('many rows are written in pieces between batches, and all of them arrive', async () => {
    const { disk, files } = diskOf({});
    let appends = 0;
    const counting: FileSystem = {
      ...files,
      createFile: async (path) => {
        const appender = await files.createFile(path);
        return {
          ...appender,
          append: (bytes) => {
            appends++;
            return appender.append(bytes);
          },
        };
      },
    };
    const [writer] = await attempt(sink(), { files: counting });
    const row = 'x'.repeat(99);
    for (let i = 0; i < 20; i++) await writer!.write(batch(...Array<string>(1_000).fill(row)));
    await writer!.prepare(1);
    await writer!.commit(1);
    expect(joinedText(disk)).toHaveLength(20 * 1_000 * 100);
    expect(appends).toBeGreaterThan(4);
    expect(appends).toBeLessThan(20);
  });
});

describe('when the disk fails', () => {
  const full = diskError('ENOSPC', 'write', '/out');

  /** Appends take `partial` bytes and then fail, as long as `isFull` says so. */
  function filling(files: FileSystem, isFull: () => boolean, partial: number): FileSystem {
    return {
      ...files,
      createFile: async (path) => {
        const appender = await files.createFile(path);
        return {
          ...appender,
          append: async (bytes) => {
            if (!isFull()) return appender.append(bytes);
            await appender.append(bytes.subarray(0, Math.min(partial, bytes.length)));
            throw full;
          },
        };
      },
    };
  }

  test.each([[0], [3], [1_000]])(
    'a disk that is full after %i bytes fails that checkpoint only: the next has all rows, once',
    async (partial) => {
      const { disk, files } = diskOf({});
      let isFull = true;
      const [writer] = await attempt(sink(), { files: filling(files, () => isFull, partial) });
      await writer!.write(batch('one', 'two'));
      await expect(writer!.prepare(1)).rejects.toBe(full);
      await writer!.write(batch('three'));
      await expect(writer!.prepare(2)).rejects.toBe(full);
      isFull = false;
      await writer!.write(batch('four'));
      await writer!.prepare(3);
      await writer!.commit(3);
      expect(joinedText(disk)).toBe('one\ntwo\nthree\nfour\n');
    },
  );

  test('a file whose creation failed with a lost answer is made again', async () => {
    const { disk, files } = diskOf({});
    let loses = true;
    const lossy: FileSystem = {
      ...files,
      createFile: async (path) => {
        const appender = await files.createFile(path);
        if (!loses) return appender;
        loses = false;
        throw diskError('EIO', 'open', path);
      },
    };
    const [writer] = await attempt(sink(), { files: lossy });
    await writer!.write(batch('a'));
    await expect(writer!.prepare(1)).rejects.toThrow('EIO');
    await writer!.prepare(2);
    await writer!.commit(2);
    expect(joinedText(disk)).toBe('a\n');
  });

  test('after a failed sync the part is never taken for durable: the attempt has to start over', async () => {
    const { files } = diskOf({});
    let failures = 1;
    const failing: FileSystem = {
      ...files,
      createFile: async (path) => {
        const appender = await files.createFile(path);
        return { ...appender, sync: () => (failures-- > 0 ? Promise.reject(diskError('EIO', 'fsync', path)) : appender.sync()) };
      },
    };
    const [writer] = await attempt(sink(), { files: failing });
    await writer!.write(batch('a'));
    await expect(writer!.prepare(1)).rejects.toMatchObject({ code: 'OUTPUT_NOT_DURABLE', next: 'recover-subtask' });
    await expect(writer!.prepare(2)).rejects.toMatchObject({ code: 'OUTPUT_NOT_DURABLE' });
  });
});

describe('before the job starts', () => {
  test('an output that cannot be written is OUTPUT_NOT_WRITABLE, with the cause', async () => {
    const { files } = diskOf({ '/file': '' });
    const refused = diskError('EACCES', 'open', '/out');
    const readOnly: FileSystem = { ...files, createDirectory: () => Promise.reject(refused) };
    await expect(attempt(sink(), { files: readOnly })).rejects.toMatchObject({
      code: 'OUTPUT_NOT_WRITABLE',
      cause: refused,
      details: { path: '/out' },
    });
    await expect(attempt(sink({ path: '/file' }), { files })).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITABLE' });
    await expect(attempt(sink({ path: '/file/out' }), { files })).rejects.toMatchObject({ code: 'OUTPUT_NOT_WRITABLE' });
  });

  test('wrong options are refused while the job is described', () => {
    expect(() => fileSink({ path: '/out', format: jsonArray() })).toThrow(expect.objectContaining({ code: 'FORMAT_NOT_WRITABLE' }));
    for (const o of [{ path: '' }, { rollBytes: 0 }, { rollBytes: 1.5 }, { rollEvery: 0 }] as const) {
      expect(sink(o)).toThrow(expect.objectContaining({ code: 'FILE_SINK_OPTIONS_INVALID' }));
    }
    expect(sink({ rollEvery: '1s' as never })).toThrow(expect.objectContaining({ code: 'DURATION_INVALID' }));
  });
});

describe('at the end', () => {
  test('discard gives up what is open and leaves what is prepared', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink({ rollBytes: 1 }), { files });
    await writer!.write(batch('a'));
    const kept = keep(1, [await writer!.prepare(1)]);
    await writer!.write(batch('b', 'c'));
    await writer!.discard();
    expect(hidden(disk)).toHaveLength(1);
    await attempt(sink(), { files, generation: 2, from: kept });
    expect(joinedText(disk)).toBe('a\n');
  });

  test('a finished job leaves nothing but parts', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    await writer!.prepare(1);
    await writer!.commit(1);
    await writer!.close();
    await fileSink({ path: '/out', format: lines() }).finish!(contextOfGeneration(files, 1));
    expect(disk.list('/out').map((e) => e.name)).toEqual(['part-0-0000000001.txt']);
  });

  test('finish keeps a directory in which something still lies', async () => {
    const { disk, files } = diskOf({});
    const [writer] = await attempt(sink(), { files });
    await writer!.write(batch('a'));
    await writer!.prepare(1);
    await fileSink({ path: '/out', format: lines() }).finish!(contextOfGeneration(files, 1));
    expect(hidden(disk)).toHaveLength(1);
  });
});
