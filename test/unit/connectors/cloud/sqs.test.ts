import { describe, expect, test } from 'vitest';
import type { SourceOutput } from '../../../../lib/api/source.ts';
import { sqs } from '../../../../lib/connectors/cloud/sqs.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';

function read(body: unknown, o: Parameters<typeof sqs>[1] = {}): readonly unknown[] {
  const out: SourceOutput<unknown> = { values: [], count: 0, side: () => undefined };
  sqs('orders', o).queue!.read(body, out);
  return out.values.slice(0, out.count);
}

describe('a queue as a source', () => {
  test('a message is one JSON value unless a format says otherwise', () => {
    expect(read('{ "shop":\n "a" }')).toEqual([{ shop: 'a' }]);
    expect(read('{"shop":"a"}\n{"shop":"ü"}', { format: ndjson() })).toEqual([{ shop: 'a' }, { shop: 'ü' }]);
  });

  test('a message that cannot be read is the message’s fault', () => {
    expect(() => read('not json')).toThrow(/a message of 'orders'/);
    expect(() => read('{', { format: ndjson() })).toThrow();
  });

  test('it says what it is bound to, how it delivers and for how long', () => {
    expect(sqs('orders', { fifo: true, lanes: 4, retention: '14 d' })).toMatchObject({
      binding: { name: 'orders', kinds: ['sqs'] },
      isRereadable: false,
      queue: { order: 'fifo', lanes: 4, retentionMs: 1_209_600_000 },
    });
    expect(sqs('orders').queue).toMatchObject({ order: 'standard', lanes: 2, retentionMs: 345_600_000 });
  });

  test('options out of range are told at once', () => {
    expect(() => sqs('orders', { lanes: 0 })).toThrow('lanes is a whole number from 1 to 1000');
    expect(() => sqs('orders', { retention: '15 d' })).toThrow('retention is 1 min to 14 d');
    expect(() => sqs('orders', { lane: 2 } as never)).toThrow(/lane/);
  });
});
