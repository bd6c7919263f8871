// One subtask between channels that the test holds: what it takes, what it gives, and when it wants to run.

import { describe, expect, test } from 'vitest';
import { Channel } from '../../../../lib/adapters/embedded/channel.ts';
import { InputGate } from '../../../../lib/adapters/embedded/input-gate.ts';
import { freshSplits, SourceDriver } from '../../../../lib/adapters/embedded/source-driver.ts';
import { Subtask } from '../../../../lib/adapters/embedded/subtask.ts';
import type { CheckpointEnd } from '../../../../lib/adapters/embedded/subtask-checkpoints.ts';
import type { Env } from '../../../../lib/api/environment.ts';
import type { Collector } from '../../../../lib/api/functions.ts';
import type { Source } from '../../../../lib/api/source.ts';
import { valueState } from '../../../../lib/api/state.ts';
import { WatermarkStrategy } from '../../../../lib/api/watermark.ts';
import type { SubtaskSnapshot } from '../../../../lib/checkpoint/snapshot.ts';
import { collect } from '../../../../lib/connectors/sinks/collect.ts';
import type { StreamElement } from '../../../../lib/core/batch.ts';
import { SourceOperator } from '../../../../lib/operators/source-operator.ts';
import { Alignment } from '../../../../lib/runtime/alignment.ts';
import { SubtaskMetrics } from '../../../../lib/runtime/metrics.ts';
import { WatermarkValve } from '../../../../lib/runtime/watermarks.ts';
import { batchOf, hostOf, planOf, stageOf } from '../../../support/hosts.ts';

interface Bench {
  readonly subtask: Subtask;
  readonly inputs: readonly Channel[];
  readonly outputs: readonly ReadonlyMap<number, Channel>[];
  readonly stored: Map<number, SubtaskSnapshot>;
  readonly declined: [number, CheckpointEnd][];
  readonly failures: unknown[];
  now: number;
  wakes: number;
  drain(): void;
  given(outlet?: number, target?: number): StreamElement[];
}

interface BenchOptions {
  readonly inputs?: number;
  readonly isAligned?: boolean;
  readonly source?: Source<unknown>;
  readonly watermarks?: WatermarkStrategy<unknown>;
  readonly isSnapshotAsynchronous?: boolean;
}

/** The stage that has the operator `uid`, its outputs led into channels that nobody empties. */
async function benchOf(build: (env: Env) => void, uid: string, options: BenchOptions = {}): Promise<Bench> {
  const plan = planOf(build);
  const stage = stageOf(plan, uid);
  const bench = { now: 1_000, wakes: 0, stored: new Map(), declined: [], failures: [] } as unknown as {
    -readonly [P in keyof Bench]: Bench[P];
  };
  const host = await hostOf(plan, uid, { now: () => bench.now });
  const inputs = Array.from({ length: options.inputs ?? 0 }, () => new Channel(0));
  const alignment = new Alignment(inputs.length, options.isAligned ?? true);
  const outputs = stage.outlets.map(
    (exchange) => new Map(Array.from({ length: plan.stages[exchange.toStage]?.parallelism ?? 1 }, (_, i) => [i, new Channel(0)])),
  );
  const { source } = options;
  const driver =
    source === undefined
      ? undefined
      : new SourceDriver(
          {
            source,
            context: { job: 'job', uid: 'in', files: undefined as never, clock: undefined as never, countSkipped: () => {} },
            watermarks: options.watermarks,
            side: (tag: string, value: unknown) => host.emitSide(tag, value, Number.NEGATIVE_INFINITY),
            reservations: undefined,
            countLost: () => {},
          } as never,
          freshSplits([{ id: 'all' }]),
        );
  const head = host.operators[0];
  if (driver !== undefined && head instanceof SourceOperator) head.positions = () => driver.stored();
  bench.subtask = new Subtask(
    {
      host,
      metrics: new SubtaskMetrics(),
      source: driver,
      gate: new InputGate(inputs, alignment),
      alignment,
      valve: new WatermarkValve(inputs.length),
      outputs,
      sinks: new Map(),
    },
    {
      now: () => bench.now,
      wake: () => {
        bench.wakes += 1;
      },
      fail: (error) => bench.failures.push(error),
      store: (checkpoint, snapshot) => {
        bench.stored.set(checkpoint, snapshot);
        return Promise.resolve();
      },
      announce: () => Promise.resolve(),
      checkpointEnded: (checkpoint, end) => bench.declined.push([checkpoint, end]),
      isSnapshotAsynchronous: options.isSnapshotAsynchronous ?? true,
      idleAfterMs: options.watermarks?.idlenessMs,
    },
  );
  bench.inputs = inputs;
  bench.outputs = outputs;
  bench.drain = () => {
    while (bench.subtask.isRunnable) bench.subtask.step();
  };
  bench.given = (outlet = 0, target = 0) => {
    const channel = outputs[outlet]?.get(target) as Channel;
    const elements: StreamElement[] = [];
    while (!channel.isEmpty) elements.push(channel.shift());
    return elements;
  };
  return bench;
}

