import { describe, expect, test } from 'vitest';
import type { SplitPosition } from '../../../../lib/api/source.ts';
import { csv } from '../../../../lib/connectors/formats/csv.ts';
import { jsonArray } from '../../../../lib/connectors/formats/json-array.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { files } from '../../../../lib/connectors/sources/files.ts';
import { diskOf, readAll, readSource, sourceContext } from '../support/reading.ts';

const enumerate = async (path: string, contents: Readonly<Record<string, string>>): Promise<readonly string[]> =>
  (await files({ path, format: ndjson() }).enumerate(sourceContext(diskOf(contents).files))).map((s) => s.id);

describe('S1: which files a path means', () => {
  test('a file is one split', async () => {
    expect(await enumerate('/in/a.json', { '/in/a.json': '1' })).toEqual(['/in/a.json']);
  });

  test('a directory is every file below it, sorted by path, without hidden and unfinished names', async () => {
    const contents = {
      '/in/b': '',
      '/in/a/z': '',
      '/in/a0': '',
      '/in/.hidden': '',
      '/in/_SUCCESS': '',
      '/in/.d/x': '',
      '/in/_tmp/x': '',
      '/in/A': '',
    };
    expect(await enumerate('/in', contents)).toEqual(['/in/A', '/in/a/z', '/in/a0', '/in/b']);
  });

  test('an empty directory has no splits', async () => {
    expect(await enumerate('/in', { '/in/.keep': '' })).toEqual([]);
  });

  test('a pattern matches names in any part of the path', async () => {
    const contents = {
      '/in/2026-01/a.json': '',
      '/in/2026-02/b.json': '',
      '/in/2026-02/b.csv': '',
      '/in/2025-12/a.json': '',
      '/in/2026-02/.c.json': '',
    };
    expect(await enumerate('/in/2026-*/*.json', contents)).toEqual(['/in/2026-01/a.json', '/in/2026-02/b.json']);
    expect(await enumerate('/in/2026-0?', contents)).toEqual(['/in/2026-01/a.json', '/in/2026-02/b.csv', '/in/2026-02/b.json']);
    expect(await enumerate('/in/*b*/*', { '/in/abc/x': '', '/in/ac/x': '' })).toEqual(['/in/abc/x']);
  });

  test.each([
    ['/in/missing', /no such file/],
    ['/in/*.csv', /no file matches/],
    ['/in/**/x', /'\*\*' is not understood/],
    ['', /empty/],
  ])('%s is INPUT_NOT_FOUND before any work starts', async (path, message) => {
    const failure = enumerate(path, { '/in/a.json': '' });
    await expect(failure).rejects.toMatchObject({ code: 'INPUT_NOT_FOUND', message: expect.stringMatching(message) });
  });

  test('a file that cannot be opened is INPUT_NOT_FOUND, with the cause', async () => {
    const { files: disk } = diskOf({ '/in/a': '1' });
    const refused = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    const ctx = sourceContext({ ...disk, openReader: () => Promise.reject(refused) });
    await expect(files({ path: '/in', format: ndjson() }).enumerate(ctx)).rejects.toMatchObject({
      code: 'INPUT_NOT_FOUND',
      cause: refused,
    });
  });

  test('splits and positions are plain data', async () => {
    const { files: disk } = diskOf({ '/in/a': 'x\n1\n2\n' });
    const source = files({ path: '/in', format: csv() });
    const [split] = await source.enumerate(sourceContext(disk));
    const copy = JSON.parse(JSON.stringify(split));
    const reader = source.open(copy, undefined, sourceContext(disk));
    const { positions } = await readAll(reader, 1);
    const from = JSON.parse(JSON.stringify(positions[0])) as SplitPosition;
    expect((await readAll(source.open(copy, from, sourceContext(disk)))).records).toEqual([{ x: '2' }]);
  });
});

