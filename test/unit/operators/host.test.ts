// The operator host with whole stages: what goes where, in which order, and what is told when user code fails.

import { describe, expect, test } from 'vitest';
import { type Collector, OutputTag } from '../../../lib/api/functions.ts';
import { WatermarkStrategy } from '../../../lib/api/watermark.ts';
import { collect } from '../../../lib/connectors/sinks/collect.ts';
import { finalWatermark, noTimestamp } from '../../../lib/core/batch.ts';
import { batchOf, finished, given, hostOf, planOf, restoreFrom } from '../../support/hosts.ts';

const odd = new OutputTag<number>('odd');

describe('a chain', () => {
  test('runs its operators over the whole batch, one after the other, and keeps the event times of the records', async () => {
    const order: string[] = [];
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .map((n) => {
          order.push(`map ${n}`);
          return n * 10;
        })
        .filter((n) => {
          order.push(`filter ${n}`);
          return n !== 20;
        })
        .flatMap((n) => [n, n + 1])
        .rebalance()
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1, 2, 3], { times: [100, 200, undefined] }), 0);
    expect(order).toEqual(['map 1', 'map 2', 'map 3', 'filter 10', 'filter 20', 'filter 30']);
    const element = given(host).elements[0]?.[2] as { readonly batch: { values: unknown[]; timestamps: number[] } };
    expect(element.batch.values).toEqual([10, 11, 30, 31]);
    expect(element.batch.timestamps).toEqual([100, 100, noTimestamp, noTimestamp]);
  });

  test('an empty result is not passed on', async () => {
    const seen: unknown[] = [];
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .filter(() => false)
        .map((n) => seen.push(n))
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1, 2]), 0);
    expect(given(host)).toEqual({ rows: {}, elements: [] });
    expect(seen).toEqual([]);
  });

  test('branches get the same records, each in order, and a side output its own', async () => {
    const plan = planOf((env) => {
      const numbers = env.fromCollection<number>([], { uid: 'in' });
      const split = numbers
        .process({
          processElement(n: number, ctx, out: Collector<number>) {
            if (n % 2 === 1) ctx.output(odd, n);
            else out.collect(n);
          },
        })
        .uid('split');
      split.sinkTo(collect(), { uid: 'even' });
      split.map((n) => -n).sinkTo(collect(), { uid: 'negative' });
      split.getSideOutput(odd).sinkTo(collect(), { uid: 'odd' });
      numbers.sinkTo(collect(), { uid: 'all' });
    });
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1, 2, 3, 4]), 0);
    expect(given(host).rows).toEqual({ even: [2, 4], negative: [-2, -4], odd: [1, 3], all: [1, 2, 3, 4] });
    host.process(batchOf([5]), 0);
    expect(given(host).rows).toEqual({ odd: [5], all: [5] });
  });

  test('a side output that nobody reads is dropped', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process({
          processElement(n: number, ctx, out: Collector<number>) {
            ctx.output(odd, n);
            out.collect(n);
          },
        })
        .uid('split')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1]), 0);
    expect(given(host).rows).toEqual({ out: [1] });
  });

  test('the context tells the event time of the record, and none where it has none', async () => {
    const times: unknown[] = [];
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process({ processElement: (_n: number, ctx, _out: Collector<number>) => void times.push(ctx.timestamp()) })
        .uid('p')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1, 2], { times: [5, undefined] }), 0);
    host.process(batchOf([3]), 0);
    expect(times).toEqual([5, undefined, undefined]);
  });

  test('what was handed over is not touched again', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process({ processElement: (n: number, _ctx, out: Collector<number>) => out.collect(n) })
        .uid('p')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    host.process(batchOf([1, 2]), 0);
    const first = host.takeEffects().sinkRows[0]?.rows;
    host.process(batchOf([3]), 0);
    host.takeEffects();
    expect(first?.values.slice(0, first.count)).toEqual([1, 2]);
  });
});

