// Operators with keyed state and timers, in the host.

import { describe, expect, test } from 'vitest';
import type { Collector, KeyedProcessFunction } from '../../../lib/api/functions.ts';
import { OutputTag } from '../../../lib/api/functions.ts';
import { listState, mapState, valueState } from '../../../lib/api/state.ts';
import type { SubtaskSnapshot } from '../../../lib/checkpoint/snapshot.ts';
import { collect } from '../../../lib/connectors/sinks/collect.ts';
import { finalWatermark, type RecordBatch } from '../../../lib/core/batch.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import type { OperatorHost } from '../../../lib/runtime/host.ts';
import { batchOf, finished, given, hostOf, planOf, restoreFrom } from '../../support/hosts.ts';

const states = { n: valueState<number>({ default: () => 0 }), seen: listState<unknown>() };
type F = KeyedProcessFunction<unknown, unknown, typeof states, string>;

function keyedPlan(f: F): Plan {
  return planOf((env) =>
    env
      .fromCollection<unknown>([], { uid: 'in' })
      .keyBy((v) => v as string)
      .process(f)
      .uid('k')
      .sinkTo(collect(), { uid: 'out' }),
  );
}

/** Each value is its own key. */
function keyed(...values: unknown[]): RecordBatch {
  return batchOf(values, { keys: values });
}

function rows(host: OperatorHost): unknown[] {
  return given(host).rows.out ?? [];
}

describe('records', () => {
  test('read and write the state of their own key, in order', async () => {
    const host = await hostOf(
      keyedPlan({
        state: states,
        processElement(v, ctx, out: Collector<unknown>) {
          ctx.state.n.update(ctx.state.n.value() + 1);
          out.collect(`${String(v)}${ctx.state.n.value()} ${ctx.getCurrentKey()}`);
        },
      }),
      'k',
    );
    host.process(keyed('a', 'b', 'a'), 0);
    host.process(keyed('b', 'c'), 0);
    expect(rows(host)).toEqual(['a1 a', 'b1 b', 'a2 a', 'b2 b', 'c1 c']);
  });

  test('a batch larger than usual is no problem', async () => {
    const host = await hostOf(keyedPlan({ state: states, processElement: (v, _ctx, out: Collector<unknown>) => out.collect(v) }), 'k');
    const values = Array.from({ length: 5_000 }, (_, i) => i);
    host.process(keyed(...values), 0);
    expect(rows(host)).toEqual(values);
  });

  test('what user code throws is told with the record, the operator and the key', async () => {
    const host = await hostOf(
      keyedPlan({
        state: states,
        processElement() {
          throw new Error('boom');
        },
      }),
      'k',
    );
    expect(() => host.process(batchOf([{ v: 1 }], { keys: [['user', 7n]] }), 0)).toThrow(
      expect.objectContaining({
        code: 'USER_FUNCTION_FAILED',
        message: expect.stringMatching(/^processElement of .* \(k\) failed: boom; record \{"v":1\}, key \["user","7n"\]$/),
      }),
    );
  });

  test('a value that state cannot hold is told with state, operator, record and key', async () => {
    const host = await hostOf(keyedPlan({ state: states, processElement: (_v, ctx) => ctx.state.seen.add(() => {}) }), 'k');
    expect(() => host.process(keyed('a'), 0)).toThrow(/processElement of .*\(k\) failed: .*state seen of k.*; record "a", key "a"/s);
  });

  test('a function that gives a promise is refused, since nothing waits for it and its state would be that of another key', async () => {
    const later = (): void => Promise.resolve() as unknown as void;
    const host = await hostOf(keyedPlan({ state: states, processElement: later, onTimer: later }), 'k');
    expect(() => host.process(keyed('a'), 0)).toThrow(/processElement .*promise.*record "a", key "a"/);
    const timers = await hostOf(
      keyedPlan({ state: states, processElement: (_v, ctx) => ctx.timerService.registerEventTimeTimer(1), onTimer: later }),
      'k',
    );
    timers.process(keyed('a'), 0);
    expect(() => timers.advanceWatermark(1)).toThrow(/onTimer .*promise.*key "a"/);
  });
});

