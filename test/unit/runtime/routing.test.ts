import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordBatch } from '../../../lib/core/batch.ts';
import { encodeKey } from '../../../lib/core/key-codec.ts';
import { keyGroupOf, keyGroupRange } from '../../../lib/core/key-group.ts';
import type { Exchange } from '../../../lib/graph/plan.ts';
import { createRoute, reachableTargets } from '../../../lib/runtime/routing.ts';
import { seededRandom } from '../../../lib/testing/index.ts';

type Partitioning = Exchange['partitioning'];

function exchangeOf(partitioning: Partitioning): Exchange {
  return { id: 0, fromStage: 0, outlet: 0, toStage: 1, input: 0, partitioning };
}

interface Place {
  readonly partitioning: Partitioning;
  readonly subtask?: number;
  readonly from?: number;
  readonly to: number;
  readonly max?: number;
}

function routed(place: Place, values: unknown[], timestamps?: number[]): Map<number, RecordBatch[]> {
  const { partitioning, subtask = 0, from = 1, to, max = 128 } = place;
  const route = createRoute({
    exchange: exchangeOf(partitioning),
    receiver: 'next',
    subtask,
    fromParallelism: from,
    toParallelism: to,
    toMaxParallelism: max,
    random: seededRandom(7),
  });
  const sent = new Map<number, RecordBatch[]>();
  route({ values, count: values.length, keys: undefined, timestamps }, (target, batch) =>
    sent.set(target, [...(sent.get(target) ?? []), batch]),
  );
  return sent;
}

function valuesAt(sent: Map<number, RecordBatch[]>, target: number): unknown[] {
  return (sent.get(target) ?? []).flatMap((batch) => batch.values.slice(0, batch.count));
}

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const byItself: Partitioning = { kind: 'hash', selector: (v) => v };

