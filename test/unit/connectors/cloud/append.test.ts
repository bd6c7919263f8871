import { describe, expect, test } from 'vitest';
import { groupOf } from '../../../../lib/adapters/aws/targets/queue.ts';
import type { ImmediateContext } from '../../../../lib/api/sink.ts';
import type { AppendedRow, NotTaken, Targets } from '../../../../lib/api/targets.ts';
import { type AppendLimits, nextRequest, RowAppender } from '../../../../lib/connectors/cloud/append-rows.ts';
import { type AppendSinkOptions, kinesisSink, sqsSink } from '../../../../lib/connectors/cloud/append-sink.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import { seededRandom } from '../../../../lib/testing/seeded-random.ts';

const limits: AppendLimits = { rowsMax: 3, bytesMax: 20, rowBytesMax: 12 };
const row = (key: string, body: string): AppendedRow => ({ id: `${key}-${body}`, key, body });

describe('the next request', () => {
  test('holds one row of a key at most, in order', () => {
    expect(nextRequest([row('a', '1'), row('a', '2'), row('b', '3'), row('b', '4'), row('c', '5')], [0, 1, 2, 3, 4], limits)).toEqual([
      0, 2, 4,
    ]);
  });

  test('stops at the limits, and no later row goes before one of its key that had no room', () => {
    const rows = [row('a', '0123456789'), row('b', '0123456789'), row('b', '1'), row('c', '2')];
    expect(nextRequest(rows, [0, 1, 2, 3], limits)).toEqual([0, 3]);
  });
});

test('a key that is no name of a message group has one all the same, of its own', () => {
  for (const good of ['a', 'user-1', '!"#~', 'x'.repeat(128)]) expect(groupOf(good)).toBe(good);
  const others = ['Zoë Smith', 'Zoe Smith', 'a b', '', 'x'.repeat(129)].map(groupOf);
  for (const other of others) expect(other).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(others).size).toBe(others.length);
});

describe('a row that can never be sent is refused when the job makes it', () => {
  interface Order {
    readonly user: string;
    readonly text: string;
  }

  test.each([
    ['sqsSink', sqsSink<Order>('orders', { key: ({ user }) => user })],
    ['kinesisSink', kinesisSink<Order>('orders')],
  ] as const)('by %s', (kind, sink) => {
    sink.check?.({ user: 'a', text: 'x'.repeat(1_000_000) });
    const refused = (): void => sink.check?.({ user: 'a', text: 'x'.repeat(1_048_576) });
    expect(refused).toThrow(
      expect.objectContaining({
        code: 'RECORD_TOO_LARGE',
        message: expect.stringContaining(`${kind}('orders'): a row of`) as string,
      }) as Error,
    );
  });

  test('as is a text that SQS takes from nobody', () => {
    const text = sqsSink<string>('orders', { format: lines() });
    for (const good of ['a', ' ', 'a\ttab', 'Zoë 🎈', '\ufffd']) text.check?.(good);
    for (const [bad, told] of [
      ['', /the text of a message is empty/],
      ['a\u0001b', /has the character U\+0001/],
      ['\uffff', /has the character U\+FFFF/],
    ] as const)
      expect(() => text.check?.(bad)).toThrow(told);
    sqsSink<Order>('orders').check?.({ user: 'a', text: '\u0001 and half \ud83c, which JSON spells otherwise' });
    kinesisSink<string>('orders', { format: lines() }).check?.('');
  });

  test('as is one whose key is none', () => {
    const sink = sqsSink<Order>('orders', { key: ({ user }) => user });
    const refused = (): void => sink.check?.({ user: '', text: '' });
    expect(refused).toThrow(/key gives a text of 1 to 128 characters/);
  });
});