describe('timers', () => {
  /** Registers what each record says: [key, time …]; negative zero and the like included. */
  function timerPlan(more: Partial<F> = {}): Plan {
    return planOf((env) =>
      env
        .fromCollection<readonly [string, ...number[]]>([], { uid: 'in' })
        .keyBy(([k]) => k)
        .process({
          state: states,
          processElement([, ...times], ctx, _out: Collector<unknown>) {
            for (const time of times) ctx.timerService.registerEventTimeTimer(time);
          },
          onTimer(at, ctx, out) {
            out.collect(`${ctx.getCurrentKey()}@${at}`);
          },
          ...(more as object),
        })
        .uid('k')
        .sinkTo(collect(), { uid: 'out' }),
    );
  }
  const timersFor = (...records: readonly (readonly [string, ...number[]])[]): RecordBatch =>
    batchOf(records, { keys: records.map(([k]) => k) });

  test('fire by time, then by key, once each, when the watermark reaches them', async () => {
    const host = await hostOf(timerPlan(), 'k');
    host.process(timersFor(['b', 5, 3], ['a', 5, 5, 7], ['b', 5]), 0);
    host.advanceWatermark(4);
    expect(rows(host)).toEqual(['b@3']);
    host.advanceWatermark(5);
    host.advanceWatermark(6);
    expect(rows(host)).toEqual(['a@5', 'b@5']);
    host.advanceWatermark(finalWatermark);
    expect(rows(host)).toEqual(['a@7']);
  });

  test('H2: the watermark passes after what it made due, however many timers that is', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<readonly [string, ...number[]]>([], { uid: 'in' })
        .keyBy(([k]) => k)
        .process({
          processElement: ([, time], ctx, _out: Collector<unknown>) => ctx.timerService.registerEventTimeTimer(time as number),
          onTimer: (at, _ctx, out) => out.collect(at),
        })
        .uid('k')
        .rebalance()
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'k');
    host.process(timersFor(...Array.from({ length: 3_000 }, (_, i) => [`k${i}`, i] as const)), 0);
    let calls = 1;
    while (!host.advanceWatermark(5_000)) calls++;
    const kinds = given(host).elements.map(([, , e]) => (e.kind === 'records' ? e.batch.count : e.kind));
    expect(calls).toBeGreaterThan(1);
    expect(kinds.at(-1)).toBe('watermark');
    expect(kinds.slice(0, -1).reduce<number>((sum, n) => sum + (n as number), 0)).toBe(3_000);
  });

  test('one that is registered for the past fires with the next watermark; one registered by a timer that is due fires in the same step', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<readonly [string, ...number[]]>([], { uid: 'in' })
        .keyBy(([k]) => k)
        .process({
          processElement: ([, time], ctx, _out: Collector<unknown>) => ctx.timerService.registerEventTimeTimer(time as number),
          onTimer(at, ctx, out) {
            out.collect(at);
            if (at < 13) ctx.timerService.registerEventTimeTimer(at + 1);
          },
        })
        .uid('k')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'k');
    host.advanceWatermark(11);
    host.process(timersFor(['a', 9]), 0);
    expect(rows(host)).toEqual([]);
    host.advanceWatermark(12);
    expect(rows(host)).toEqual([9, 10, 11, 12]);
  });

  test('a deleted timer does not fire, and is deleted of the current key only', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<string>([], { uid: 'in' })
        .keyBy((k) => k)
        .process({
          state: states,
          processElement(_k, ctx, _out: Collector<unknown>) {
            if (ctx.state.n.value() === 0) ctx.timerService.registerEventTimeTimer(5);
            else ctx.timerService.deleteEventTimeTimer(5);
            ctx.timerService.deleteProcessingTimeTimer(5);
            ctx.state.n.update(1);
          },
          onTimer: (_at, ctx, out) => out.collect(ctx.getCurrentKey()),
        })
        .uid('k')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'k');
    host.process(batchOf(['a', 'b', 'a'], { keys: ['a', 'b', 'a'] }), 0);
    host.advanceWatermark(5);
    expect(rows(host)).toEqual(['b']);
  });

  test('onTimer has the state of its key, its domain, its time as event time, and side outputs', async () => {
    const side = new OutputTag<unknown>('side');
    const plan = planOf((env) => {
      const made = env
        .fromCollection<string>([], { uid: 'in' })
        .keyBy((k) => k)
        .process({
          state: states,
          processElement(k, ctx, _out: Collector<unknown>) {
            ctx.state.seen.add(k);
            ctx.timerService.registerEventTimeTimer(50);
            ctx.timerService.registerProcessingTimeTimer(ctx.timerService.currentProcessingTime() + 10);
          },
          onTimer(at, ctx, out) {
            out.collect([at, ctx.timeDomain, ctx.timestamp(), ctx.currentWatermark() >= 0, [...ctx.state.seen.get()]]);
            ctx.output(side, ctx.getCurrentKey());
            if (ctx.timeDomain === 'event') ctx.state.seen.clear();
          },
        })
        .uid('k');
      made.sinkTo(collect(), { uid: 'out' });
      made.getSideOutput(side).sinkTo(collect(), { uid: 'side' });
    });
    const host = await hostOf(plan, 'k', { now: () => 1_000 });
    host.process(batchOf(['a'], { keys: ['a'] }), 0);
    expect(host.nextProcessingTimer()).toBe(1_010);
    expect(host.fireProcessingTimers(1_009)).toBe(true);
    expect(rows(host)).toEqual([]);
    host.fireProcessingTimers(1_010);
    expect(given(host).rows).toEqual({ out: [[1_010, 'processing', 1_010, false, ['a']]], side: ['a'] });
    expect(host.nextProcessingTimer()).toBeUndefined();
    host.advanceWatermark(50);
    expect(given(host).rows).toEqual({ out: [[50, 'event', 50, true, ['a']]], side: ['a'] });
    host.fireProcessingTimers(99_999);
    expect(given(host).rows).toEqual({});
  });

  test('what a processing-time timer emits has no event time, what an event-time timer emits has that of the timer', async () => {
    const host = await hostOf(
      timerPlan({
        processElement(_record, ctx, _out: Collector<unknown>) {
          ctx.timerService.registerEventTimeTimer(50);
          ctx.timerService.registerProcessingTimeTimer(60);
        },
      }),
      'k',
    );
    const times = (): unknown[] => host.takeEffects().sinkRows.flatMap(({ rows: batch }) => batch.timestamps);
    host.process(timersFor(['a']), 0);
    host.advanceWatermark(100);
    expect(times()).toEqual([50]);
    host.fireProcessingTimers(100);
    expect(times()).toEqual([Number.NEGATIVE_INFINITY]);
  });

  test('what onTimer throws is told with the time, the operator and the key', async () => {
    const host = await hostOf(
      timerPlan({
        onTimer() {
          throw new Error('boom');
        },
      }),
      'k',
    );
    host.process(timersFor(['a', 5]), 0);
    expect(() => host.advanceWatermark(5)).toThrow(/^onTimer of .* \(k\) failed: boom; record 5, key "a"$/);
  });

  test('a timer of a function without onTimer, or at no time, is refused where it is registered', async () => {
    const host = await hostOf(keyedPlan({ state: states, processElement: (_v, ctx) => ctx.timerService.registerEventTimeTimer(1) }), 'k');
    expect(() => host.process(keyed('a'), 0)).toThrow(/timer of k can not be registered: the function has no onTimer/);
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, '5' as unknown as number, undefined as unknown as number]) {
      const wrong = await hostOf(timerPlan(), 'k');
      expect(() => wrong.process(timersFor(['a', time]), 0)).toThrow(/can not be registered: its time is/);
    }
  });

  test('are restored with the state of their key: none is lost, none fires again', async () => {
    const plan = timerPlan();
    const before = await hostOf(plan, 'k');
    before.process(timersFor(['a', 1, 5], ['b', 5]), 0);
    before.advanceWatermark(1);
    expect(rows(before)).toEqual(['a@1']);
    const after = await hostOf(plan, 'k', { restore: restoreFrom(finished(before.snapshot({ checkpointId: 1, timestamp: 0 }))) });
    after.advanceWatermark(1);
    expect(rows(after)).toEqual([]);
    after.advanceWatermark(5);
    expect(rows(after)).toEqual(['a@5', 'b@5']);
  });
});

