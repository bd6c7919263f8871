// `sluice run` with its keyed state in a table: a process that is killed, and one that goes on from what the table holds, at another parallelism too.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateTableCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openKeyedTable } from '../../lib/adapters/aws/state/open-keyed-table.ts';
import { TableObjects } from '../../lib/adapters/aws/state/table-objects.ts';
import { normalizeKey } from '../../lib/core/key-codec.ts';
import { valueState } from '../../lib/index.ts';
import { HeapState } from '../../lib/state/heap/heap-state.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type Counted, keys } from './counts-job.ts';
import { emulatorClients } from './place.ts';
import { type Happened, makeStrict } from './strict-middleware.ts';

const repository = join(import.meta.dirname, '../..');
const count = 20_000;
const patienceMs = 60_000;
let place = '';
let tables = 0;
const started: ChildProcess[] = [];

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sluice-table-'));
});
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(place, { recursive: true, force: true });
});

async function createTable(): Promise<string> {
  const table = `state-${process.pid}-${++tables}`;
  await emulatorClients(patienceMs).dynamodb.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'p', KeyType: 'HASH' },
        { AttributeName: 's', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'p', AttributeType: 'S' },
        { AttributeName: 's', AttributeType: 'S' },
      ],
    }),
  );
  return table;
}

interface Run {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  /** Resolves when a line is there, or the process has ended. */
  until(found: (line: Record<string, unknown>) => boolean): Promise<void>;
  readonly ended: Promise<number | null>;
  stderr: string;
}

function run(words: readonly string[]): Run {
  const { variables } = inject('emulator');
  const child = spawn(process.execPath, [join(repository, 'lib/cli/main.ts'), 'run', ...words, '--json'], {
    cwd: place,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const lines: Record<string, unknown>[] = [];
  const waiting: { readonly found: (line: Record<string, unknown>) => boolean; readonly tell: () => void }[] = [];
  let rest = '';
  child.stdout!.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n');
    rest = parts.pop()!;
    for (const text of parts) {
      const line = JSON.parse(text) as Record<string, unknown>;
      lines.push(line);
      for (const { found, tell } of waiting) if (found(line)) tell();
    }
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const one: Run = {
    ...{ child, lines, ended, stderr: '' },
    until: (found) => {
      if (lines.some(found)) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push({ found, tell: resolve });
        void ended.then(() => resolve());
      });
    },
  };
  child.stderr!.on('data', (data: Buffer) => {
    one.stderr += data.toString();
  });
  return one;
}

const job = join(import.meta.dirname, 'counts-job.ts');
const words = (table: string, output: string): string[] => [job, '--table', table, '--output', output, '--count', String(count)];

function expectCounted(output: string): void {
  const text = readdirSync(join(place, output))
    .filter((name) => name.startsWith('part-'))
    .map((name) => readFileSync(join(place, output, name), 'utf8'))
    .join('');
  const rows = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Counted);
  expect(rows.map(({ key }) => key).sort()).toEqual(Array.from({ length: keys }, (_, i) => `k${i}`).sort());
  const perKey = count / keys;
  for (const { sum, kinds, hundreds } of rows) {
    expect(sum).toBe((perKey * (perKey + 1)) / 2);
    expect(kinds).toEqual(Array.from({ length: 5 }, (_, i) => [`kind-${i}`, perKey / 5]));
    expect(hundreds).toEqual(Array.from({ length: 10 }, (_, i) => (i + 1) * 100));
  }
}

const completed = (line: Record<string, unknown>): number =>
  Number(line.kind === 'checkpoint-completed' || line.event === 'checkpoint-completed' ? line.checkpoint : 0);

