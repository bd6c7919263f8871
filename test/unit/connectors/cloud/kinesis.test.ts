import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { OutputTag } from '../../../../lib/api/functions.ts';
import type { SourceContext, SourceOutput, SplitPosition, SplitReader } from '../../../../lib/api/source.ts';
import type { StreamRecord, StreamShard, StreamTarget, Targets } from '../../../../lib/api/targets.ts';
import { kinesis } from '../../../../lib/connectors/cloud/kinesis.ts';
import {
  compareStreamPlaces,
  firstShards,
  placementOfPartitionKey,
  shardChanges,
  splitOfShard,
} from '../../../../lib/connectors/cloud/stream-places.ts';
import type { MalformedRecord } from '../../../../lib/connectors/formats/format.ts';
import { json } from '../../../../lib/connectors/formats/json.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { encodeKey } from '../../../../lib/core/key-codec.ts';

const end = 2n ** 128n - 1n;
const shard = (id: string, o: Partial<StreamShard> = {}): StreamShard => ({
  ...{ id, parents: [], hashes: { from: 0n, to: end }, isClosed: false },
  ...o,
});

class FakeStream implements StreamTarget {
  readonly all: StreamShard[] = [];
  readonly records = new Map<string, StreamRecord[]>();
  /** Records of a page; 0: every other page is empty. */
  pageMax = 2;
  reads = 0;
  /** Reads whose cursor is too old, counted from 1. */
  expires: readonly number[] = [];

  put(id: string, ...values: readonly string[]): void {
    const there = this.records.get(id) ?? [];
    // Not dense, and longer than a number can be.
    for (const value of values) there.push({ sequence: String(10n ** 55n + BigInt(there.length * 7)), data: Buffer.from(value) });
    this.records.set(id, there);
  }

  shards(): Promise<readonly StreamShard[]> {
    return Promise.resolve(this.all);
  }

  begin(id: string, at: string | undefined): Promise<string> {
    const index = at === undefined ? 0 : (this.records.get(id) ?? []).findIndex(({ sequence }) => BigInt(sequence) >= BigInt(at));
    return Promise.resolve(`${id} ${index} page`);
  }

  read(cursor: string): ReturnType<StreamTarget['read']> {
    this.reads++;
    if (this.expires.includes(this.reads)) return Promise.resolve('expired');
    const [id = '', at, kind] = cursor.split(' ');
    const all = this.records.get(id) ?? [];
    const from = Number(at);
    if (this.reads % 2 === 0 && kind === 'page') return Promise.resolve({ records: [], next: `${id} ${from} after-empty` });
    const records = all.slice(from, from + this.pageMax);
    const to = from + records.length;
    const isClosed = this.all.find((one) => one.id === id)?.isClosed !== false;
    return Promise.resolve({ records, next: isClosed && to >= all.length ? undefined : `${id} ${to} page` });
  }

  append(): Promise<readonly []> {
    return Promise.resolve([]);
  }
}

function contextOf(stream: FakeStream | undefined): SourceContext {
  return {
    ...{ job: 'clicks', uid: 'clicks', countSkipped: () => undefined },
    clock: { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) },
    ...(stream === undefined ? {} : { targets: { stream: () => stream } as unknown as Targets }),
  } as unknown as SourceContext;
}

async function readAll(reader: SplitReader<unknown>): Promise<{ readonly value: unknown; readonly after: SplitPosition }[]> {
  const read: { readonly value: unknown; readonly after: SplitPosition }[] = [];
  while (!reader.hasEnded) {
    const out: SourceOutput<unknown> = { values: [], count: 0, side: () => undefined };
    if (reader.poll(out, 1) > 0) read.push({ value: out.values[0], after: reader.position() });
    else await reader.ready();
  }
  return read;
}