describe('two inputs', () => {
  test('share state and timers of a key, and an error names the method of its input', async () => {
    const plan = planOf((env) => {
      const left = env.fromCollection<readonly [string, number]>([], { uid: 'left' });
      const right = env.fromCollection<readonly [string, string]>([], { uid: 'right' });
      left
        .keyBy(([k]) => k)
        .connect(right.keyBy(([k]) => k))
        .process({
          state: { all: listState<unknown>() },
          processElement1([, n], ctx, out: Collector<unknown>) {
            ctx.state.all.add(n);
            out.collect([...ctx.state.all.get()]);
          },
          processElement2([, text], ctx) {
            if (text === 'boom') throw new Error('boom');
            ctx.state.all.add(text);
            ctx.timerService.registerEventTimeTimer(3);
          },
          onTimer: (_at, ctx, out) => out.collect([ctx.getCurrentKey(), ...ctx.state.all.get()]),
        })
        .uid('both')
        .sinkTo(collect(), { uid: 'out' });
    });
    const host = await hostOf(plan, 'both');
    const send = (input: 0 | 1, k: string, v: unknown): void => host.process(batchOf([[k, v]], { keys: [k] }), input);
    send(0, 'a', 1);
    send(1, 'a', 'x');
    send(1, 'b', 'y');
    send(0, 'a', 2);
    host.advanceWatermark(3);
    expect(rows(host)).toEqual([[1], [1, 'x', 2], ['a', 1, 'x', 2], ['b', 'y']]);
    expect(() => send(1, 'a', 'boom')).toThrow(/processElement2 of .* \(both\) failed: boom; record \["a","boom"\], key "a"/);
  });
});

