import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SplitPosition } from '../../../lib/api/source.ts';
import { type KinesisPart, kinesisAnswerOf } from '../../../lib/aws/kinesis-event.ts';
import { type DeliveredRecord, readEvents } from '../../../lib/aws/read-events.ts';
import { compareStreamPlaces } from '../../../lib/connectors/cloud/stream-places.ts';
import { json, kinesis, ndjson, OutputTag } from '../../../lib/index.ts';
import { countedRecords, SourceIntake, uncounted, unreadSplit } from '../../../lib/invocation/source-intake.ts';

const record = (number: string, data: string): DeliveredRecord => ({ number, data: Buffer.from(data) });

const partOf = (...records: readonly DeliveredRecord[]): KinesisPart => {
  const { events, numbers } = readEvents(kinesis('clicks', { format: ndjson() }), records);
  return { numbers, invocation: { kind: 'records', subtask: '0-s0', split: 0, records: events, isLast: false } };
};

test('a record of the stream becomes records, each with its place', () => {
  const { invocation, numbers } = partOf(record('7', '1\n2'), record('90', '3'));
  expect(invocation.records).toEqual([
    { value: 1, after: { index: uncounted, at: { sequence: '7', sub: 0 } } },
    { value: 2, after: { index: uncounted, at: { sequence: '7', sub: 1 } } },
    { value: 3, after: { index: uncounted, at: { sequence: '90', sub: 0 } } },
  ]);
  expect(numbers).toEqual(['7', '7', '90']);
});

test('an answer names the lowest number that is not committed, as a whole number', () => {
  const part = partOf(record('9', '1'), record('10', '2'), record('100', '3'));
  const failures = (answer: Parameters<typeof kinesisAnswerOf>[0][number]['answer']) =>
    kinesisAnswerOf([{ part, answer }]).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  expect(failures({ kind: 'done' })).toEqual([]);
  expect(failures({ kind: 'partial', count: 1, why: 'out-of-time' })).toEqual(['10']);
  expect(failures({ kind: 'partial', count: 2, why: 'out-of-time' })).toEqual(['100']);
  expect(failures({ kind: 'refused', why: 'contended' })).toEqual(['9']);
  expect(failures(undefined)).toEqual(['9']);
});

test('what lies before a record that cannot be read is taken, and that record comes again', () => {
  const part = partOf(record('1', '1'), record('2', '{"a":'), record('3', '3'));
  expect(part.invocation.records.map(({ value }) => value)).toEqual([1]);
  expect(kinesisAnswerOf([{ part, answer: { kind: 'done' } }]).batchItemFailures).toEqual([{ itemIdentifier: '2' }]);
  expect(() => partOf(record('2', '{"a":'), record('3', '3'))).toThrow(expect.objectContaining({ code: 'MALFORMED_RECORD' }));
});

test('records that an event does not count are counted on from the place that was committed, and repeats are known', () => {
  const { records } = partOf(record('7', '1\n2'), record('90', '3'), record('100', '4')).invocation;
  const indexes = (position: SplitPosition | undefined) =>
    countedRecords(records, { position, malformed: 0 }, compareStreamPlaces).map(({ after }) => after.index);
  expect(indexes(undefined)).toEqual([1, 2, 3, 4]);
  expect(indexes({ index: 40, at: { sequence: '7', sub: 0 } })).toEqual([40, 41, 42, 43]);
  expect(indexes({ index: 41, at: { sequence: '7', sub: 1 } })).toEqual([41, 41, 42, 43]);
  expect(indexes({ index: 43, at: { sequence: '100', sub: 0 } })).toEqual([43, 43, 43, 43]);
});

describe('malformed records that go to a side output', () => {
  const source = kinesis('clicks', { format: json({ onError: new OutputTag('malformed') }) });
  const body = Buffer.from([0x1a, 4, 0x08, 0, 0x1a, 0]);
  const packed = { number: '4', data: Buffer.concat([Buffer.from('f3899ac2', 'hex'), body, createHash('md5').update(body).digest()]) };
  const bad = (number: string): DeliveredRecord => record(number, `bad ${number}`);

  /** Takes events one after the other. */
  function shard() {
    const taken: unknown[] = [];
    let head = { splits: [unreadSplit(0, { id: 'shard' })], watermark: Number.NEGATIVE_INFINITY };
    return {
      taken,
      split: () => head.splits[0],
      take(...records: readonly DeliveredRecord[]) {
        const options = {
          head,
          uid: 'clicks',
          watermarks: undefined,
          isEager: true,
          origins: 'clicks/',
          comparePlaces: compareStreamPlaces,
        };
        const intake = new SourceIntake(options);
        const event = intake.counted({ split: 0, records: readEvents(source, records).events, isLast: false, isReplay: false });
        const outcome = intake.take(event, {
          records: (batch) => void taken.push([batch.values[0], batch.origins?.at(0)]),
          side: (_, value, cause) => void taken.push([(value as { readonly text: string }).text, cause]),
          watermark: () => undefined,
        });
        head = { ...head, splits: intake.parts().splits.slice() };
        return outcome;
      },
    };
  }

  test('the last ones of an event leave the count of good ones as it is', () => {
    const { take, taken, split } = shard();
    expect([take(record('1', '1'), bad('2')), take(bad('3')), take(record('4', '4'))]).toEqual(Array(3).fill({ kind: 'all' }));
    expect(split()).toMatchObject({ position: { index: 2, at: { sequence: '4', sub: 0 } }, malformed: 2 });
    expect(taken).toEqual([
      ['bad 2', 'clicks/shard/malformed-0'],
      [1, 'clicks/shard/0'],
      ['bad 3', 'clicks/shard/malformed-1'],
      [4, 'clicks/shard/1'],
    ]);
  });

  test('are known when they come again, also with others behind them', () => {
    const { take, taken, split } = shard();
    for (const more of [[], [record('3', '3')], [record('3', '3'), bad('4')]]) take(record('1', '1'), bad('2'), ...more);
    expect(taken.map((one) => (one as readonly unknown[])[0])).toEqual(['bad 2', 1, 3, 'bad 4']);
    expect(split()).toMatchObject({ position: { index: 2 }, malformed: 2 });
  });

  test('are taken before one that cannot be read', () => {
    const { events, numbers } = readEvents(source, [record('1', '1'), bad('2'), bad('3'), packed]);
    expect(events.map(({ side }) => side)).toEqual([undefined, 'malformed', 'malformed']);
    expect(numbers).toEqual(['1', '2', '3', '4']);
    expect(readEvents(source, [bad('3'), packed]).numbers).toEqual(['3', '4']);
  });
});