/** Every promise that could settle has: Node empties their queue before it takes the next tick. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** What a person reads of elements. */
function told(elements: readonly StreamElement[]): string[] {
  return elements.map((element) => {
    if (element.kind === 'records') return element.batch.values.slice(0, element.batch.count).join(' ');
    if (element.kind === 'watermark') return `wm ${element.timestamp}`;
    return element.kind === 'barrier' ? `#${element.checkpoint}` : element.kind;
  });
}

const records = (...values: unknown[]): StreamElement => ({ kind: 'records', batch: batchOf(values, { keys: values.map(String) }) });
const barrier = (checkpoint: number): StreamElement => ({ kind: 'barrier', checkpoint });
const watermark = (timestamp: number): StreamElement => ({ kind: 'watermark', timestamp });
const end: StreamElement = { kind: 'end' };

/** in → keyed `sum` → exchange → out */
function summing(env: Env): void {
  env
    .fromCollection<string>([], { uid: 'in' })
    .keyBy((v) => v)
    .process({
      state: { seen: valueState<number>({ default: () => 0 }) },
      processElement(v, ctx, out: Collector<string>) {
        ctx.state.seen.update(ctx.state.seen.value() + 1);
        out.collect(`${v}${ctx.state.seen.value()}`);
      },
      onTimer() {},
    })
    .uid('sum')
    .global()
    .map((v) => v)
    .setParallelism(1)
    .rebalance()
    .sinkTo(collect(), { uid: 'out' });
}

describe('barriers', () => {
  test('aligned: records behind a barrier wait; the snapshot has what came before on every input and nothing later', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 2 });
    const [left, right] = b.inputs as [Channel, Channel];
    left.push(records('a'));
    left.push(barrier(1));
    left.push(records('a'));
    right.push(records('b'));
    b.drain();
    expect(told(b.given())).toEqual(['a1', 'b1']);
    right.push(records('a'));
    right.push(barrier(1));
    b.drain();
    expect(told(b.given())).toEqual(['a2', '#1', 'a3']);
    expect([...b.stored.keys()]).toEqual([1]);
    expect(b.declined).toEqual([]);
  });

  test('at least once: nothing waits, and the barrier leaves when it came on every input', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 2, isAligned: false });
    const [left, right] = b.inputs as [Channel, Channel];
    left.push(barrier(1));
    left.push(records('a'));
    b.drain();
    right.push(barrier(1));
    right.push(records('a'));
    b.drain();
    expect(told(b.given())).toEqual(['a1', '#1', 'a2']);
  });

  test('a higher barrier gives the lower checkpoint up, and tells so', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 2 });
    const [left, right] = b.inputs as [Channel, Channel];
    left.push(barrier(1));
    left.push(records('a'));
    right.push(barrier(2));
    b.drain();
    expect(b.declined.map(([checkpoint]) => checkpoint)).toEqual([1]);
    left.push(barrier(2));
    b.drain();
    expect(told(b.given())).toEqual(['a1', '#2']);
    expect([...b.stored.keys()]).toEqual([2]);
  });

  test('an abort frees the inputs; the aborted checkpoint is neither stored nor passed on', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 2 });
    const [left, right] = b.inputs as [Channel, Channel];
    left.push(barrier(1));
    left.push(records('a'));
    b.drain();
    b.subtask.abortCheckpoint(1);
    b.drain();
    right.push(barrier(1));
    right.push(records('b'));
    b.drain();
    expect(told(b.given())).toEqual(['a1', 'b1']);
    expect(b.stored.size).toBe(0);
  });

  test('an abort while the snapshot is being encoded stores nothing', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 1 });
    const input = b.inputs[0] as Channel;
    input.push(records('a', 'b'));
    input.push(barrier(1));
    b.subtask.step();
    b.subtask.step();
    expect(told(b.given())).toEqual(['a1 b1', '#1']);
    b.subtask.abortCheckpoint(1);
    b.subtask.abortCheckpoint(1);
    b.drain();
    expect(b.stored.size).toBe(0);
    input.push(barrier(2));
    b.drain();
    expect([...b.stored.keys()]).toEqual([2]);
  });

  test('ended inputs count as having the barrier; the end leaves after the last one', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 2 });
    const [left, right] = b.inputs as [Channel, Channel];
    left.push(barrier(1));
    left.push(end);
    right.push(records('a'));
    right.push(end);
    b.drain();
    expect(told(b.given())).toEqual(['a1', '#1', 'wm 9007199254740991', 'end']);
    expect(b.subtask.hasFinished).toBe(true);
  });

  test('T4: a finished subtask answers later checkpoints with the state in which it ended, and each once', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 1 });
    const input = b.inputs[0] as Channel;
    input.push(records('a'));
    input.push(end);
    b.drain();
    b.given();
    for (const checkpoint of [1, 2, 2]) b.subtask.injectBarrier(checkpoint);
    b.drain();
    expect([...b.stored.keys()]).toEqual([1, 2]);
    expect(b.stored.get(2)?.operators).toEqual(b.stored.get(1)?.operators);
    expect(b.given()).toEqual([]);
  });

  test('a synchronous snapshot is encoded in the step of its barrier, an asynchronous one is not', async () => {
    for (const isSnapshotAsynchronous of [true, false]) {
      const b = await benchOf(summing, 'sum', { inputs: 1, isSnapshotAsynchronous });
      const input = b.inputs[0] as Channel;
      input.push(records('a'));
      input.push(barrier(1));
      b.subtask.step();
      b.subtask.step();
      expect(b.stored.has(1)).toBe(!isSnapshotAsynchronous);
      b.drain();
      expect(b.stored.has(1)).toBe(true);
    }
  });
});