describe('a keyed and a broadcast input', () => {
  interface Rule {
    readonly name: string;
    readonly limit: number;
  }
  const shape = { rules: mapState<string, Rule>() };
  const plan = planOf((env) => {
    const orders = env.fromCollection<readonly [string, number]>([], { uid: 'orders' });
    const rules = env.fromCollection<Rule>([], { uid: 'rules' });
    orders
      .keyBy(([user]) => user)
      .connect(rules.broadcast(shape))
      .process({
        state: { total: valueState<number>({ default: () => 0 }) },
        processElement([user, amount], ctx, out: Collector<unknown>) {
          ctx.state.total.update(ctx.state.total.value() + amount);
          ctx.timerService.registerEventTimeTimer(9);
          for (const { name, limit } of ctx.broadcast.rules.values()) if (ctx.state.total.value() > limit) out.collect(`${user} ${name}`);
        },
        processBroadcastElement(rule, ctx, out) {
          if (rule.limit < 0) throw new Error('no rule');
          ctx.broadcast.rules.put(rule.name, rule);
          out.collect([...ctx.broadcast.rules.keys()].join());
        },
        onTimer: (_at, ctx, out) => out.collect(`${ctx.getCurrentKey()} of ${[...ctx.broadcast.rules.keys()].join()}`),
      })
      .uid('over')
      .sinkTo(collect(), { uid: 'out' });
  });

  test('the keyed side reads the rules in the order of their keys, and cannot write them', async () => {
    let view: object = {};
    const reading = planOf((env) => {
      const orders = env.fromCollection<string>([], { uid: 'orders' });
      orders
        .keyBy((k) => k)
        .connect(env.fromCollection<Rule>([], { uid: 'rules' }).broadcast(shape))
        .process({
          processElement(_v, ctx, _out: Collector<unknown>) {
            view = ctx.broadcast.rules;
          },
          processBroadcastElement: (rule, ctx) => ctx.broadcast.rules.put(rule.name, rule),
        })
        .uid('over');
    });
    const host = await hostOf(reading, 'over');
    host.process(batchOf(['a'], { keys: ['a'] }), 0);
    for (const method of ['put', 'putAll', 'remove', 'clear']) expect(method in view).toBe(false);

    const other = await hostOf(plan, 'over');
    for (const name of ['z', 'a']) other.process(batchOf([{ name, limit: 1 }]), 1);
    other.process(batchOf([['u', 5]], { keys: ['u'] }), 0);
    expect(rows(other)).toEqual(['z', 'a,z', 'u a', 'u z']);
    expect(() => other.process(batchOf([{ name: 'bad', limit: -1 }]), 1)).toThrow(
      /processBroadcastElement of .* \(over\) failed: no rule; record \{"name":"bad","limit":-1\}$/,
    );
  });

  test('rules and keyed state are restored, and timers see the rules', async () => {
    const before = await hostOf(plan, 'over');
    for (const name of ['z', 'a']) before.process(batchOf([{ name, limit: 5 }]), 1);
    before.process(batchOf([['u', 5]], { keys: ['u'] }), 0);
    given(before);
    const snapshot = finished(before.snapshot({ checkpointId: 1, timestamp: 0 }));
    const after = await hostOf(plan, 'over', { restore: restoreFrom(snapshot) });
    after.process(batchOf([['u', 1]], { keys: ['u'] }), 0);
    after.advanceWatermark(9);
    expect(rows(after)).toEqual(['u a', 'u z', 'u of a,z']);
    const rulesOf = (taken: SubtaskSnapshot): unknown => taken.operators[0]?.lists.find(({ name }) => name === 'broadcast:rules');
    expect(rulesOf(finished(after.snapshot({ checkpointId: 2, timestamp: 0 })))).toEqual(rulesOf(snapshot));
  });
});