describe('rows that are appended under faults', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'arrive in order per key, whatever was not taken at first (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const arrived: AppendedRow[] = [];
      const appender = new RowAppender('a sink', limits, (rows) => {
        const left: NotTaken[] = [];
        for (const [at, one] of rows.entries()) {
          if (random.bits() % 3 === 0) left.push({ at, reason: 'throttled', isFinal: false });
          else arrived.push(one);
        }
        return Promise.resolve(left);
      });
      const rows = Array.from({ length: 40 }, (_, i) => row('abc'[random.bits() % 3]!, String(i)));
      for (let calls = 0; calls < 1_000; calls++) {
        try {
          await appender.append(rows, rows);
          break;
        } catch (error) {
          expect(error).toMatchObject({ code: 'SINK_NOT_WRITTEN' });
        }
      }
      expect(arrived.length).toBe(rows.length); // none twice: what was taken is remembered
      for (const key of 'abc') expect(arrived.filter((one) => one.key === key)).toEqual(rows.filter((one) => one.key === key));
    },
  );

  test('a row that is never taken is told at once, with the reason', async () => {
    const appender = new RowAppender('a sink', limits, () =>
      Promise.resolve([{ at: 1, reason: 'InvalidMessageContents: no', isFinal: true }]),
    );
    const rows = [row('a', '1'), row('b', '2')];
    await expect(appender.append(rows, rows)).rejects.toThrow(/1 rows were not taken: InvalidMessageContents/);
  });

  test('a row over the limit is refused before anything is sent', async () => {
    let sent = 0;
    const appender = new RowAppender('a sink', limits, () => {
      sent++;
      return Promise.resolve([]);
    });
    const rows = [row('a', '1'), row('b', '0123456789ab')];
    await expect(appender.append(rows, rows)).rejects.toMatchObject({ code: 'RECORD_TOO_LARGE' });
    expect(sent).toBe(0);
  });
});

interface Order {
  readonly user: string;
  readonly n: number;
}

function deliver(make: (name: string, o: AppendSinkOptions<Order>) => ReturnType<typeof sqsSink<Order>>, o: AppendSinkOptions<Order>) {
  const sent: AppendedRow[] = [];
  const send = (rows: readonly AppendedRow[]): Promise<readonly NotTaken[]> => {
    sent.push(...rows);
    return Promise.resolve([]);
  };
  const targets = { queue: () => ({ isFifo: true, send }), stream: () => ({ append: send }) } as unknown as Targets;
  const { detached } = make('orders', o);
  const context = {
    ...{ job: 'shop', uid: 'out', generation: 1, subtask: 0, parallelism: 1, targets },
    tag: { generation: 1, n: 5, index: 0 },
    report: () => undefined,
  } as unknown as ImmediateContext;
  const values: readonly Order[] = [
    { user: 'a', n: 1 },
    { user: 'b', n: 2 },
    { user: 'a', n: 3 },
  ];
  const batch = { values, count: 3, origins: { at: (i: number) => `orders/${i}` } } as unknown as RecordBatch;
  if (detached?.kind !== 'immediate') throw new Error('it writes at once');
  return { sent, write: async () => detached.write(context, batch) };
}

describe.each([
  ['sqsSink', sqsSink],
  ['kinesisSink', kinesisSink],
] as const)('%s', (_name, make) => {
  test('sends rows under an identity that is the same when the entry is delivered again', async () => {
    const { sent, write } = deliver(make, { key: (o) => o.user });
    await write();
    await write();
    expect(sent.slice(0, 3).map(({ key, body }) => [key, body])).toEqual([
      ['a', '{"user":"a","n":1}'],
      ['b', '{"user":"b","n":2}'],
      ['a', '{"user":"a","n":3}'],
    ]);
    expect(sent.slice(3)).toEqual(sent.slice(0, 3));
    expect(new Set(sent.map(({ id }) => id)).size).toBe(3);
    expect(sent.every(({ id }) => /^[0-9a-f]{64}$/.test(id))).toBe(true);
  });

  test('without a key each row is on its own', async () => {
    const { sent, write } = deliver(make, {});
    await write();
    expect(new Set(sent.map(({ key }) => key)).size).toBe(3);
  });

  test('refuses wrong options at once', () => {
    expect(() => make('orders', { keys: 1 } as never)).toThrow(/has no option 'keys'/);
    expect(() => make('no name', {})).toThrow(/cannot be/);
  });
});
