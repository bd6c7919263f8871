// The handler of a stage over an environment that answers as it is told.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerOfControl, controlEvent } from '../../../lib/aws/control-call.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import type { KinesisAnswer } from '../../../lib/aws/kinesis-event.ts';
import { handleStage, type StageEvent } from '../../../lib/aws/stage-handler.ts';
import { SluiceError } from '../../../lib/core/errors.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import type { Answer, Invocation } from '../../../lib/invocation/invocation.ts';
import { encodeMessage } from '../../../lib/invocation/message-codec.ts';
import { fifoEvent, kinesisEvent } from './events.ts';

const nowMs = 1_000_000;
const clock: Clock = { now: () => nowMs, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const context = { getRemainingTimeInMillis: () => 30_000 };

interface Told {
  readonly invocations: Invocation[];
  readonly deadlines: (number | undefined)[];
  readonly released: unknown[];
}

const emptyStream = { shards: async () => [], begin: async () => 'cursor', read: async () => ({ records: [], next: undefined }) };

/** @param answer  of a subtask; what is thrown is thrown */
function stageThat(
  answer: (subtask: string) => Answer,
  o: { readonly queue?: boolean; readonly releaseFails?: boolean; readonly stream?: boolean } = {},
) {
  const told: Told = { invocations: [], deadlines: [], released: [] };
  const queue = { order: 'fifo', lanes: 1, retentionMs: 1, read: () => undefined };
  const operator = o.queue === true ? { kind: 'source', source: { queue } } : { kind: 'process' };
  const deployed = {
    settings: { stage: 1 },
    plan: { job: 'clicks', stages: [{}, { operators: [{ uid: 'head', node: { operator } }] }] },
    tally: { conflicts: 3 },
    exchangeStream: () => (o.stream === true ? emptyStream : undefined),
    environment: {
      invoke: async (invocation: Invocation, { deadlineMs }: { readonly deadlineMs?: number }) => {
        told.invocations.push(invocation);
        told.deadlines.push(deadlineMs);
        return answer(invocation.subtask);
      },
    },
    ports: {
      exchange: {
        release: async (p: unknown) => {
          told.released.push(p);
          if (o.releaseFails === true) throw new SluiceError('STORE_FORBIDDEN', { message: 'no', next: 'fix-the-command' });
        },
      },
    },
  } as unknown as Deployed;
  return { told, handle: (event: StageEvent) => handleStage(deployed, event, context, clock) };
}

const messages = fifoEvent([
  { id: 'm1', group: '1-0', body: '.' },
  { id: 'm2', group: '1-1', body: '.' },
]);

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'warn').mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe('the handler of a stage', () => {
  it('gives each part of an event the deadline of its function', async () => {
    const { told, handle } = stageThat(() => ({ kind: 'done' }));
    expect(await handle(messages)).toEqual({ batchItemFailures: [] });
    expect(told.invocations.map(({ subtask }) => subtask)).toEqual(['1-0', '1-1']);
    expect(told.deadlines).toEqual([nowMs + 30_000, nowMs + 30_000]);
    expect(told.released).toEqual([]);
  });

  it('answers a part that failed as not done, beside one that is', async () => {
    const { told, handle } = stageThat((subtask) => {
      if (subtask === '1-0') throw new Error('the disk is full');
      return { kind: 'done' };
    });
    expect(await handle(messages)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    expect(told.released).toEqual([{ receipts: ['1 handle-m1'], delayMs: 2_000 }]);
    expect(lines.some((line) => line.includes('the disk is full'))).toBe(true);
  });

  it('fails when every part failed, under the code of what it met', async () => {
    const { handle } = stageThat(() => {
      throw new SluiceError('PLAN_CHANGED', { message: 'job clicks runs another plan', next: 'fix-the-job' });
    });
    await expect(handle(messages)).rejects.toThrow('PLAN_CHANGED: job clicks runs another plan');
  });

  it.each(['not-running', 'sealed', 'other-generation', 'not-an-owner'] as const)(
    'keeps all input of a subtask that refuses because of %s',
    async (why) => {
      const { handle } = stageThat(() => ({ kind: 'refused', why }));
      expect(await handle(messages)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm2' }] });
    },
  );

  it('says which subtask left messages where they are, and why: one before them is missing, and may have expired', async () => {
    const { handle } = stageThat((subtask) => (subtask === '1-0' ? { kind: 'refused', why: 'gap' } : { kind: 'done' }));
    expect(await handle(messages)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => level === 'warn');
    expect(said).toMatchObject([{ subtask: '1-0', refused: 'gap', message: expect.stringContaining('has expired') as string }]);
  });

  it('asks nothing more of a subtask behind a gap whose record fails: its tries are for as many events', async () => {
    const answers: Answer[] = [
      { kind: 'refused', why: 'gap' },
      { kind: 'partial', count: 1, why: 'record-failed' },
    ];
    const { told, handle } = stageThat(() => answers.shift()!, { stream: true });
    const records = [['a', 2] as const, ['b', 1] as const, ['b', 2] as const, ['a', 1] as const].map(([sender, sequence], i) => {
      const bytes = encodeMessage({ generation: 1, exchange: 0, sender, target: '1-0', sequence, elements: [] });
      return { number: `${i + 1}`, key: '1-0', data: bytes };
    });
    const { batchItemFailures: failures } = (await handle(kinesisEvent('shard', records))) as KinesisAnswer;
    expect(failures).toEqual([{ itemIdentifier: '1' }]);
    expect(told.invocations).toHaveLength(2);
  });

  it('answers the same where messages could not be released sooner', async () => {
    const { handle } = stageThat(() => ({ kind: 'refused', why: 'gap' }), { releaseFails: true });
    expect(await handle(messages)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm2' }] });
  });

  it('reads a queue by lanes, and leaves the time of messages that are not settled to the user’s queue', async () => {
    const { told, handle } = stageThat(() => ({ kind: 'partial', count: 1, why: 'record-failed', settled: ['m1'] }), { queue: true });
    expect(await handle(messages)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
    expect(told.invocations).toMatchObject([{ kind: 'queue', subtask: '1-0' }]);
    expect(told.released).toEqual([]);
  });

  it('carries out what the coordinator asks, and answers in the same encoding', async () => {
    const { told, handle } = stageThat(() => ({ kind: 'refused', why: 'sealed' }));
    const barrier: Invocation = { kind: 'barrier', subtask: '1-0', generation: 3, checkpoint: 7, lastCompleted: 6 };
    const answer = (await handle(controlEvent(barrier))) as { readonly answer: string };
    expect(told.invocations).toEqual([barrier]);
    expect(answerOfControl(answer)).toEqual({ kind: 'refused', why: 'sealed' });
    expect(lines).toEqual([]);
  });

  it.each([
    [{}, 'an event with nothing in it'],
    [{ Records: [] }, 'an event with Records in it'],
    [{ Records: [{ eventSource: 'aws:s3' }] }, 'records of aws:s3'],
    [{ records: { 'topic-0': [] }, eventSource: 'aws:kafka' }, 'an event with records,eventSource in it'],
  ])('fails on %j: an event that is not known is not an empty one', async (event, what) => {
    const { handle } = stageThat(() => ({ kind: 'done' }));
    await expect(handle(event)).rejects.toThrow(`EVENT_UNKNOWN: the function of a stage was given ${what}`);
  });

  it('says of each event how much it was, how long it took and how many appends were lost', async () => {
    const { handle } = stageThat(() => ({ kind: 'done' }));
    await handle(messages);
    await handle(messages);
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told).toMatchObject([
      { Job: 'clicks', Stage: '1', Records: 2, UnitDuration: 0, CommitConflicts: 3 },
      { Job: 'clicks', Stage: '1', Records: 2, CommitConflicts: 0 },
    ]);
  });
});
