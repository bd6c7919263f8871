// What an event of a queue becomes, and what is answered for it.
import { describe, expect, it } from 'vitest';
import { answerOf, exchangeParts, isSqsEvent, queueParts, type SqsEvent, uncommitted } from '../../../lib/aws/sqs-event.ts';
import type { Answer } from '../../../lib/invocation/invocation.ts';
import { type LaneQueue, laneOf } from '../../../lib/invocation/lane/queues.ts';
import { fifoEvent, standardEvent } from './events.ts';

const queueOf = (order: 'fifo' | 'standard', lanes = 2): LaneQueue => ({
  uid: 'clicks',
  stage: 0,
  queue: { order, lanes, retentionMs: 345_600_000, read: () => undefined },
});

/** Two groups of different lanes. */
const lanes = queueOf('fifo').queue;
const one = 'a';
const other = 'bcdefghijkl'.split('').find((group) => laneOf({ id: '', group }, lanes) !== laneOf({ id: '', group: one }, lanes))!;

function failuresOf(event: SqsEvent, answers: readonly (Answer | undefined)[], queue?: LaneQueue): readonly string[] {
  const parts = queue === undefined ? exchangeParts(event) : queueParts(event, queue);
  const failed = parts.flatMap((part, i) => uncommitted(part, answers[i]));
  return answerOf(event, failed).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

const done: Answer = { kind: 'done' };
const refused: Answer = { kind: 'refused', why: 'sealed' };

describe('an event of the exchange', () => {
  const event = fifoEvent([
    { id: 'm1', group: '1-0', body: Buffer.from('first').toString('base64') },
    { id: 'm2', group: '1-1', body: '.' },
    { id: 'm3', group: '1-0', body: Buffer.from('third').toString('base64'), receives: 2 },
  ]);

  it('is a unit for each subtask, its messages in order, and says of each whether somebody had it before', () => {
    expect(exchangeParts(event).map(({ invocation }) => invocation)).toEqual([
      { kind: 'messages', subtask: '1-0', messages: [Buffer.from('first'), Buffer.from('third')], isAgain: true },
      { kind: 'messages', subtask: '1-1', messages: [new Uint8Array(0)], isAgain: false },
    ]);
  });

  it('is refused when a message has no group', () => {
    expect(() => exchangeParts(standardEvent([{ id: 'm' }]))).toThrow(expect.objectContaining({ code: 'SUBTASK_UNKNOWN' }));
  });

  const rows: readonly (readonly [string, readonly (Answer | undefined)[], readonly string[]])[] = [
    ['nothing when all is committed', [done, done], []],
    ['every message of a part that was refused', [refused, done], ['m1', 'm3']],
    ['every message of a part that failed', [done, undefined], ['m2']],
    ['what is behind the committed ones of a part', [{ kind: 'partial', count: 1, why: 'gap' }, done], ['m3']],
    ['all of a part of which none is committed', [{ kind: 'partial', count: 0, why: 'gap' }, done], ['m1', 'm3']],
    ['all, in the order of the event, when all was refused', [refused, refused], ['m1', 'm2', 'm3']],
  ];
  it.each(rows)('is answered with %s', (_, answers, failures) => {
    expect(failuresOf(event, answers)).toEqual(failures);
  });
});

describe('an event of a FIFO queue that is read', () => {
  const event = fifoEvent([
    { id: 'm1', group: one },
    { id: 'm2', group: other },
    { id: 'm3', group: one, receives: 3 },
    { id: 'm4', group: one },
  ]);

  it('is a unit for each lane, with what a message is known by', () => {
    const [first, second] = queueParts(event, queueOf('fifo'));
    expect(second?.records.map(({ messageId }) => messageId)).toEqual(['m2']);
    expect(first?.invocation).toMatchObject({
      kind: 'queue',
      messages: [
        { id: 'm1', group: one, sequence: '18849496460467696128', sentMs: 1_573_251_510_774, receives: 1, body: 'm1' },
        { id: 'm3', group: one, sequence: '18849496460467696640', receives: 3 },
        { id: 'm4', group: one },
      ],
    });
  });

  const settled = (...ids: readonly string[]): Answer => ({ kind: 'partial', count: ids.length, why: 'record-failed', settled: ids });
  const rows: readonly (readonly [string, readonly (Answer | undefined)[], readonly string[]])[] = [
    ['nothing when all is settled', [done, done], []],
    ['a message that is not settled, and every later one of its group', [settled('m1'), done], ['m3', 'm4']],
    ['a later one that is settled too, when one before it is not', [settled('m1', 'm4'), done], ['m3', 'm4']],
    ['all of a partial answer that settles none', [settled(), done], ['m1', 'm3', 'm4']],
    ['all of a lane that was refused, and none of another', [refused, done], ['m1', 'm3', 'm4']],
    ['all of a lane whose unit failed', [done, undefined], ['m2']],
  ];
  it.each(rows)('is answered with %s', (_, answers, failures) => {
    expect(failuresOf(event, answers, queueOf('fifo'))).toEqual(failures);
  });

  it('keeps groups of one lane apart: one that fails does not hold up another', () => {
    const mixed = fifoEvent([
      { id: 'm1', group: one },
      { id: 'm2', group: other },
      { id: 'm3', group: one },
    ]);
    expect(failuresOf(mixed, [settled('m2')], queueOf('fifo', 1))).toEqual(['m1', 'm3']);
    expect(failuresOf(mixed, [settled('m1', 'm3')], queueOf('fifo', 1))).toEqual(['m2']);
  });
});

describe('an event of a queue without order', () => {
  const event = standardEvent([{ id: 'm1', group: 'tenant' }, { id: 'm2', group: 'tenant' }, { id: 'm3' }]);

  it('is answered with what is not settled and nothing else, also where messages have a group for fair shares', () => {
    const answer: Answer = { kind: 'partial', count: 2, why: 'record-failed', settled: ['m2', 'm3'] };
    expect(failuresOf(event, [answer], queueOf('standard', 1))).toEqual(['m1']);
  });

  it('knows messages by their ids', () => {
    const [part] = queueParts(event, queueOf('standard', 1));
    expect(part?.invocation).toMatchObject({ messages: [{ id: 'm1' }, { id: 'm2' }, { id: 'm3', group: '', body: 'm3' }] });
  });
});

describe('what is an event of a queue', () => {
  it.each([{}, { Records: [] }, { Records: [{ eventSource: 'aws:s3' }] }, { Records: 'none' }])('is not %j', (event) => {
    expect(isSqsEvent(event)).toBe(false);
  });
});
