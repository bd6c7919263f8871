import { describe, expect, test } from 'vitest';
import type { RecordBatch, StreamElement } from '../../../lib/core/batch.ts';
import type { Exchange, Plan, Stage } from '../../../lib/graph/plan.ts';
import type { CommittedMessage } from '../../../lib/invocation/entry.ts';
import type { Owner } from '../../../lib/invocation/job-item.ts';
import type { ChannelMessage } from '../../../lib/invocation/message.ts';
import { decodeMessage } from '../../../lib/invocation/message-codec.ts';
import { Outbox } from '../../../lib/invocation/outbox.ts';

const hash: Exchange = {
  id: 3,
  fromStage: 0,
  outlet: 0,
  toStage: 1,
  input: 0,
  partitioning: { kind: 'hash', selector: (value) => value },
};
const forward: Exchange = { id: 4, fromStage: 0, outlet: 1, toStage: 2, input: 0, partitioning: { kind: 'forward' } };
const stages = [
  { id: 0, parallelism: 2, inputs: [], outlets: [hash, forward] },
  { id: 1, parallelism: 2, inputs: [hash], outlets: [] },
  { id: 2, parallelism: 2, inputs: [forward], outlets: [] },
] as const;
const plan = { job: 'j', stages: stages as unknown as readonly Stage[] } as Plan;

const owner = (stage: number, index: number): Owner => ({ subtask: `${stage}-${index}`, stage, index, splits: [] });
const owners = [owner(0, 0), owner(0, 1), owner(1, 0), owner(1, 1), owner(2, 0), owner(2, 1)];
const outbox = new Outbox({ plan, owner: owner(0, 1), owners });
const head = { generation: 2, sent: [['3/1-0', 8] as const, ['4/2-1', 1] as const] };

const batch: RecordBatch = { values: ['x'], count: 1, keys: undefined, timestamps: undefined, origins: undefined };
const records: StreamElement = { kind: 'records', batch };
const watermark = (timestamp: number): StreamElement => ({ kind: 'watermark', timestamp });
const barrier: StreamElement = { kind: 'barrier', checkpoint: 6 };

const to = (outlet: number, target: number, element: StreamElement) => ({ outlet, target, element });

function read(messages: readonly CommittedMessage[]): readonly (readonly [string, number, ...string[]])[] {
  return messages.map(({ exchange, target, sequence, bytes }) => {
    const message = decodeMessage(bytes) as ChannelMessage;
    expect(message).toMatchObject({ generation: 2, sender: '0-1', exchange, target, sequence });
    return [
      `${exchange}/${target}`,
      sequence,
      ...message.elements.map((one) => (one.kind === 'watermark' ? `watermark ${one.timestamp}` : one.kind)),
    ];
  });
}

describe('what a unit sends', () => {
  test('is one message for each target, with elements in order and the next numbers', () => {
    const { messages, sent } = outbox.pack([to(0, 0, records), to(0, 1, records), to(0, 0, watermark(4)), to(1, 1, records)], head);
    expect(read(messages)).toEqual([
      ['3/1-0', 9, 'records', 'watermark 4'],
      ['3/1-1', 1, 'records'],
      ['4/2-1', 2, 'records'],
    ]);
    expect(sent).toEqual([
      ['3/1-0', 9],
      ['4/2-1', 2],
      ['3/1-1', 1],
    ]);
  });

  test('is nothing when there is nothing to say', () => {
    expect(outbox.pack([], head)).toEqual({ messages: [], sent: head.sent });
  });

  test('O2: has each barrier in a message of its own', () => {
    const { messages } = outbox.pack([to(0, 0, records), to(0, 0, barrier), to(0, 0, watermark(4)), to(0, 0, records)], head);
    expect(read(messages)).toEqual([
      ['3/1-0', 9, 'records'],
      ['3/1-0', 10, 'barrier'],
      ['3/1-0', 11, 'watermark 4', 'records'],
    ]);
  });

  test('has one watermark where several follow each other', () => {
    const { messages } = outbox.pack([to(0, 0, watermark(3)), to(0, 0, watermark(4)), to(0, 0, records), to(0, 0, watermark(5))], head);
    expect(read(messages)).toEqual([['3/1-0', 9, 'watermark 4', 'records', 'watermark 5']]);
  });

  test('O2: names successors to every target, behind everything else', () => {
    const { messages } = outbox.pack([to(0, 0, records)], head, { kind: 'successors', senders: ['0-s4'] });
    expect(read(messages)).toEqual([
      ['3/1-0', 9, 'records', 'successors'],
      ['3/1-1', 1, 'successors'],
      ['4/2-1', 2, 'successors'],
    ]);
  });
});
