import { beforeEach, describe, expect, test } from 'vitest';
import { Backoff } from '../../../../lib/adapters/invocations/backoff.ts';
import { Gate } from '../../../../lib/adapters/invocations/gate.ts';
import { MappingProgress } from '../../../../lib/adapters/invocations/mapping-progress.ts';
import { SourceLane } from '../../../../lib/adapters/invocations/source-lane.ts';
import { Unanswered } from '../../../../lib/adapters/invocations/worker-pool.ts';
import type { SplitPosition } from '../../../../lib/api/source.ts';
import { SluiceError } from '../../../../lib/core/errors.ts';
import type { Answer, Invocation } from '../../../../lib/invocation/invocation.ts';
import { FakeService, fakePorts } from '../../../../lib/testing/index.ts';
import { context, done, ListSource } from './support/parts.ts';

type Records = Invocation & { readonly kind: 'records' };
type Reply = Answer | Error;

/** Sleeps take no time and are counted. */
const clock = {
  nowMs: 0,
  sleeps: 0,
  now(): number {
    return this.nowMs;
  },
  sleep() {
    clock.sleeps += 1;
    return { done: Promise.resolve(), cancel: () => undefined };
  },
};

let gate: Gate;
let service: FakeService;
let delivered: Records[];

beforeEach(() => {
  gate = new Gate();
  gate.set(true);
  service = new FakeService();
  delivered = [];
  clock.nowMs = 0;
  clock.sleeps = 0;
});

function laneOf(
  sources: readonly ListSource[],
  reply: (nth: number, records: Records) => Reply,
): { readonly lane: SourceLane; counted(): number } {
  let counted = 0;
  const [source] = sources;
  const lane = new SourceLane({
    subtask: '0-0',
    source: {
      ...source!,
      open: (split: { readonly id: string }, from: SplitPosition | undefined) => sources[Number(split.id)]!.open(split, from),
    } as unknown as ListSource,
    context,
    splits: sources.map((_, ordinal) => ({ ordinal, split: { id: String(ordinal) } })),
    recordsMax: 2,
    progress: new MappingProgress(fakePorts(service).items, clock),
    deliver: async (invocation) => {
      delivered.push(invocation as Records);
      const answer = reply(delivered.length, invocation as Records);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    backoff: () => new Backoff(clock, gate.over),
    counted: (records) => {
      counted += records;
    },
    mayGoOn: () => gate.mayGoOn(),
    stopped: gate.over,
  });
  return { lane, counted: () => counted };
}

const told = (): readonly string[] =>
  delivered.map(({ split, records, isLast }) => `${split}: ${records.map(({ value }) => String(value)).join(' ')}${isLast ? ' end' : ''}`);

describe('the mapping of a source subtask', () => {
  test('delivers split after split, each to its end', async () => {
    const { lane, counted } = laneOf([new ListSource(['a', 'b', 'c']), new ListSource(['d'])], () => done);
    await lane.run();
    expect(told()).toEqual(['0: a b', '0: c end', '1: d end']);
    expect(counted()).toBe(4);
  });

  test('delivers an event again until it is answered as committed, and the next one only then', async () => {
    const replies: readonly Reply[] = [new Unanswered('gone'), { kind: 'refused', why: 'sealed' }, done, done];
    const { lane } = laneOf([new ListSource(['a', 'b', 'c'])], (nth) => replies[nth - 1]!);
    await lane.run();
    expect(told()).toEqual(['0: a b', '0: a b', '0: a b', '0: c end']);
    expect(clock.sleeps).toBeGreaterThanOrEqual(2);
  });

  test('delivers only the rest of an event of which a part is committed', async () => {
    const replies: readonly Reply[] = [{ kind: 'partial', count: 1, why: 'out-of-time' }, done];
    const { lane, counted } = laneOf([new ListSource(['a', 'b'])], (nth) => replies[nth - 1]!);
    await lane.run();
    expect(told()).toEqual(['0: a b end', '0: b end']);
    expect(counted()).toBe(2);
  });

  test('says what may have been delivered before', async () => {
    const replies: readonly Reply[] = [done, new Unanswered('gone'), done];
    const { lane } = laneOf([new ListSource(['a', 'b', 'c'])], (nth) => replies[nth - 1]!);
    await lane.run();
    expect(delivered.map(({ isAgain }) => isAgain)).toEqual([undefined, false, true]);
  });

  test('goes on from where it was noted, and tells the end of a split again', async () => {
    await laneOf([new ListSource(['a', 'b', 'c']), new ListSource(['d', 'e', 'f'])], (nth) =>
      nth === 4 ? new SluiceError('DATA_DAMAGED', { message: 'x', next: 'repair-state' }) : done,
    )
      .lane.run()
      .catch(() => undefined);
    delivered = [];
    await laneOf([new ListSource(['a', 'b', 'c']), new ListSource(['d', 'e', 'f'])], () => done).lane.run();
    expect(told()).toEqual(['0:  end', '1: f end']);
  });

  test('notes its progress now and then, and every end', async () => {
    let puts = 0;
    service.observers.push((change) => {
      if (JSON.stringify(change).includes('mapping/0-0/0')) puts += 1;
    });
    const { lane } = laneOf([new ListSource(Array.from({ length: 100 }, String))], () => done);
    await lane.run();
    expect(puts).toBeGreaterThanOrEqual(2);
    expect(puts).toBeLessThan(10);
  });

  test('fails at once with what another try would meet again, and after some tries with anything else', async () => {
    const damaged = new SluiceError('DATA_DAMAGED', { message: 'x', next: 'repair-state' });
    await expect(laneOf([new ListSource(['a'])], () => damaged).lane.run()).rejects.toBe(damaged);
    expect(delivered).toHaveLength(1);
    delivered = [];
    await expect(laneOf([new ListSource(['a'])], () => new Error('odd')).lane.run()).rejects.toThrow('odd');
    expect(delivered.length).toBeGreaterThan(5);
  });

  test('waits while the job stands still, and ends with the run', async () => {
    gate.set(false);
    const { lane } = laneOf([new ListSource(['a'])], () => done);
    const run = lane.run();
    await new Promise((resolve) => setImmediate(resolve));
    expect(delivered).toEqual([]);
    gate.end();
    await run;
    expect(delivered).toEqual([]);
  });

  test('a stop ends it though its source waits, and closes the source', async () => {
    const source = new ListSource([]);
    source.hasEnded = false;
    const run = laneOf([source], () => done).lane.run();
    await new Promise((resolve) => setImmediate(resolve));
    gate.end();
    await run;
    expect(source.closed).toBe(1);
  });
});
