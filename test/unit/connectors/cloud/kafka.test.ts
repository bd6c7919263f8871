// What a restore reads of a topic: from the place that a checkpoint has on, one slice after the other.
import { describe, expect, test } from 'vitest';
import { OutputTag } from '../../../../lib/api/functions.ts';
import type { SourceContext, SplitPosition } from '../../../../lib/api/source.ts';
import { kafka } from '../../../../lib/connectors/cloud/kafka.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { readRecords } from '../../../../lib/invocation/event-records.ts';
import { FakeTopic } from '../../../support/fake-topic.ts';

const source = kafka<number>('numbers', { format: ndjson() });

/** A reader of its own for each slice, as pulses ask for them. */
async function slice(topic: FakeTopic, from: SplitPosition | undefined, recordsMax: number, { of = source, malformed = 0 } = {}) {
  const clock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  const context = { uid: 'in', job: 'j', clock, targets: topic.targets, countSkipped: () => undefined } as unknown as SourceContext;
  const reader = of.open({ id: 'partition-0', partition: 0 }, from, context);
  const { records } = await readRecords(reader, { recordsMax, malformed, isPlaced: true });
  await reader.close();
  return { records, values: records.map(({ value }) => value), after: records.at(-1)?.after ?? from };
}

describe('messages of several records', () => {
  test('are read whole, wherever a slice ends in them', async () => {
    for (const recordsMax of [1, 2, 4]) {
      const topic = new FakeTopic(1);
      for (const value of ['1\n2\n3', '4', '5\n6\n7', '8\n9']) topic.put(0, value);
      const values: unknown[] = [];
      for (let from: SplitPosition | undefined, left = true; left; ) {
        const read = await slice(topic, from, recordsMax);
        values.push(...read.values);
        left = read.values.length > 0;
        from = read.after;
      }
      expect(values, `${recordsMax} at a time`).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
  });
});

describe('malformed records that go to a side output', () => {
  const aside = kafka<number>('numbers', { format: ndjson({ onError: new OutputTag('malformed') }) });

  test('are read once, wherever a slice ends, and have the place of their message', async () => {
    const whole = ['a 0', '1 1', 'b 2', 'c 3', '2 3', '3 3', 'd 4', 'e 5', 'f 6', 'g 7', '4 8', 'h 9'];
    for (const recordsMax of [1, 2, 3]) {
      const topic = new FakeTopic(1);
      for (const value of ['a', '1', 'b', '2\nc\n3', 'd', 'e', 'f', 'g', '4', 'h']) topic.put(0, value);
      const read: string[] = [];
      const names: (number | undefined)[] = [];
      let from: SplitPosition | undefined;
      for (let slices = 0; slices < 20; slices++) {
        const { records, after } = await slice(topic, from, recordsMax, { of: aside, malformed: names.length });
        const textOf = (value: unknown): string => (value as { readonly text?: string }).text ?? String(value);
        read.push(...records.map(({ value, after: { at } }) => `${textOf(value)} ${(at as { readonly sequence: string }).sequence}`));
        names.push(...records.flatMap(({ side, nth }) => (side === undefined ? [] : [nth])));
        from = after;
      }
      expect(read, `${recordsMax} at a time`).toEqual(whole);
      expect(names).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(from).toEqual({ index: 4, at: { sequence: '9', sub: 0 } });
    }
  });
});

describe('what the topic has thrown away', () => {
  const after = { index: 2, at: { sequence: '1', sub: 0 } };
  const trimmed = (before: number): FakeTopic => {
    const topic = new FakeTopic(1);
    for (const value of ['1', '2', '3', '4']) topic.put(0, value);
    topic.trim(0, before);
    return topic;
  };

  test('is not missed up to the record that was read last', async () => {
    expect((await slice(trimmed(2), after, 9)).values).toEqual([3, 4]);
  });

  test('is told behind it', async () => {
    await expect(slice(trimmed(3), after, 9)).rejects.toMatchObject({ code: 'INPUT_CHANGED', details: { first: '2', last: '2' } });
  });
});
