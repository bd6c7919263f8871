// What SQLite answered outlives the process that asked, and processes that race for one ring share it out: each number has one writer, and that
// one was told so. The processes are killed with SIGKILL while they write.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../lib/adapters/embedded/system-clock.ts';
import { openSqlitePorts } from '../../../lib/adapters/sqlite/sqlite-ports.ts';

const program = join(import.meta.dirname, 'sqlite-writer.ts');
let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-killed-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a writer until it has told `linesWanted` lines, kills it in whatever it does then, and gives all that it told. */
async function killedAfter(path: string, name: string, linesWanted: number): Promise<readonly string[]> {
  const child: ChildProcess = spawn(process.execPath, [program, path, name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const told: string[] = [];
  const errors: string[] = [];
  child.stderr!.on('data', (chunk) => errors.push(String(chunk)));
  const ended = new Promise<string | null>((resolve) => child.on('close', (_, signal) => resolve(signal)));
  for await (const line of createInterface({ input: child.stdout! })) {
    told.push(line);
    if (told.length === linesWanted) child.kill('SIGKILL');
  }
  expect(await ended, errors.join('')).toBe('SIGKILL');
  return told;
}

test('three processes that are killed while they write lose nothing that they were told, and leave nothing half done', async () => {
  const path = join(directory, 'store.db');
  const told: string[] = [];
  for (const round of [1, 2]) {
    const names = ['a', 'b', 'c'].map((n) => `${n}${round}`);
    const lines = await Promise.all(names.map((name, i) => killedAfter(path, name, 20 + 17 * i * round)));
    told.push(...lines.flat());
  }
  const ports = openSqlitePorts({ path, job: 'killed', clock: systemClock });
  const writers = new Map<number, string>();
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page: Awaited<ReturnType<typeof ports.changelog.readPage>> = await ports.changelog.readPage({
      ring: { generation: 0, subtask: '1-0' },
      from,
      to: 1_000_000,
    });
    for (const e of page.entries) {
      writers.set(e.n, e.writer);
      expect(e.bytes).toEqual(new Uint8Array(2_000).fill(e.n % 251));
    }
    from = page.next;
  }
  expect([...writers.keys()]).toEqual(Array.from({ length: writers.size }, (_, n) => n));
  expect(told.length).toBeGreaterThan(100);
  for (const line of told) {
    const [n, writer] = line.split(' ');
    expect(writers.get(Number(n))).toBe(writer);
  }

  for (const n of writers.keys()) {
    const { items } = await ports.table.readPartition({ partition: `n${n}`, after: undefined });
    expect([0, 25]).toContain(items.length);
  }
  const sent = new Set<number>();
  for (;;) {
    const deliveries = await ports.exchange.receive({ max: 10 });
    if (deliveries.length === 0) break;
    for (const d of deliveries) sent.add(Number(new TextDecoder().decode(d.bytes)));
    await ports.exchange.settle(deliveries.map((d) => d.receipt));
  }
  for (const line of told) expect(sent.has(Number(line.split(' ')[0]))).toBe(true);
  ports.close();

  const db = new DatabaseSync(path);
  expect(db.prepare('PRAGMA integrity_check').get()?.integrity_check).toBe('ok');
  db.close();
});