describe('where records go', () => {
  test('hash: R2 to the owner of the key group, with the key beside the record and order kept', () => {
    const values = [...numbers(300), ...numbers(300)].map((n) => `k${n}`);
    const sent = routed({ partitioning: byItself, to: 5, max: 16 }, values, numbers(600));
    let total = 0;
    for (const [target, batches] of sent) {
      const { first, last } = keyGroupRange(target, 16, 5);
      for (const batch of batches) {
        total += batch.count;
        for (let i = 0; i < batch.count; i++) {
          const group = keyGroupOf(encodeKey(batch.keys?.[i]), 16);
          expect(batch.keys?.[i]).toBe(batch.values[i]);
          expect(group >= first && group <= last).toBe(true);
        }
        expect([...(batch.timestamps ?? [])]).toEqual([...(batch.timestamps ?? [])].sort((a, b) => a - b));
      }
    }
    expect(total).toBe(600);
  });

  test('hash: equal keys go to one place, whatever object they come in', () => {
    const make = () => ({ b: [1, 'x'], a: 2n });
    const sent = routed({ partitioning: byItself, to: 7 }, [make(), { a: 2n, b: [1, 'x'] }, make()]);
    expect([...sent.values()].map((batches) => batches[0]?.count)).toEqual([3]);
  });

  test('hash: a mutation of the record after routing moves no key', () => {
    const record = { user: { id: 'a' } };
    const sent = routed({ partitioning: { kind: 'hash', selector: (v) => (v as typeof record).user }, to: 1 }, [record]);
    const key = sent.get(0)?.[0]?.keys?.[0];
    record.user.id = 'b';
    expect((key as { value: unknown }).value).toEqual({ id: 'a' });
  });

  test('forward: to the receiver of the same number', () => {
    const sent = routed({ partitioning: { kind: 'forward' }, subtask: 2, from: 4, to: 4 }, [1, 2]);
    expect([...sent.keys()]).toEqual([2]);
  });

  test('global: to the first', () => {
    expect([...routed({ partitioning: { kind: 'global' }, subtask: 2, from: 4, to: 4 }, [1, 2]).keys()]).toEqual([0]);
  });

  test('broadcast: all to everyone', () => {
    const sent = routed({ partitioning: { kind: 'broadcast' }, to: 3 }, [1, 2]);
    for (const target of [0, 1, 2]) expect(valuesAt(sent, target)).toEqual([1, 2]);
  });

  test('rebalance: evenly and in turn, each sender beginning at its own number', () => {
    const sent = routed({ partitioning: { kind: 'rebalance' }, subtask: 1, from: 3, to: 3 }, numbers(7));
    expect([0, 1, 2].map((target) => valuesAt(sent, target))).toEqual([
      [2, 5],
      [0, 3, 6],
      [1, 4],
    ]);
  });

  test('rebalance: goes on in turn over batches', () => {
    const route = createRoute({
      exchange: exchangeOf({ kind: 'rebalance' }),
      receiver: 'next',
      subtask: 0,
      fromParallelism: 1,
      toParallelism: 3,
      toMaxParallelism: 128,
      random: seededRandom(1),
    });
    const order: number[] = [];
    for (const value of numbers(6))
      route({ values: [value], count: 1, keys: undefined, timestamps: undefined }, (target) => order.push(target));
    expect(order).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test('shuffle: every record to one of the receivers', () => {
    const sent = routed({ partitioning: { kind: 'shuffle' }, to: 4 }, numbers(400));
    expect([...sent.values()].flat().reduce((sum, batch) => sum + batch.count, 0)).toBe(400);
    expect(sent.size).toBe(4);
  });

  test('custom: where the function says; a wrong answer names what is right and who was to receive', () => {
    const custom = (partition: (key: unknown, parallelism: number) => number): Partitioning => ({
      kind: 'custom',
      partition,
      selector: (v) => v,
    });
    const sent = routed(
      { partitioning: custom((key, parallelism) => parallelism - 1 - ((key as number) % parallelism)), to: 3 },
      numbers(6),
    );
    expect(valuesAt(sent, 2)).toEqual([0, 3]);
    for (const wrong of [-1, 3, 0.5, Number.NaN, '1' as unknown as number]) {
      expect(() => routed({ partitioning: custom(() => wrong), to: 3 }, [1])).toThrow(/partitionCustom before next gave .*from 0 to 2/);
    }
  });

  test('what a selector throws is told with the record and the receiver', () => {
    const failing: Partitioning = {
      kind: 'hash',
      selector: () => {
        throw new TypeError('no user');
      },
    };
    expect(() => routed({ partitioning: failing, to: 2 }, [{ big: 12n }])).toThrow(
      /key selector before next failed: no user; record \{"big":"12n"\}/,
    );
    const custom: Partitioning = {
      kind: 'custom',
      selector: (v) => v,
      partition: () => {
        throw new Error('lost');
      },
    };
    expect(() => routed({ partitioning: custom, to: 2 }, [5])).toThrow(/partitionCustom before next failed: lost; record 5/);
    expect(() => routed({ partitioning: byItself, to: 2 }, [null])).toThrow(/key selector before next/);
  });

  test('only the first `count` entries of a batch are records', () => {
    for (const kind of ['rebalance', 'shuffle'] as const) {
      const route = createRoute({
        exchange: exchangeOf({ kind }),
        receiver: 'next',
        subtask: 0,
        fromParallelism: 1,
        toParallelism: 2,
        toMaxParallelism: 128,
        random: seededRandom(1),
      });
      const sent: unknown[] = [];
      route({ values: [1, 2, 3, 4], count: 2, keys: undefined, timestamps: undefined }, (_, batch) =>
        sent.push(...batch.values.slice(0, batch.count)),
      );
      expect(sent.sort()).toEqual([1, 2]);
    }
  });
});

describe('reachable targets', () => {
  test('rescale: every receiver has a sender, every sender a receiver, and loads differ by at most one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }), (from, to) => {
        const senders = new Array<number>(to).fill(0);
        for (let subtask = 0; subtask < from; subtask++) {
          const targets = reachableTargets(exchangeOf({ kind: 'rescale' }), subtask, from, to);
          expect(targets.length).toBeGreaterThan(0);
          for (const target of targets) senders[target] = (senders[target] as number) + 1;
        }
        expect(Math.min(...senders)).toBeGreaterThan(0);
        expect(Math.max(...senders) - Math.min(...senders)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('a route sends nowhere that has no channel', () => {
    const kinds: Partitioning[] = [
      { kind: 'rescale' },
      { kind: 'rebalance' },
      { kind: 'shuffle' },
      { kind: 'broadcast' },
      { kind: 'global' },
      byItself,
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(),
        (partitioning, from, to, n) => {
          const subtask = n % from;
          const reachable = new Set(reachableTargets(exchangeOf(partitioning), subtask, from, to));
          const sent = routed({ partitioning, subtask, from, to }, numbers(50));
          for (const target of sent.keys()) expect(reachable.has(target)).toBe(true);
          if (partitioning.kind !== 'broadcast') expect([...sent.values()].flat().reduce((sum, batch) => sum + batch.count, 0)).toBe(50);
        },
      ),
    );
  });
});