describe('watermarks', () => {
  const strategy = WatermarkStrategy.forBoundedOutOfOrderness<number>('10 ms').withTimestamps((n) => n);
  const stamped = planOf((env) =>
    env
      .fromCollection<number>([], { uid: 'in' })
      .assignTimestampsAndWatermarks(strategy)
      .uid('stamp')
      .rebalance()
      .sinkTo(collect(), { uid: 'out' }),
  );
  const numbers = (from: number, n: number): number[] => Array.from({ length: n }, (_, i) => from + i);
  const told = (elements: ReturnType<typeof given>['elements']): string[] =>
    elements.map(([, , e]) => (e.kind === 'records' ? `${e.batch.count} records` : e.kind === 'watermark' ? `wm ${e.timestamp}` : e.kind));

  test('pass every operator of a chain and go to every target of every outlet', async () => {
    const plan = planOf((env) => {
      env.setParallelism(3);
      const numbers = env.fromCollection<number>([], { uid: 'in' }).map((n) => n);
      numbers.broadcast().sinkTo(collect(), { uid: 'a' });
      numbers
        .keyBy((n) => n)
        .process({ processElement: (_n: number, _c, _o: Collector<number>) => {} })
        .uid('b');
    });
    const host = await hostOf(plan, 'in');
    expect(host.advanceWatermark(5)).toBe(true);
    expect(given(host).elements.map(([outlet, target, e]) => `${outlet}/${target} ${JSON.stringify(e)}`)).toEqual(
      [0, 1].flatMap((outlet) => [0, 1, 2].map((target) => `${outlet}/${target} {"kind":"watermark","timestamp":5}`)),
    );
  });

  test('of a mid-stream strategy follow every 1,024 records and replace those of the input, but for the end of event time', async () => {
    const host = await hostOf(stamped, 'stamp');
    host.process(batchOf(numbers(0, 1_000)), 0);
    expect(told(given(host).elements)).toEqual(['1000 records']);
    host.advanceWatermark(99_999);
    expect(told(given(host).elements)).toEqual([]);
    host.process(batchOf(numbers(1_000, 24)), 0);
    expect(told(given(host).elements)).toEqual(['24 records', `wm ${1_023 - 10 - 1}`]);
    host.process(batchOf(numbers(0, 1_024)), 0);
    expect(told(given(host).elements)).toEqual(['1024 records']);
    host.advanceWatermark(finalWatermark);
    expect(told(given(host).elements)).toEqual([`wm ${finalWatermark}`]);
  });

  test('of a mid-stream strategy stand after a restore where they stood, and come at the same records', async () => {
    const before = await hostOf(stamped, 'stamp');
    before.process(batchOf(numbers(0, 1_024)), 0);
    before.process(batchOf(numbers(2_000, 24)), 0);
    given(before);
    const snapshot = finished(before.snapshot({ checkpointId: 1, timestamp: 0 }));
    const after = await hostOf(stamped, 'stamp', { restore: restoreFrom(snapshot) });
    expect(told(given(after).elements)).toEqual([`wm ${1_023 - 10 - 1}`]);
    for (const host of [before, after]) {
      host.process(batchOf(numbers(0, 999)), 0);
      expect(told(given(host).elements)).toEqual(['999 records']);
      host.process(batchOf([1]), 0);
      expect(told(given(host).elements)).toEqual(['1 records', `wm ${2_023 - 10 - 1}`]);
    }
  });
});