describe('back-pressure', () => {
  test('T2: no step begins while an output is full, and a barrier waits with the records', async () => {
    const b = await benchOf(summing, 'sum', { inputs: 1 });
    const input = b.inputs[0] as Channel;
    const output = b.outputs[0]?.get(0) as Channel;
    for (let i = 0; i < 64; i++) output.push(watermark(i));
    input.push(records('a'));
    input.push(barrier(1));
    expect(b.subtask.isRunnable).toBe(false);
    expect(b.subtask.nextWakeAt()).toBeUndefined();
    b.given();
    b.drain();
    expect(told(b.given())).toEqual(['a1', '#1']);
  });
});

describe('a silent source', () => {
  const watermarks = WatermarkStrategy.forMonotonousTimestamps<unknown>()
    .withTimestamps((v) => v as number)
    .withIdleness('1 s');

  /** Gives what the test loads. */
  function heldSource(): { readonly source: Source<unknown>; load(...values: unknown[]): void } {
    let loaded: unknown[] = [];
    let arrive: () => void = () => {};
    let index = 0;
    const source: Source<unknown> = {
      kind: 'held',
      isRereadable: true,
      isBounded: false,
      isEager: true,
      enumerate: () => Promise.resolve([{ id: 'all' }]),
      open: () => ({
        poll(out, max) {
          const values = loaded.splice(0, max);
          for (const value of values) out.values[out.count++] = value;
          index += values.length;
          return values.length;
        },
        ready: () => (loaded.length > 0 ? undefined : new Promise<void>((resolve) => (arrive = resolve))),
        hasEnded: false,
        position: () => ({ index, at: index }),
        close() {},
      }),
    };
    return {
      source,
      load(...values) {
        loaded = [...loaded, ...values];
        arrive();
      },
    };
  }

  const passing = (env: Env): void => {
    env.fromCollection<number>([], { uid: 'in' }).rebalance().sinkTo(collect(), { uid: 'out' });
  };

  test('says that it is idle once, after its time, and counts again with its next record', async () => {
    const held = heldSource();
    const b = await benchOf(passing, 'in', { source: held.source, watermarks });
    held.load(5);
    b.drain();
    expect(told(b.given())).toEqual(['5', 'wm 4']);
    expect(b.subtask.nextWakeAt()).toBe(2_000);
    b.now = 1_999;
    b.drain();
    expect(b.given()).toEqual([]);
    b.now = 2_000;
    b.drain();
    b.drain();
    expect(told(b.given())).toEqual(['idle']);
    expect(b.subtask.nextWakeAt()).toBeUndefined();
    held.load(6);
    await settled();
    b.drain();
    expect(told(b.given())).toEqual(['6', 'wm 5']);
  });

  test('is not one that may not hand its records out: the time of back-pressure does not count', async () => {
    const held = heldSource();
    const b = await benchOf(passing, 'in', { source: held.source, watermarks });
    held.load(5);
    b.drain();
    b.given();
    const output = b.outputs[0]?.get(0) as Channel;
    for (let i = 0; i < 64; i++) output.push(watermark(0));
    held.load(6);
    await settled();
    b.now += 60_000;
    expect(b.subtask.isRunnable).toBe(false);
    expect(b.subtask.nextWakeAt()).toBeUndefined();
    b.given();
    b.drain();
    expect(told(b.given())).toEqual(['6', 'wm 5']);
    b.now += 999;
    b.drain();
    expect(b.given()).toEqual([]);
    b.now += 1;
    b.drain();
    expect(told(b.given())).toEqual(['idle']);
  });
});

test('receivers are told that nobody speaks any more when the only input that did has ended, and nothing of the kind at the end of all', async () => {
  const b = await benchOf(summing, 'sum', { inputs: 2 });
  const [left, right] = b.inputs as [Channel, Channel];
  left.push({ kind: 'idle' });
  right.push(watermark(5));
  b.drain();
  expect(told(b.given())).toEqual(['wm 5']);
  right.push(end);
  b.drain();
  expect(told(b.given())).toEqual(['idle']);
  left.push(end);
  b.drain();
  expect(told(b.given())).toEqual([`wm ${Number.MAX_SAFE_INTEGER}`, 'end']);
});

test('at least once: an input that ends completes every checkpoint that waited for it alone', async () => {
  const b = await benchOf(summing, 'sum', { inputs: 2, isAligned: false });
  const [left, right] = b.inputs as [Channel, Channel];
  left.push(barrier(1));
  left.push(barrier(2));
  right.push(end);
  b.drain();
  expect(told(b.given())).toEqual(['#1', '#2']);
  expect([...b.stored.keys()]).toEqual([1, 2]);
});
