import { describe, expect, test } from 'vitest';
import type { SinkWriter } from '../../../../lib/api/sink.ts';
import { type IdempotentSinkOptions, idempotentSink } from '../../../../lib/connectors/sinks/idempotent.ts';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import { listedOrigins } from '../../../../lib/core/origins.ts';
import { attempt, batch } from '../support/sinks.ts';

type Options = IdempotentSinkOptions<string>;

async function open(options: Options, report?: (line: string) => void): Promise<SinkWriter> {
  const [writer] = await attempt(() => idempotentSink(options) as never, report === undefined ? {} : { report });
  return writer!;
}

/** Rows `a`, `b` … with the causes `s/a`, `s/b` …. */
function rows(...values: readonly string[]): RecordBatch {
  return { ...batch(...values), origins: listedOrigins(values.map((v) => `s/${v}`)) };
}

/** A call of `write` that the test ends. */
interface Call {
  readonly values: readonly string[];
  succeed(): void;
  fail(why: string): void;
}

function heldCalls(): { readonly calls: Call[]; readonly write: Options['write'] } {
  const calls: Call[] = [];
  const write: Options['write'] = (given) =>
    new Promise((resolve, reject) => {
      calls.push({ values: given.map(({ value }) => value), succeed: resolve, fail: (why) => reject(new Error(why)) });
    });
  return { calls, write };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

describe('idempotentSink', () => {
  test('hands rows over at once, each with the uid of the sink and its cause as its id', async () => {
    const given: unknown[] = [];
    const writer = await open({ write: (r) => void given.push(...r) });
    await writer.write(rows('a', 'b'));
    expect(given).toEqual([
      { id: 'out/s/a', value: 'a' },
      { id: 'out/s/b', value: 'b' },
    ]);
    expect(await writer.prepare(1)).toEqual({ state: undefined, transactions: [] });
    expect(writer.announce(1)).toEqual([]);
  });

  test('has one call under way; what arrives meanwhile goes into the next, in order', async () => {
    const { calls, write } = heldCalls();
    const writer = await open({ write });
    const first = writer.write(rows('a'));
    const second = writer.write(rows('b'));
    void writer.write(rows('c'));
    await settled();
    expect(calls.map((c) => c.values)).toEqual([['a']]);
    calls[0]!.succeed();
    await settled();
    expect(calls.map((c) => c.values)).toEqual([['a'], ['b', 'c']]);
    calls[1]!.succeed();
    await Promise.all([first, second]);
  });

  test('hands over no more than 1,024 rows in a call', async () => {
    const sizes: number[] = [];
    const writer = await open({ write: (r) => void sizes.push(r.length) });
    await writer.write(rows(...new Array<string>(2_500).fill('x')));
    expect(sizes).toEqual([1_024, 1_024, 452]);
  });

  test('promises nothing before everything handed over has been written', async () => {
    const { calls, write } = heldCalls();
    const writer = await open({ write });
    void writer.write(rows('a'));
    let isPrepared = false;
    const prepared = Promise.resolve(writer.prepare(1)).then(() => {
      isPrepared = true;
    });
    await settled();
    expect(isPrepared).toBe(false);
    calls[0]!.succeed();
    await prepared;
  });

  test('calls again with the same rows after a throw or a rejection, and tells the first of them', async () => {
    const seen: string[][] = [];
    const told: string[] = [];
    const writer = await open(
      {
        write(given) {
          seen.push(given.map(({ id }) => id));
          if (seen.length === 1) throw new Error('thrown');
          return seen.length === 2 ? Promise.reject(new Error('rejected')) : undefined;
        },
      },
      (line) => told.push(line),
    );
    await writer.write(rows('a', 'b'));
    expect(seen).toEqual([
      ['out/s/a', 'out/s/b'],
      ['out/s/a', 'out/s/b'],
      ['out/s/a', 'out/s/b'],
    ]);
    expect(told).toEqual(['out: a write failed and is tried again: thrown']);
  });

  test('gives up after six calls, with the last reason, and never promises what it could not write', async () => {
    let calls = 0;
    const writer = await open({ write: () => Promise.reject(new Error(`down ${++calls}`)) });
    await expect(writer.write(rows('a', 'b'))).rejects.toMatchObject({
      code: 'SINK_NOT_WRITTEN',
      message: 'out could not write 2 rows, the first with id out/s/a, in 6 calls: down 6',
      cause: { message: 'down 6' },
      details: { operator: 'out' },
    });
    await expect(writer.write(rows('c'))).rejects.toMatchObject({ code: 'SINK_NOT_WRITTEN' });
    await expect(Promise.resolve(writer.prepare(1))).rejects.toMatchObject({ code: 'SINK_NOT_WRITTEN' });
    expect(calls).toBe(6);
  });

  test('given up, it waits for the call under way and makes no other', async () => {
    const { calls, write } = heldCalls();
    const closed: string[] = [];
    const writer = await open({ write, close: () => void closed.push('closed') });
    const first = Promise.resolve(writer.write(rows('a'))).catch((e: Error) => e.message);
    void Promise.resolve(writer.write(rows('b'))).catch(() => {});
    await settled();
    const discarded = Promise.resolve(writer.discard());
    await settled();
    expect(closed).toEqual([]);
    calls[0]!.fail('too late');
    await discarded;
    expect(await first).toContain('too late');
    expect(calls).toHaveLength(1);
    expect(closed).toEqual(['closed']);
  });

  test('opens and closes once in each subtask', async () => {
    const seen: string[] = [];
    const options: Options = { write: () => {}, open: (ctx) => void seen.push(`open ${ctx.uid}`), close: () => void seen.push('close') };
    const writer = await open(options);
    await writer.close();
    await writer.close();
    expect(seen).toEqual(['open out', 'close']);
  });

  test('refuses what is no write function, and options that nobody reads', () => {
    expect(() => idempotentSink({} as never)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
    expect(() => idempotentSink({ write: () => {}, wirte: 1 } as never)).toThrow(expect.objectContaining({ code: 'OPTION_UNKNOWN' }));
  });
});
