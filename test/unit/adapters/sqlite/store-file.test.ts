import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jobsOfSqliteFile, openSqlitePorts, type SqlitePorts } from '../../../../lib/adapters/sqlite/sqlite-ports.ts';
import { StoreFile } from '../../../../lib/adapters/sqlite/store-file.ts';
import type { Clock } from '../../../../lib/core/ports.ts';

const bytes = new Uint8Array([1]);
const ring = { generation: 0, subtask: '1-0' };
let now = 1_000_000;
const clock: Clock = { now: () => now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };

let directory = '';
let path = '';
const opened: { close(): void }[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  path = join(directory, 'store.db');
});

afterEach(() => {
  for (const o of opened.splice(0)) o.close();
  rmSync(directory, { recursive: true, force: true });
});

function open(job = 'job', more: { readonly busyMs?: number } = {}): SqlitePorts {
  const ports = openSqlitePorts({ path, job, clock, synchronous: 'NORMAL', ...more });
  opened.push(ports);
  return ports;
}

/** The file, looked at from beside the adapter. */
function raw(): DatabaseSync {
  const db = new DatabaseSync(path);
  opened.push({ close: () => db.isOpen && db.close() });
  return db;
}

describe('a SQLite file of several jobs', () => {
  test('what was committed is there when the file is opened again', async () => {
    const first = open();
    await first.changelog.put({ ring, slot: 0, entry: { n: 0, writer: 'w', bytes }, expects: 'absent' });
    const put = await first.items.put({ name: 'job', content: { bytes, change: '' }, expects: 'absent' });
    first.close();
    first.close();
    const again = open();
    expect((await again.changelog.get({ ring, slot: 0 }))?.writer).toBe('w');
    expect(await again.items.get('job')).toMatchObject({ revision: put.kind === 'stored' ? put.revision : undefined });
  });

  test('asking which jobs a file has makes no file', () => {
    expect(jobsOfSqliteFile({ path })).toEqual([]);
    expect(existsSync(path)).toBe(false);
  });

  test('jobs of one file see nothing of each other', async () => {
    const [a, b] = [open('a'), open('b')];
    for (const [i, p] of [a, b].entries()) {
      expect(await p.items.put({ name: 'job', content: { bytes, change: 'c' }, expects: 'absent' })).toMatchObject({ kind: 'stored' });
      expect(await p.changelog.create({ ring, slot: 0, entry: { n: i, writer: 'w', bytes }, change: 'c' })).toBe('created');
      const address = { partition: 'p', sort: 's' };
      expect(await p.table.putMany([{ address, tags: `t${i}`, bytes, expects: 'absent' }])).toEqual(['stored']);
      expect(await p.objects.putIfAbsent('o', bytes)).toBe('stored');
      await p.exchange.send([{ group: 'g', id: 'same', bytes: new Uint8Array([i]) }]);
    }
    await a.items.put({ name: 'job', content: { bytes, change: 'other' }, expects: 'any' });
    expect(await b.changelog.create({ ring, slot: 0, entry: { n: 5, writer: 'w', bytes }, change: 'c' })).toBe('exists');
    const [delivery] = await b.exchange.receive({ max: 10 });
    expect(delivery?.bytes).toEqual(new Uint8Array([1]));
    await a.exchange.settle([delivery!.receipt]);
    await b.exchange.release({ receipts: [delivery!.receipt], delayMs: 0 });
    expect((await b.exchange.receive({ max: 10 })).length).toBe(1);
    await a.changelog.remove(ring);
    expect((await b.changelog.get({ ring, slot: 0 }))?.n).toBe(1);
    expect((await b.table.readPartition({ partition: 'p', after: undefined })).items.map((i) => i.tags)).toEqual(['t1']);
    expect(jobsOfSqliteFile({ path })).toEqual(['a', 'b']);
  });

  test('a file of a newer format is left alone, by name', () => {
    open().close();
    const db = raw();
    db.exec('UPDATE sluice_format SET version = 7');
    expect(() => open()).toThrow(
      expect.objectContaining({ code: 'FORMAT_NEWER', message: expect.stringMatching(/store\.db has format 7/) }),
    );
    db.exec('UPDATE sluice_format SET version = 1');
    open();
  });

  test('a file that is none of ours is not touched', () => {
    const db = raw();
    db.exec('CREATE TABLE cats (name TEXT)');
    db.close();
    const unusable = expect.objectContaining({ code: 'STORE_NOT_USABLE' });
    expect(() => open()).toThrow(unusable);
    expect(raw().prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n).toBe(1);
    writeFileSync(path, 'this is no database at all, however long one looks at it'.repeat(100));
    expect(() => open()).toThrow(unusable);
    expect(() => open()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ advice: expect.stringContaining('put back a whole copy') }) }),
    );
    expect(() => openSqlitePorts({ path: join(directory, 'none', 'store.db'), job: 'job', clock })).toThrow(unusable);
  });

  test('a log that is taken in leaves nothing behind in it, and one that another reads from stays as it is', async () => {
    const ports = open('job', { busyMs: 1 });
    await ports.items.put({ name: 'job', content: { bytes, change: '' }, expects: 'absent' });
    const reader = raw();
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM items').get();
    await ports.items.put({ name: 'more', content: { bytes, change: '' }, expects: 'absent' });
    ports.takeInLog();
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    reader.exec('COMMIT');
    ports.takeInLog();
    expect(statSync(`${path}-wal`).size).toBe(0);
    copyFileSync(path, join(directory, 'copy.db'));
    path = join(directory, 'copy.db');
    expect(await open().items.get('more')).toBeDefined();
  });

  test('a file whose log was left behind is not taken for a new one, and its jobs do not begin afresh in silence', () => {
    const db = raw(); // as a file was that never took its log in
    db.exec('PRAGMA journal_mode = WAL');
    copyFileSync(path, join(directory, 'copy.db'));
    db.exec('CREATE TABLE sluice_format (version INTEGER)');
    path = join(directory, 'copy.db');
    const lost = expect.objectContaining({ code: 'STORE_NOT_USABLE', message: expect.stringContaining('copy.db has lost its log') });
    for (let times = 0; times < 2; times++) expect(() => open()).toThrow(lost);
    expect(() => jobsOfSqliteFile({ path })).toThrow(lost);
  });

  test('a new file has its tables before it has its log, so that one without the other is still known as ours', () => {
    open();
    copyFileSync(path, join(directory, 'copy.db'));
    path = join(directory, 'copy.db');
    expect(jobsOfSqliteFile({ path })).toEqual([]);
  });

  test('a writer that is kept waiting too long is throttled, and nothing happened; readers are not kept waiting', async () => {
    const ports = open('job', { busyMs: 1 });
    const other = raw();
    other.exec('BEGIN IMMEDIATE');
    await expect(ports.objects.putIfAbsent('o', bytes)).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    expect(await ports.objects.get('o')).toBeUndefined();
    expect(await ports.exchange.receive({ max: 1 })).toEqual([]);
    other.exec('COMMIT');
    expect(await ports.objects.putIfAbsent('o', bytes)).toBe('stored');
  });

  test('a disk that is full is told so, and what was committed stays', () => {
    const file = new StoreFile({ path, synchronous: 'NORMAL' });
    opened.push(file);
    const insert = file.prepare('INSERT INTO objects (job, name, bytes) VALUES (1, ?, ?)');
    file.write(() => insert.run('small', bytes));
    file.prepare('PRAGMA max_page_count = 40').get();
    const grow = (): unknown => file.write(() => insert.run('large', new Uint8Array(1_000_000)));
    expect(grow).toThrow(expect.objectContaining({ code: 'STORE_FULL', message: expect.stringContaining('the disk is full') }));
    const names = file.prepare('SELECT name FROM objects');
    expect(file.read(() => names.all()).map((r) => r.name)).toEqual(['small']);
    file.write(() => insert.run('another', bytes));
  });

  test('a write that throws half-way has not happened', () => {
    const file = new StoreFile({ path, synchronous: 'NORMAL' });
    opened.push(file);
    const insert = file.prepare("INSERT INTO objects (job, name, bytes) VALUES (1, 'o', x'00')");
    const half = (): unknown =>
      file.write(() => {
        insert.run();
        throw new Error('half-way');
      });
    expect(half).toThrow('half-way');
    expect(file.read(() => file.prepare('SELECT count(*) AS n FROM objects').get()?.n)).toBe(0);
  });
});

describe('what goes by time in a SQLite file', () => {
  test('items whose time is over go with later puts; an expiry that was taken back does not count', async () => {
    const { table } = open();
    const put = (sort: string, tags: string, expects: string, expiresAtMs?: number) =>
      table.putMany([{ address: { partition: 'p', sort }, tags, bytes, expects, expiresAtMs }]);
    await put('goes', 't', 'absent', now + 10);
    await put('kept', 't', 'absent', now + 10);
    await put('kept', 'u', 't');
    now += 20;
    for (let i = 0; i < 300; i++) await put('other', `${i}`, i === 0 ? 'absent' : `${i - 1}`);
    const { items } = await table.readPartition({ partition: 'p', after: undefined });
    expect(items.map((i) => i.address.sort)).toEqual(['kept', 'other']);
  });

  test('the queue forgets the ids that it need not remember', async () => {
    const { exchange } = open();
    for (let i = 0; i < 20; i++) await exchange.send([{ group: 'g', id: `${i}`, bytes }]);
    now += 300_000;
    await exchange.send([{ group: 'g', id: 'last', bytes }]);
    expect(raw().prepare('SELECT count(*) AS n FROM accepted').get()?.n).toBe(1);
  });
});