describe('places of a stream', () => {
  test('are compared as whole numbers, then by the place within a record', () => {
    const place = (sequence: string, sub = 0) => ({ sequence, sub });
    expect(compareStreamPlaces(place('9'), place('10'))).toBeLessThan(0);
    expect(compareStreamPlaces(place(`1${'0'.repeat(128)}`), place('9'.repeat(128)))).toBeGreaterThan(0);
    expect(compareStreamPlaces(place('5', 1), place('5', 0))).toBeGreaterThan(0);
    expect(compareStreamPlaces(place('5', 1), place('5', 1))).toBe(0);
  });

  test.each([1, 2, 3, 4, 7])('every key is in the range of one of %i shards, the one that the service puts it in', (count) => {
    const border = (i: number): bigint => (2n ** 128n * BigInt(i)) / BigInt(count);
    const shards = Array.from({ length: count }, (_, i) => shard(String(i), { hashes: { from: border(i), to: border(i + 1) - 1n } }));
    for (let i = 0; i < 500; i++) {
      const at = placementOfPartitionKey(encodeKey(`user-${i}`));
      const found = shards.filter((one) => {
        const { range } = splitOfShard(one);
        return range.from <= at && at <= range.to;
      });
      const hash = BigInt(`0x${createHash('md5').update(`user-${i}`).digest('hex')}`);
      expect(found).toEqual(shards.filter(({ hashes }) => hashes.from <= hash && hash <= hashes.to));
    }
  });

  test('shards whose parents the stream has forgotten come first, and the others are told as changes', () => {
    const all = [
      shard('b', { parents: ['gone'], isClosed: true }),
      shard('c', { parents: ['b'] }),
      shard('d', { parents: ['b'], isClosed: true }),
      shard('e', { isClosed: true }),
      shard('f', { parents: ['e', 'd'] }),
    ];
    expect(firstShards(all).map(({ id }) => id)).toEqual(['b', 'e']);
    expect(shardChanges(all).map(({ parents, children }) => [parents, children.map(({ id }) => id)])).toEqual([
      [['b'], ['c', 'd']],
      [['d', 'e'], ['f']],
    ]);
  });
});

