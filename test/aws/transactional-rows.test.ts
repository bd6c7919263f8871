// Rows that become visible together, by the real client: conditions, transactions and limits are the service's, not ours. A reader that follows the rules
// of docs/aws.md reads all the while.
import { type AttributeValue, CreateTableCommand, GetItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import type { AwsClients } from '../../lib/adapters/aws/clients.ts';
import { openTargets } from '../../lib/adapters/aws/targets/open-targets.ts';
import type { DetachedContext, DetachedTransaction } from '../../lib/api/sink.ts';
import { commitsKey, committedRow, dynamoDbSink } from '../../lib/index.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { emulatorClients } from './place.ts';
import { type Happened, makeStrict } from './strict-middleware.ts';

interface Total {
  readonly user: string;
  readonly day: number;
  readonly clicks?: number;
  readonly gone?: boolean;
}

const key = ['user', 'day'] as const;
const sink = dynamoDbSink<Total>('totals', { key, mode: 'transactional', isDelete: (row) => row.gone === true });
const { detached } = sink;
if (detached?.kind !== 'transactional') throw new Error('it commits');
let tables = 0;
const patienceMs = 60_000;

async function createTable({ dynamodb }: AwsClients): Promise<string> {
  const table = `totals-${process.pid}-${++tables}`;
  await dynamodb.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'user', KeyType: 'HASH' },
        { AttributeName: 'day', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'user', AttributeType: 'S' },
        { AttributeName: 'day', AttributeType: 'N' },
      ],
    }),
  );
  return table;
}

function contextOf(clients: AwsClients, table: string): DetachedContext {
  return {
    ...{ job: 'shop', uid: 'totals', generation: 1, subtask: 0, parallelism: 1 },
    targets: openTargets({ bind: { totals: { kind: 'dynamodb', table } }, clients }),
    clock: { now: () => Date.parse('2026-11-30T06:00:00Z'), sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) },
    report: () => undefined,
  } as unknown as DetachedContext;
}

const of = (rows: readonly Total[], checkpoint: number): DetachedTransaction<Total> => ({
  id: { job: 'shop', uid: 'totals', generation: 1, subtask: 0, checkpoint: checkpoint - 1 },
  ...{ checkpoint, timestamp: 0, rows },
});

type Seen = Readonly<Record<string, number>>;

/** By the rules: the commits first, then every row, all of them strongly. */
async function readAll({ dynamodb }: AwsClients, table: string): Promise<Seen | 'start-over'> {
  const place = commitsKey({ job: 'shop', uid: 'totals', key, sortType: 'N' }) as Record<string, AttributeValue>;
  const { Item: commits } = await dynamodb.send(new GetItemCommand({ TableName: table, Key: place, ConsistentRead: true }));
  const seen: Record<string, number> = {};
  for (let from: Record<string, AttributeValue> | undefined, isLast = false; !isLast; ) {
    // Pages are short, so that commits fall between them.
    const page = await dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true, Limit: 60, ExclusiveStartKey: from }));
    for (const item of page.Items ?? []) {
      if (item.user?.S?.startsWith('sluice/') === true) continue;
      const row = committedRow(item, commits, key);
      if (row.kind === 'start-over') return row.kind;
      if (row.kind === 'row') seen[`${row.item.user?.S}/${row.item.day?.N}`] = Number(row.item.clicks?.N);
    }
    from = page.LastEvaluatedKey;
    isLast = from === undefined;
  }
  return seen;
}

const batch = (from: number, to: number, clicks: number, isGone = (_: number): boolean => false): readonly Total[] =>
  Array.from({ length: to - from }, (_, i) => {
    const row = { user: `u${(from + i) % 40}`, day: Math.floor((from + i) / 40) };
    return isGone(from + i) ? { ...row, gone: true } : { ...row, clicks };
  });

const line: readonly (readonly Total[])[] = [
  batch(0, 20, 1),
  batch(10, 115, 2),
  batch(0, 101, 3, (n) => n % 5 === 0),
  [...batch(60, 120, 4), ...batch(50, 80, 5)],
];

const states: Seen[] = [{}];
for (const rows of line) {
  const next: Record<string, number> = { ...states.at(-1) };
  for (const { user, day, clicks, gone } of rows) {
    if (gone === true) delete next[`${user}/${day}`];
    else next[`${user}/${day}`] = clicks!;
  }
  states.push(next);
}

