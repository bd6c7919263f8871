// Cases of ownership and determinism, on the invocation runtime: nobody owns anything by a clock or a lease, only by the condition of each append.

import { describe, expect, test } from 'vitest';
import { type Collector, keyedProcess, valueState } from '../../lib/index.ts';
import { type Click, clicksOf, countsOf } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { sinkKinds } from '../support/case-targets.ts';
import { ClickWorld } from '../support/click-world.ts';

const isEnvironment = (name: string): boolean => /\.e\d+$/.test(name);

describe('C53: environments with wrong clocks work on one subtask', () => {
  const offsets = [1_500, -1_500, 600_000];

  test.each(sinkKinds)('%s: an entry has one writer, whoever stops and goes on, and results are those of right clocks', async (sink) => {
    const fell = await sweep({
      world() {
        let asked = 0;
        // One of them is set back by 30 s while it works.
        const offsetMs = (process: string): number => {
          const number = Number(/\d+$/.exec(process)?.[0] ?? 0);
          return (offsets[number % 3] as number) - (number % 3 === 0 && ++asked > 40 ? 30_000 : 0);
        };
        return new ClickWorld({ sink, environments: 3, offsetMs, batch: 2 });
      },
      fault: 'freeze',
      check: (world) => world.checkCounts(),
    });
    expect(fell).toBeGreaterThan(60);
  });
});

describe('C54: an environment stops for a minute while others checkpoint twice, then goes on', () => {
  test.each(sinkKinds)('%s: its keyed state, objects, sink output and acknowledgements are rejected or harmless', async (sink) => {
    const late = new Set<string>();
    for (const fault of ['freeze', 'freeze-after'] as const) {
      const fell = await sweep({
        world: () =>
          new ClickWorld({
            sink,
            isOpen: true,
            interval: '1 s',
            ringSlots: 6,
            batch: 2,
            sleepsRounds: 1_000,
            limits: { inlineOperatorStateBytesMax: 0, inlineBytesMax: 0, flushBelowSlots: 5 },
            between: (clicks) =>
              clicks
                .process(() => {
                  let seen: { add(at: number): void };
                  return {
                    initializeState(ctx) {
                      seen = ctx.operatorState.getListState<number>('seen');
                    },
                    snapshotState() {},
                    processElement(click: Click, _ctx, out: Collector<Click>) {
                      seen.add(click.at);
                      out.collect(click);
                    },
                  };
                })
                .uid('operator-state'),
          }),
        fault,
        at: ({ process, method }, world) => {
          if (!isEnvironment(process.name)) return false;
          if (world.hasFallen) return false;
          late.add(method);
          return true;
        },
        every: 6,
        from: 2 * sinkKinds.indexOf(sink),
        async run(world) {
          await world.create();
          let goal = Number.POSITIVE_INFINITY;
          await world.until(() => {
            if (world.hasFallen && goal === Number.POSITIVE_INFINITY) goal = world.completed + 2;
            const split = world.input.splits[0]!;
            if (split.length < 20) split.push({ user: `u${split.length % 3}`, at: split.length });
            return world.completed >= Math.min(goal, 6);
          });
          world.time.now += 60_000;
          await world.wakeAfter(Number.POSITIVE_INFINITY);
          await world.end();
        },
        check: (world) => world.checkCounts(),
      });
      expect(fell).toBeGreaterThan(15);
    }
    const writes = ['changelog.put', 'table.putMany', 'objects.putIfAbsent', 'items.put'];
    expect([...late]).toEqual(expect.arrayContaining(writes));
  });
});