describe('a job whose state lies in a table', () => {
  test('goes on from its last checkpoint after kill -9, again and again, and counts every record once', async () => {
    const table = await createTable();
    const output = 'killed';
    let last = 0;
    for (let kills = 0; kills < 2; kills++) {
      const one = run([
        ...words(table, output),
        '--spins',
        '20000',
        ...(kills === 0 ? [] : ['--from', 'latest']),
        '--parallelism',
        String(kills + 1),
      ]);
      await one.until((line) => completed(line) > last);
      expect(
        one.lines.map(completed).some((n) => n > last),
        `${one.stderr}\n${JSON.stringify(one.lines)}`,
      ).toBe(true);
      last = Math.max(...one.lines.map(completed));
      one.child.kill('SIGKILL');
      await one.ended;
    }
    const end = run([...words(table, output), '--from', 'latest', '--parallelism', '2']);
    expect(await end.ended, end.stderr).toBe(0);
    expect(end.lines.some((line) => JSON.stringify(line).includes('"restored"'))).toBe(true);
    expectCounted(output);
    const { Items: items = [] } = await emulatorClients(patienceMs).dynamodb.send(
      new ScanCommand({ TableName: table, ConsistentRead: true }),
    );
    expect(items.filter((item) => item.p?.S?.startsWith('s')).length).toBeGreaterThan(0);
  });

  test('a table that does not exist is told with the command that makes it, and nothing is begun', async () => {
    const one = run(words('no-such-table', 'nothing'));
    expect(await one.ended).not.toBe(0);
    expect(one.lines.at(-1)).toMatchObject({
      state: 'failed',
      error: { code: 'STORE_MISSING', text: expect.stringContaining('aws dynamodb create-table --table-name no-such-table') },
    });
    expect(existsSync(join(place, 'nothing'))).toBe(false);
  });
});

describe('the table', () => {
  const clock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };

  test('takes state and gives it back when it throttles, conflicts and leaves parts', async () => {
    const table = await createTable();
    const clients = emulatorClients(patienceMs);
    const happened: Happened = new Map();
    makeStrict(clients, seededRandom(5), happened);
    const open = () => openKeyedTable({ job: 'shop', table }, { clock, random: seededRandom(1), client: clients.dynamodb });
    const { states, groups } = exampleState();
    const store = await open();
    await store.load(undefined);
    await store.begin();
    const handle = await store.store({ uid: 'count', subtask: 0, checkpoint: 1, keyed: { states, groups }, points: [] });
    const again = await open();
    await again.load({ handle, checkpoint: 1 });
    const read = again.read({ uid: 'count', subtask: 0, states, groups: { first: 0, last: 127 }, maxParallelism: 128 });
    expect(read.map(({ group }) => group)).toEqual(groups.map(({ group }) => group));
    expect(read.map(({ bytes }) => bytes.length)).toEqual(groups.map(({ bytes }) => bytes.length));
    expect([...happened.keys()]).toEqual(
      expect.arrayContaining(['BatchGetItem: UnprocessedKeys', 'BatchExecuteStatement: ThrottlingError']),
    );
  });

  test('keeps objects of any size, each under its name once', async () => {
    const table = await createTable();
    const objects = new TableObjects({ client: emulatorClients(patienceMs).dynamodb, table });
    const large = new Uint8Array(1_000_000).map((_, i) => i % 251);
    expect(await objects.putIfAbsent('state/large', large)).toBe('stored');
    expect(await objects.putIfAbsent('state/large', large)).toBe('exists');
    expect(await objects.putIfAbsent('state/empty', new Uint8Array(0))).toBe('stored');
    expect(Buffer.compare((await objects.get('state/large'))!, large)).toBe(0);
    expect(await objects.get('state/empty')).toEqual(new Uint8Array(0));
    expect(await objects.get('state/none')).toBeUndefined();
    expect(await objects.list('state/')).toEqual(['state/empty', 'state/large']);
    await objects.remove('state/large');
    expect(await objects.list('')).toEqual(['state/empty']);
  });
});

/** Some hundred values, one of them larger than an item. */
function exampleState() {
  const heap = new HeapState({ shape: { text: valueState<string>() }, operator: 'count', maxParallelism: 128 });
  const { text } = heap.handles as { text: { update(value: string): void } };
  for (let i = 0; i < 300; i++) {
    heap.selectKey(normalizeKey(`k${i}`));
    text.update('x'.repeat(i === 7 ? 700_000 : i));
  }
  heap.endBatch();
  const running = heap.startSnapshot();
  while (!running.advance(1_000));
  return { states: heap.states, groups: running.groups() };
}