test.each([
  ['as it is', false],
  ['that throttles, conflicts and leaves parts', true],
] as const)('a reader sees all or nothing of each checkpoint, at a service %s', async (_, isStrict) => {
  const plain = emulatorClients(patienceMs);
  const clients = emulatorClients(patienceMs);
  const happened: Happened = new Map();
  const table = await createTable(plain);
  if (isStrict) makeStrict(clients, seededRandom(3), happened);
  const ctx = contextOf(clients, table);
  let isOver = false;
  const reads: (Seen | 'start-over')[] = [];
  const reader = (async () => {
    while (!isOver) {
      reads.push(await readAll(plain, table));
      await new Promise((resolve) => setTimeout(resolve, 50)); // the emulator does one thing at a time
    }
  })();
  const again = async (call: () => unknown): Promise<unknown> => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!/^STORE_(THROTTLED|UNCERTAIN)$/.test((error as { code: string }).code)) throw error;
      }
    }
  };
  const started = await detached.start!(ctx);
  for (const [i, rows] of line.entries()) {
    const t = of(rows, i + 1);
    const prepared = await again(() => detached.prepare(ctx, t, started));
    expect(await readAll(plain, table)).toEqual(states[i]);
    await again(() => detached.commit(ctx, t, prepared));
    expect(await readAll(plain, table)).toEqual(states[i + 1]);
    await again(() => detached.commit(ctx, t, prepared)); // twice is harmless
  }
  isOver = true;
  await reader;
  expect(reads.length).toBeGreaterThan(0);
  const texts = states.map((state) => JSON.stringify(Object.entries(state).sort()));
  const seen = reads.filter((read) => read !== 'start-over').map((read) => texts.indexOf(JSON.stringify(Object.entries(read).sort())));
  expect(seen).toEqual(seen.toSorted((a, b) => a - b)); // never back, and each is a state that was committed
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(0);
  if (isStrict)
    expect([...happened.keys()].sort()).toEqual(
      expect.arrayContaining([
        'BatchGetItem: UnprocessedKeys',
        'PutItem: TransactionConflictException',
        'TransactWriteItems: TransactionCanceledException',
      ]),
    );
  // Whoever knows no rules sees committed values in the attributes themselves, and the state at the end.
  const { Items: items = [] } = await plain.dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  const rows = items.filter((item) => item.clicks !== undefined);
  expect(Object.fromEntries(rows.map((item) => [`${item.user?.S}/${item.day?.N}`, Number(item.clicks?.N)]))).toEqual(states.at(-1));
  expect(items.filter((item) => item.sluice_next !== undefined)).toEqual([]);
});

test('what was aborted is never seen, and a commit of it is refused by its name', async () => {
  const clients = emulatorClients(patienceMs);
  const table = await createTable(clients);
  const ctx = contextOf(clients, table);
  const started = await detached.start!(ctx);
  for (const rows of [batch(0, 30, 1), batch(0, 150, 1)]) {
    const t = of(rows, rows.length);
    const prepared = await detached.prepare(ctx, t, started);
    await detached.abort(ctx, t, prepared);
    await detached.abort(ctx, t, undefined);
    await expect(detached.commit(ctx, t, prepared)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_ABORTED' });
  }
  expect(await readAll(clients, table)).toEqual({});
});

test('the largest rows that pass the check fit, staged and in one request', async () => {
  const clients = emulatorClients(patienceMs);
  const table = await createTable(clients);
  const ctx = contextOf(clients, table);
  const started = await detached.start!(ctx);
  const text = 'x'.repeat(203_700);
  const large = (checkpoint: number, rows: number): DetachedTransaction<Total> =>
    of(
      Array.from({ length: rows }, (_, day) => ({ user: 'a', day, clicks: checkpoint, text }) as Total),
      checkpoint,
    );
  for (const row of large(1, 1).rows) sink.check!(row);
  expect(() => sink.check!({ user: 'a', day: 1, text: `${text}${'x'.repeat(200)}` } as Total)).toThrow(
    /row user=a, day=1: the row has 20\d{4} bytes.*203776/,
  );
  for (const [checkpoint, rows] of [
    [1, 6],
    [2, 6],
    [3, 20],
    [4, 20],
  ] as const) {
    const t = large(checkpoint, rows);
    const prepared = await detached.prepare(ctx, t, started);
    await detached.commit(ctx, t, prepared);
  }
  const seen = await readAll(clients, table);
  expect(new Set(Object.values(seen))).toEqual(new Set([4]));
});