describe('C55: one environment, a hundred appends, every tenth reply is lost', () => {
  test('it stays the only writer, and no pause is longer than one retry', async () => {
    const clicks = clicksOf(100);
    const world = new ClickWorld({ sink: 'idempotent', environments: 1, batch: 1, clicks: [clicks], isPartitioned: true, ringSlots: 256 });
    let appends = 0;
    let longest = 0;
    let reads = 0;
    world.fate = ({ method, process }) => {
      if (!isEnvironment(process.name)) return 'go';
      if (method === 'changelog.get' || method === 'changelog.readPage') reads += 1;
      return method === 'changelog.put' && ++appends % 10 === 0 ? 'lose-reply' : 'go';
    };
    await world.create();
    const { process } = world.slots[0]!;
    for (let i = 0; i < clicks.length; i++) {
      const before = process.slept;
      expect(await world.feedSplit('0-0', 0)).toEqual({ kind: 'done' });
      longest = Math.max(longest, process.slept - before);
      if (i === 0) reads = 0;
    }
    expect(reads).toBe(0); // who has lost an append would have to look at what the other one wrote
    await world.finish(200);
    world.checkCounts();
    expect(appends).toBeGreaterThan(100);
    const writers = new Set(world.entries.filter(({ n }) => n > 0).map(({ writer }) => writer.split('.')[0]));
    expect([...writers].filter((writer) => writer !== 'finished')).toHaveLength(1);
    expect(longest).toBeLessThanOrEqual(50);
    expect(world.errors).toEqual([]);
  });
});

describe('C56: two environments append to one log', () => {
  test.each([true, false])('the log is one chain, and stays readable; one stage: %s', async (isPartitioned) => {
    const world = new ClickWorld({ sink: 'idempotent', clicks: [clicksOf(120)], isPartitioned, ringSlots: 6 });
    let puts = 0;
    world.fate = ({ method, process }) => {
      if (method === 'changelog.put' && isEnvironment(process.name)) puts += 1;
      return 'go';
    };
    await world.create();
    for (let at = 0; at < 120; at += 3) {
      const { records, isLast } = await world.read('0-0', 0, at, 3);
      const invocation = { kind: 'records', subtask: '0-0', split: 0, records, isLast } as const;
      const tick = { kind: 'tick', subtask: '0-0' } as const;
      const both = await Promise.allSettled([world.invokeAt(0, invocation), world.invokeAt(1, invocation), world.invokeAt(0, tick)]);
      expect(both.some((outcome) => outcome.status === 'fulfilled' && outcome.value.kind === 'done')).toBe(true);
      if (at % 12 === 0) await world.pulse();
    }
    await world.finish();
    world.checkCounts();
    const numbers = world.entries.filter(({ ring }) => ring === '0/0-0').map(({ n }) => n);
    expect(numbers).toEqual(numbers.map((_, at) => at));
    expect(puts).toBeGreaterThan(world.entries.length); // some were lost to the other one
  });
});

describe('C57: user code that depends on chance', () => {
  /** Rows say in which run of the function they were made; two runs never say the same. */
  let runs = 0;
  const byChance = keyedProcess({
    state: { seen: valueState({ default: () => 0 }) },
    processElement({ user }: Click, ctx, out: Collector<string>) {
      const seen = ctx.state.seen.value() + 1;
      ctx.state.seen.update(seen);
      out.collect(`${user} ${seen} ${++runs}`);
    },
  });

  test.each(sinkKinds)('%s: outputs of two attempts are never mixed, and each record has one', async (sink) => {
    for (const fault of ['kill-before', 'kill-after', 'lose-reply', 'freeze'] as const) {
      const batch = 4;
      const fell = await sweep({
        world: () => new ClickWorld({ sink, batch, isPartitioned: true, counter: byChance }),
        fault,
        async run(world) {
          await world.create();
          // Each batch comes three times, to whom it may.
          const { records, isLast } = await world.read('0-0', 0, 0, batch);
          for (let again = 0; again < 3; again++) {
            await world.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast }).catch(() => undefined);
          }
          await world.finish();
        },
        check(world) {
          expect(world.violations).toEqual([]);
          expect(world.target.violations).toEqual([]);
          const rows = world.target.visible.map((row) => row.split(' '));
          expect(rows.map(([user, seen]) => `${user} ${seen}`).sort()).toEqual([...countsOf(world.clicks)].sort());
          const runOf = new Map(rows.map(([user, seen, run]) => [`${user} ${seen}`, Number(run)]));
          for (const [at, row] of countsOf(world.clicks).entries()) {
            // Records of one batch are one attempt, so their runs follow one another.
            if (at % batch > 0) expect(runOf.get(row)! - runOf.get(countsOf(world.clicks)[at - 1]!)!).toBe(1);
          }
        },
      });
      expect(fell).toBeGreaterThan(40);
    }
  });
});
