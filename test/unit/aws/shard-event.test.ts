// Events of an exchange that is a stream: which subtask each record is for, and what is answered.
import { describe, expect, test } from 'vitest';
import type { StreamTarget } from '../../../lib/api/targets.ts';
import type { KinesisEvent } from '../../../lib/aws/kinesis-event.ts';
import { lookAhead, shardAnswerOf, shardParts, stopsAtGap, waitingOf } from '../../../lib/aws/shard-event.ts';
import type { Answer } from '../../../lib/invocation/invocation.ts';
import { encodeMessage } from '../../../lib/invocation/message-codec.ts';

const message = (target: string, sequence: number): Uint8Array =>
  encodeMessage({ generation: 1, exchange: 0, sender: '0-0', target, sequence, elements: [] });

/** Records by number, partition key and message. */
const eventOf = (...records: readonly (readonly [number: string, key: string, data: Uint8Array])[]): KinesisEvent => ({
  Records: records.map(([number, key, data]) => ({
    ...{ eventID: `shard:${number}`, eventSource: 'aws:kinesis', eventSourceARN: 'arn' },
    kinesis: { data: Buffer.from(data).toString('base64'), partitionKey: key, sequenceNumber: number },
  })),
});

const event = eventOf(
  ['9', '1-0', message('1-0', 1)],
  ['10', '1-1', message('1-1', 1)],
  ['100', '1-0', message('1-0', 2)],
  ['101', 'somebody', new Uint8Array([1])],
  ['102', '2-0', message('2-0', 1)],
  ['103', '1-1', message('1-1', 2)],
);
const { parts, foreign } = shardParts(1, event);

describe('an event', () => {
  test('is a unit for each subtask, its messages in order; nothing is said of how often they came', () => {
    expect(parts.map(({ invocation, numbers }) => [invocation.subtask, numbers])).toEqual([
      ['1-0', ['9', '100']],
      ['1-1', ['10', '103']],
    ]);
    expect(parts[0]!.invocation.messages.map((bytes) => Uint8Array.from(bytes))).toEqual([message('1-0', 1), message('1-0', 2)]);
    expect(parts[0]!.invocation.isAgain).toBeUndefined();
  });

  test('may hold what is no message for this stage', () => {
    expect(foreign.map(({ kinesis }) => kinesis.partitionKey)).toEqual(['somebody', '2-0']);
  });

  const done: Answer = { kind: 'done' };
  const rows: readonly (readonly [string, readonly (Answer | undefined)[], string | undefined])[] = [
    ['nothing when all is committed', [done, done], undefined],
    [
      'the lowest number that is not, as a whole number',
      [
        { kind: 'partial', count: 1, why: 'gap' },
        { kind: 'refused', why: 'sealed' },
      ],
      '10',
    ],
    ['what a neighbour waits for, whatever others have committed behind it', [{ kind: 'refused', why: 'contended' }, done], '9'],
    ['the first of a part that failed', [done, undefined], '10'],
    ['what is behind the committed ones', [done, { kind: 'partial', count: 1, why: 'record-failed' }], '103'],
  ];
  test.each(rows)('is answered with %s', (_, answers, number) => {
    const open = parts.flatMap((part, i) => waitingOf(part, answers[i]).flatMap((one) => one.number ?? []));
    expect(shardAnswerOf(open)).toEqual({ batchItemFailures: number === undefined ? [] : [{ itemIdentifier: number }] });
  });

  test('is looked past only at a gap', () => {
    expect(stopsAtGap({ kind: 'refused', why: 'gap' })).toBe(true);
    expect(stopsAtGap({ kind: 'partial', count: 1, why: 'gap' })).toBe(true);
    for (const answer of [done, undefined, { kind: 'refused', why: 'sealed' } as const]) expect(stopsAtGap(answer)).toBe(false);
  });
});

describe('looking ahead', () => {
  type Page = Awaited<ReturnType<StreamTarget['read']>>;
  function streamOf(...pages: readonly Page[]) {
    const asked: string[] = [];
    const stream = {
      begin: async (shard: string, at: string) => {
        asked.push(`${shard} from ${at}`);
        return '0';
      },
      read: async (cursor: string) => {
        asked.push(cursor);
        return pages[Number(cursor)]!;
      },
    } as unknown as StreamTarget;
    return { stream, asked };
  }
  const last = { sequence: '103', data: message('1-1', 2) };

  test('finds what is for the subtask behind the event, over a few pages and empty ones', async () => {
    const { stream, asked } = streamOf(
      { records: [last, { sequence: '104', data: message('1-0', 3) }], next: '1' },
      { records: [], next: '2' },
      {
        records: [
          { sequence: '105', data: message('1-1', 3) },
          { sequence: '106', data: new Uint8Array([255]) },
        ],
        next: '3',
      },
    );
    expect(await lookAhead(stream, event, '1-1')).toEqual([message('1-1', 3)]);
    expect(asked).toEqual(['shard from 103', '0', '1', '2']);
  });

  test('ends with the shard, and with an iterator that is too old', async () => {
    const closed = streamOf({ records: [last], next: undefined });
    expect(await lookAhead(closed.stream, event, '1-1')).toEqual([]);
    expect(closed.asked).toHaveLength(2);
    expect(await lookAhead(streamOf('expired').stream, event, '1-1')).toEqual([]);
  });
});
