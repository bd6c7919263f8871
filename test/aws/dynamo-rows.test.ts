// Rows of a user's table by the real client: the condition is the service's, not ours.
import { CreateTableCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DynamoRows } from '../../lib/adapters/aws/targets/dynamodb.ts';
import { rowWrites } from '../../lib/connectors/cloud/row-writes.ts';
import { transactionTag } from '../../lib/connectors/cloud/rows/version-tags.ts';
import { emulatorClients } from './place.ts';

const clients = emulatorClients();
const table = `rows-${process.pid}`;
const rows = new DynamoRows({ client: clients.dynamodb, table });
const shape = {
  key: ['user', 'day'],
  isMerged: false,
  isDeleted: (row: unknown) => (row as { gone?: boolean }).gone === true,
  nowSeconds: 1_000,
};

async function write(n: number, values: readonly object[], isMerged = false): Promise<number> {
  return (await rows.write(rowWrites(values, { begunMs: 1_700_000_000_000, generation: 1, n, index: 0 }, { ...shape, isMerged }))).length;
}

async function held(): Promise<readonly unknown[]> {
  const { Items: items = [] } = await clients.dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  return items.map(({ sluice_tag: _, ...item }) => item);
}

beforeAll(async () => {
  await clients.dynamodb.send(
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
});
afterAll(() => clients.dynamodb.destroy());

describe('rows of a table', () => {
  test('the newest write of a row stays, in whatever order and however often writes arrive', async () => {
    const key = { user: 'a', day: 1 };
    expect(await write(2, [{ ...key, clicks: 2, tags: ['x'], at: { m: 9_007_199_254_740_993n } }])).toBe(0);
    expect(
      await write(1, [
        { ...key, clicks: 1 },
        { user: 'b', day: 1, clicks: 1 },
      ]),
    ).toBe(1);
    expect(await write(2, [{ ...key, clicks: 2, tags: ['x'], at: { m: 9_007_199_254_740_993n } }])).toBe(0);
    expect(await held()).toEqual(
      expect.arrayContaining([
        { user: { S: 'a' }, day: { N: '1' }, clicks: { N: '2' }, tags: { L: [{ S: 'x' }] }, at: { M: { m: { N: '9007199254740993' } } } },
        { user: { S: 'b' }, day: { N: '1' }, clicks: { N: '1' } },
      ]),
    );
  });

  test('a merge leaves what others keep in the row, and a deleted row is one again', async () => {
    const key = { user: 'c', day: 1 };
    const own = async (): Promise<unknown> => (await held()).find((item) => (item as { user: { S: string } }).user.S === 'c');
    await write(1, [{ ...key, name: 'n' }]);
    await write(2, [{ ...key, clicks: 1 }], true);
    expect(await own()).toEqual({ user: { S: 'c' }, day: { N: '1' }, name: { S: 'n' }, clicks: { N: '1' } });
    await write(4, [{ ...key, gone: true }]);
    expect(await write(3, [{ ...key, clicks: 9 }], true)).toBe(1);
    expect(await own()).toEqual({ user: { S: 'c' }, day: { N: '1' }, sluice_gone: { N: '87400' } });
    await write(5, [{ ...key, clicks: 10 }], true);
    expect(await own()).toEqual({ user: { S: 'c' }, day: { N: '1' }, clicks: { N: '10' } });
  });

  test('transactions of a run that began before count as older, and those of one that began later are told', async () => {
    const key = { user: { S: 'd' }, day: { N: '1' } };
    const began = 1_700_000_000_000;
    const hold = async (run: number): Promise<void> => {
      const tag = transactionTag(run, { generation: 9, checkpoint: 9 });
      await clients.dynamodb.send(new PutItemCommand({ TableName: table, Item: { ...key, sluice_tag: { S: tag } } }));
    };
    await hold(began - 1);
    expect(await write(1, [{ user: 'd', day: 1, clicks: 1 }])).toBe(0);
    await hold(began + 1);
    const [left] = await rows.write(
      rowWrites([{ user: 'd', day: 1, clicks: 2 }], { begunMs: began, generation: 1, n: 2, index: 0 }, shape),
    );
    expect(left?.held).toBe(transactionTag(began + 1, { generation: 9, checkpoint: 9 }));
  });

  test('an error names the table and what was asked of it', async () => {
    const gone = new DynamoRows({ client: clients.dynamodb, table: 'no-such-table' });
    await expect(
      gone.write(rowWrites([{ user: 'a', day: 1 }], { begunMs: 1_700_000_000_000, generation: 1, n: 1, index: 0 }, shape)),
    ).rejects.toThrow(/PutItem in table no-such-table/);
  });
});