describe('a shard', () => {
  test('goes on at the last record that was read when a cursor has become too old, also before the first record', async () => {
    const stream = new FakeStream();
    stream.all.push(shard('s', { isClosed: true }));
    stream.put('s', '1\n2', '3', '4\n5\n6', '7');
    stream.expires = [1, 4, 5, 8];
    const read = await readAll(kinesis('clicks', { format: ndjson() }).open({ id: 's' }, undefined, contextOf(stream)));
    expect(read.map(({ value }) => value)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(read.map(({ after }) => after.index)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('is read to its end through pages that are empty, and from every place on', async () => {
    const stream = new FakeStream();
    stream.all.push(shard('s', { isClosed: true }));
    stream.put('s', ...Array.from({ length: 9 }, (_, i) => JSON.stringify({ i })));
    const source = kinesis('clicks');
    const whole = await readAll(source.open({ id: 's' }, undefined, contextOf(stream)));
    expect(whole.map(({ value }) => value)).toEqual(Array.from({ length: 9 }, (_, i) => ({ i })));
    expect(whole.map(({ after }) => after.index)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const [i, { after }] of whole.entries())
      expect(await readAll(source.open({ id: 's' }, after, contextOf(stream)))).toEqual(whole.slice(i + 1));
  });

  test('goes on in the middle of a record that holds several', async () => {
    const stream = new FakeStream();
    stream.all.push(shard('s', { isClosed: true }));
    stream.put('s', '1\n2\n3', '4\n5');
    const source = kinesis('clicks', { format: ndjson() });
    const whole = await readAll(source.open({ id: 's' }, undefined, contextOf(stream)));
    expect(whole.map(({ value }) => value)).toEqual([1, 2, 3, 4, 5]);
    for (const [i, { after }] of whole.entries())
      expect((await readAll(source.open({ id: 's' }, after, contextOf(stream)))).map(({ value }) => value)).toEqual(
        [1, 2, 3, 4, 5].slice(i + 1),
      );
  });

  test('C42: does not begin behind records that the stream threw away, and says which', async () => {
    const stream = new FakeStream();
    stream.all.push(shard('s', { isClosed: true }));
    stream.put('s', ...Array.from({ length: 9 }, (_, i) => `{"i":${i}}`));
    const source = kinesis('clicks');
    const whole = await readAll(source.open({ id: 's' }, undefined, contextOf(stream)));
    const kept = stream.records.get('s')!.slice(5);
    stream.records.set('s', kept);
    const gone = readAll(source.open({ id: 's' }, whole[2]!.after, contextOf(stream)));
    await expect(gone).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      details: { first: `behind ${10n ** 55n + 14n}`, last: `before ${kept[0]!.sequence}` },
    });
    expect(await readAll(source.open({ id: 's' }, whole[5]!.after, contextOf(stream)))).toEqual(whole.slice(6));
    expect((await readAll(source.open({ id: 's' }, undefined, contextOf(stream)))).length, 'who begins takes what there is').toBe(4);
  });

  test('is over when it is closed and nothing lies behind the position', async () => {
    const stream = new FakeStream();
    stream.put('s', '1', '2', '3');
    stream.all.push(shard('s', { isClosed: true }));
    const source = kinesis('clicks');
    const ctx = contextOf(stream);
    const [, second, third] = await readAll(source.open({ id: 's' }, undefined, ctx));
    const isOver = (position: SplitPosition | undefined) => source.evolution!.isOver!({ id: 's' }, position, ctx);
    expect(await isOver(undefined)).toBe(false);
    expect(await isOver(second!.after)).toBe(false);
    expect(await isOver(third!.after)).toBe(true);
    stream.all[0] = shard('s');
    expect(await isOver(third!.after)).toBe(false);
  });

  test('is not over while malformed records that go to a side output lie behind the position', async () => {
    const stream = new FakeStream();
    stream.put('s', '1', 'bad', 'bad');
    stream.all.push(shard('s', { isClosed: true }));
    const source = kinesis('clicks', { format: json({ onError: new OutputTag('bad') }) });
    const [, next, last] = stream.records.get('s')!;
    const isOver = (sequence: string) => source.evolution!.isOver!({ id: 's' }, { index: 1, at: { sequence, sub: 0 } }, contextOf(stream));
    expect(await isOver(next!.sequence)).toBe(false);
    expect(await isOver(last!.sequence)).toBe(true);
  });
});

describe('the source', () => {
  test('gives the shards that come first as splits with their ranges', async () => {
    const stream = new FakeStream();
    stream.all.push(shard('a', { isClosed: true }), shard('b', { parents: ['a'] }));
    const source = kinesis('clicks');
    expect(await source.enumerate(contextOf(stream))).toEqual([{ id: 'a', range: { from: 0, to: 2 ** 32 - 1 } }]);
    expect(source.binding).toEqual({ name: 'clicks', kinds: ['kinesis'] });
  });

  test('that is bound to nothing says what to give', async () => {
    await expect(kinesis('clicks').enumerate(contextOf(undefined))).rejects.toThrow(/'clicks' is bound to nothing/);
  });

  test('reads a record that is one JSON value over several lines, and sends what is none where onError says', () => {
    const bad = new OutputTag<MalformedRecord>('bad');
    const source = kinesis('clicks', { format: json({ onError: bad }) });
    const aside: unknown[] = [];
    const out: SourceOutput<unknown> = { values: [], count: 0, side: (_tag, value) => aside.push(value) };
    source.readRecord!(Buffer.from('{\n "a": 1\n}'), out);
    source.readRecord!(Buffer.from('{"a":'), out);
    expect(out.values).toEqual([{ a: 1 }]);
    expect(aside).toMatchObject([{ file: "a record of 'clicks'", text: '{"a":' }]);
    expect(() => kinesis('clicks').readRecord!(Buffer.from('no'), out)).toThrow(/a record of 'clicks' line 1: not JSON/);
  });

  test('refuses wrong options at once', () => {
    expect(() => kinesis('clicks', { formt: json() } as never)).toThrow(/did you mean 'format'/);
    expect(() => kinesis('', {})).toThrow(/cannot be the name of kinesis/);
  });
});