describe('byte ranges', () => {
  test('only formats whose records are lines can be cut, and not into crumbs', () => {
    for (const format of [jsonArray(), csv()]) {
      expect(() => files({ path: 'x', format, splitSize: '1 MiB' })).toThrow(expect.objectContaining({ code: 'SPLIT_SIZE_INVALID' }));
    }
    for (const splitSize of [1_000, '1 KiB', '0.5 MiB', '64 MB', Number.NaN] as never[]) {
      expect(() => files({ path: 'x', format: lines(), splitSize })).toThrow(expect.objectContaining({ code: 'SPLIT_SIZE_INVALID' }));
    }
  });

  test('a range owns the lines that begin in it', async () => {
    const line = `${'x'.repeat(49_999)}\n`; // 50,000 bytes: the second of four begins in the first range of 65,536 and ends in the next
    const { files: disk } = diskOf({ '/in/a': line.repeat(4) });
    const parts = await readSource(files({ path: '/in/a', format: lines(), splitSize: '64 KiB' }), sourceContext(disk));
    expect(parts.map((p) => [p.split.id, p.records.length])).toEqual([
      ['/in/a@0', 2],
      ['/in/a@65536', 1],
      ['/in/a@131072', 1],
      ['/in/a@196608', 0],
    ]);
  });

  test('a line that begins exactly where a range does belongs to it', async () => {
    const line = `${'x'.repeat(65_535)}\n`;
    const { files: disk } = diskOf({ '/in/a': line.repeat(3) });
    const parts = await readSource(files({ path: '/in/a', format: lines(), splitSize: 65_536 }), sourceContext(disk));
    expect(parts.map((p) => p.records.length)).toEqual([1, 1, 1]);
  });

  test('a malformed line in a range says from where lines are counted', async () => {
    const { files: disk } = diskOf({ '/in/a': `${'1\n'.repeat(40_000)}x\n` });
    const failure = readSource(files({ path: '/in/a', format: ndjson(), splitSize: '64 KiB' }), sourceContext(disk));
    await expect(failure).rejects.toMatchObject({
      code: 'MALFORMED_RECORD',
      message: expect.stringContaining('of those from byte 65536 on'),
    });
  });
});

describe('a file that changes while the job runs', () => {
  test('what is appended later is not read', async () => {
    const { disk, files: port } = diskOf({ '/in/a': '1\n2\n' });
    const source = files({ path: '/in/a', format: ndjson() });
    const [split] = await source.enumerate(sourceContext(port));
    disk.append(disk.file('/in/a', 'open'), Buffer.from('3\n'));
    expect((await readAll(source.open(split!, undefined, sourceContext(port)))).records).toEqual([1, 2]);
  });

  test('one that is gone or has shrunk is INPUT_CHANGED, so nothing is missing without a word', async () => {
    const { disk, files: port } = diskOf({ '/in/a': '1\n2\n', '/in/b': '1\n' });
    const source = files({ path: '/in', format: ndjson() });
    const splits = await source.enumerate(sourceContext(port));
    disk.unlink('/in/a', 'test');
    await expect(readAll(source.open(splits[0]!, undefined, sourceContext(port)))).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
    await expect(readAll(source.open({ ...splits[1]!, bytes: 5, limit: 5 }, undefined, sourceContext(port)))).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
    });
  });
});

describe('S3: poll never waits', () => {
  test('poll gives nothing until something is loaded, and ready tells when', async () => {
    const { files: port } = diskOf({ '/in/a': '1\n2\n' });
    const source = files({ path: '/in/a', format: ndjson() });
    const [split] = await source.enumerate(sourceContext(port));
    const whole = { read: async () => port.readFile('/in/a'), close: async () => undefined };
    const reader = source.open(split!, undefined, sourceContext({ ...port, openReader: async () => whole }));
    const out = { values: [] as unknown[], count: 0, side: () => undefined };
    expect(reader.poll(out, 10)).toBe(0);
    expect(reader.hasEnded).toBe(false);
    await reader.ready();
    expect(reader.ready()).toBeUndefined();
    expect(reader.poll(out, 1)).toBe(1);
    expect(reader.poll(out, 10)).toBe(1);
    expect(reader.hasEnded).toBe(true);
    expect(reader.ready()).toBeUndefined();
    await reader.close();
  });

  test('a failed read is told by ready and by poll, and is never an unhandled rejection', async () => {
    const { files: port } = diskOf({ '/in/a': '1\n2\n' });
    const broken = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    const source = files({ path: '/in/a', format: ndjson() });
    const [split] = await source.enumerate(sourceContext(port));
    const ctx = sourceContext({ ...port, openReader: async () => ({ read: () => Promise.reject(broken), close: async () => undefined }) });
    const reader = source.open(split!, undefined, ctx);
    const out = { values: [] as unknown[], count: 0, side: () => undefined };
    reader.poll(out, 10);
    await expect(reader.ready()).rejects.toBe(broken);
    expect(() => reader.poll(out, 10)).toThrow(broken);
    await reader.close();
  });

  test('closing while a file is being opened closes it', async () => {
    const { files: port } = diskOf({ '/in/a': '1\n' });
    let closed = 0;
    let opened = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      opened = resolve;
    });
    const source = files({ path: '/in/a', format: ndjson() });
    const [split] = await source.enumerate(sourceContext(port));
    const ctx = sourceContext({
      ...port,
      openReader: async () => {
        await gate;
        return { read: async () => new Uint8Array(0), close: async () => void closed++ };
      },
    });
    const reader = source.open(split!, undefined, ctx);
    const ready = reader.ready();
    await reader.close();
    opened();
    await ready;
    expect(closed).toBe(1);
  });
});
