// Records that a producer's library has packed into one, beside data that looks like it.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SourceOutput } from '../../../../lib/api/source.ts';
import { readEvents } from '../../../../lib/aws/read-events.ts';
import { aggregationOf } from '../../../../lib/connectors/cloud/aggregated.ts';
import { json, kinesis, type MalformedRecord, OutputTag } from '../../../../lib/index.ts';

const magic = Buffer.from('f3899ac2', 'hex');
const field = (number: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
/** A table of partition keys, and a record of each: the index of its key, and its data. */
const body = Buffer.concat([
  field(1, Buffer.from('ada')),
  field(1, Buffer.from('bob')),
  ...[0, 1].map((key) => field(3, Buffer.concat([Buffer.from([0x08, key]), field(3, Buffer.from(`{"n":${key}}`))]))),
]);
const md5 = (bytes: Uint8Array): Buffer => createHash('md5').update(bytes).digest();
const container = Buffer.concat([magic, body, md5(body)]);

function flipped(at: number): Buffer {
  const damaged = Buffer.from(container);
  damaged[at]! ^= 1;
  return damaged;
}

describe('C43: a record that holds others', () => {
  test('is told by its first bytes and by its sum', () => {
    expect(aggregationOf(container)).toBe('whole');
    const long = Buffer.concat([Buffer.from([0x1a, 0xac, 0x02]), Buffer.alloc(300)]); // a length of two bytes
    expect(aggregationOf(Buffer.concat([magic, long, md5(long)]))).toBe('whole');
  });

  test('with a flipped bit in its data or in its sum is damaged', () => {
    expect(aggregationOf(flipped(container.length - 1))).toBe('damaged');
    expect(aggregationOf(flipped(container.length - 18))).toBe('damaged');
    expect(aggregationOf(flipped(magic.length + 3))).toBe('damaged');
  });

  test('is no data that only begins like it', () => {
    for (const data of [
      magic,
      Buffer.concat([magic, Buffer.from('x')]),
      Buffer.concat([magic, Buffer.from('nothing that is packed at all, only text')]),
    ])
      expect(aggregationOf(data)).toBeUndefined();
    expect(aggregationOf(Buffer.concat([magic, field(1, Buffer.from('a key and no record')), Buffer.alloc(16)]))).toBeUndefined();
    expect(aggregationOf(Buffer.from('{"n":1}'))).toBeUndefined();
    expect(aggregationOf(new Uint8Array(0))).toBeUndefined();
  });

  test('is refused by name whatever the format does with what it cannot read, and what lies before it is taken', () => {
    const aside = new OutputTag<MalformedRecord>('aside');
    for (const format of [json(), json({ onError: 'skip' }), json({ onError: aside })]) {
      const source = kinesis('clicks', { format });
      const out: SourceOutput<unknown> = { values: [], count: 0, side: () => undefined };
      expect(() => source.readRecord!(container, out)).toThrow(/packed together \(KPL\); they are not taken apart/);
      source.readRecord!(flipped(container.length - 1), out);
      expect(out).toMatchObject({
        count: 1,
        values: [{ bytes: Uint8Array.from(flipped(container.length - 1)), error: { code: 'RECORD_DAMAGED' } }],
      });
      const { events, numbers } = readEvents(source, [
        { number: '1', data: Buffer.from('{"n":1}') },
        { number: '2', data: container },
        { number: '3', data: Buffer.from('{"n":3}') },
      ]);
      expect([events.map(({ value }) => value), numbers]).toEqual([[{ n: 1 }], ['1', '2']]);
    }
  });

  test('data that only begins like it is for the format', () => {
    const aside = new OutputTag<MalformedRecord>('aside');
    const sides: unknown[] = [];
    const out: SourceOutput<unknown> = { values: [], count: 0, side: (_, value) => sides.push(value) };
    kinesis('clicks', { format: json({ onError: aside }) }).readRecord!(Buffer.concat([magic, Buffer.from('x')]), out);
    expect(sides).toHaveLength(1);
  });
});