describe('what user code throws is told with the place and the record', () => {
  const boom = (): never => {
    throw new TypeError('boom');
  };
  const long = { text: 'x'.repeat(500), big: 1n };

  test.each([
    ['map', /map of .* failed: boom; record \{"text":"x+…$/],
    ['filter', /filter of .* failed: boom; record/],
    ['flatMap', /flatMap of .* failed: boom; record/],
  ] as const)('%s', async (kind, message) => {
    const plan = planOf((env) => {
      const rows = env.fromCollection<unknown>([], { uid: 'in' });
      const made = kind === 'map' ? rows.map(boom) : kind === 'filter' ? rows.filter(boom) : rows.flatMap(boom);
      made.sinkTo(collect(), { uid: 'out' });
    });
    const host = await hostOf(plan, 'in');
    expect(() => host.process(batchOf([long]), 0)).toThrow(
      expect.objectContaining({ code: 'USER_FUNCTION_FAILED', message: expect.stringMatching(message) }),
    );
  });

  test('flatMap: also while what it gave is being iterated, and when it gave nothing that can be', async () => {
    for (const flatMap of [
      function* (n: number): Iterable<number> {
        yield n;
        boom();
      },
      () => undefined as unknown as number[],
    ]) {
      const plan = planOf((env) => env.fromCollection<number>([], { uid: 'in' }).flatMap(flatMap).sinkTo(collect(), { uid: 'out' }));
      const host = await hostOf(plan, 'in');
      expect(() => host.process(batchOf([7]), 0)).toThrow(/flatMap of .* failed: .*; record 7/);
    }
  });

  test('process: the name and the uid of the operator', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process({ processElement: (_n: number, _ctx, _out: Collector<number>) => boom() })
        .uid('p')
        .name('Careful step')
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    expect(() => host.process(batchOf([7]), 0)).toThrow(
      expect.objectContaining({ message: 'processElement of Careful step (p) failed: boom; record 7', cause: expect.any(TypeError) }),
    );
  });

  test('withTimestamps: the source, and what is no time is refused by its value', async () => {
    for (const [timestamps, message] of [
      [boom, /the function of withTimestamps at stamp failed: boom; record "7n"/],
      [() => Number.NaN, /timestamp of a record at stamp is NaN.*record "7n"/],
      [() => '5' as unknown as number, /timestamp of a record at stamp is 5, which is no time/],
      [() => new Date(0) as unknown as number, /which is no time in ms/],
    ] as const) {
      const plan = planOf((env) =>
        env
          .fromCollection<bigint>([], { uid: 'in' })
          .assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps<bigint>().withTimestamps(timestamps))
          .uid('stamp')
          .sinkTo(collect(), { uid: 'out' }),
      );
      const host = await hostOf(plan, 'stamp');
      expect(() => host.process(batchOf([7n]), 0)).toThrow(message);
    }
  });

  test('something thrown that is no error is told as text', async () => {
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .map(() => {
          throw 'just text';
        })
        .sinkTo(collect(), { uid: 'out' }),
    );
    const host = await hostOf(plan, 'in');
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => host.process(batchOf([cycle]), 0)).toThrow(/failed: just text; record/);
  });

  test('open, initializeState and snapshotState: the method', async () => {
    for (const [f, message] of [
      [{ open: boom }, /^open of .* \(p\) failed: boom$/],
      [{ open: () => Promise.reject(new Error('later')) }, /^open of .* \(p\) failed: later$/],
      [{ initializeState: boom, snapshotState() {} }, /^initializeState of .* \(p\) failed: boom$/],
    ] as const) {
      const plan = planOf((env) =>
        env
          .fromCollection<number>([], { uid: 'in' })
          .process(() => ({ ...f, processElement(_n: number, _ctx: unknown, _out: Collector<number>) {} }))
          .uid('p'),
      );
      await expect(hostOf(plan, 'p')).rejects.toThrow(message);
    }
    const plan = planOf((env) =>
      env
        .fromCollection<number>([], { uid: 'in' })
        .process(() => ({ initializeState() {}, snapshotState: boom, processElement(_n: number, _ctx, _out: Collector<number>) {} }))
        .uid('p'),
    );
    const host = await hostOf(plan, 'p');
    expect(() => host.snapshot({ checkpointId: 1, timestamp: 0 })).toThrow(/^snapshotState of .* \(p\) failed: boom$/);
  });
});
