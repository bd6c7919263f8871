// Cases of the stores under the invocation runtime: what batches leave, what gets no reply, what is too large for one item, and hot places.

import { describe, expect, test } from 'vitest';
import { type Collector, defineJob, type Env, keyedProcess, listState, valueState } from '../../lib/index.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { clicksOf, countsOf, scriptedSource } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { type CaseTarget, type IdempotentTarget, newTarget, sinkKinds } from '../support/case-targets.ts';
import { CaseWorld } from '../support/case-world.ts';
import { ClickWorld } from '../support/click-world.ts';

describe('C35: a store answers and leaves a part of each batch undone', () => {
  const hundred = clicksOf(300, 100);
  const newWorld = (): ClickWorld =>
    new ClickWorld({ sink: 'idempotent', clicks: [hundred], batch: 25, ringSlots: 6, isPartitioned: true });

  /** No two calls leave the same ones. */
  function leaving(world: ClickWorld, count: number): void {
    let from = 0;
    world.service.hooks.leave = (size) => {
      from += 5;
      return Array.from({ length: Math.min(count, size - 1) }, (_, i) => (from + i) % size);
    };
  }

  test('everything is stored before the ring forgets it: 7 of 25 are left each time, others each time', async () => {
    const world = newWorld();
    leaving(world, 7);
    await world.run();
    world.checkCounts();
    expect(world.errors).toEqual([]);
  });

  test('everything is left for five calls in a row', async () => {
    const world = newWorld();
    let calls = 0;
    world.service.hooks.leave = (size, method) =>
      method === 'table.putMany' && calls++ % 7 > 1 ? Array.from({ length: size }, (_, i) => i) : [];
    await world.run(200);
    expect(calls).toBeGreaterThan(20);
    world.checkCounts();
    for (const { process } of world.slots) expect(process.slept).toBeLessThan(600_000);
  });

  test('the rest never drains: the failure is clear, the input stays where it is, and goes on when the store does', async () => {
    const world = newWorld();
    await world.create();
    world.service.hooks.leave = (size, method) => (method === 'table.putMany' ? Array.from({ length: size }, (_, i) => i) : []);
    for (let i = 0; i < 12; i++) await world.feed();
    const refusals = world.answers.flatMap((a) => (a.kind === 'done' ? [] : [a.why]));
    const codes = world.errors.map((e) => (e as { code?: string }).code);
    expect([...refusals, ...codes].every((why) => why === 'ring-full' || why === 'STORE_THROTTLED')).toBe(true);
    expect(refusals.length + codes.length).toBeGreaterThan(0);
    const stuckAt = (await world.head('0-0')).splits[0]!.position!.index;
    expect(stuckAt).toBeLessThan(hundred.length);
    for (let i = 0; i < 3; i++) await world.feed();
    expect((await world.head('0-0')).splits[0]!.position!.index).toBe(stuckAt);
    world.service.hooks.leave = () => [];
    await world.finish();
    world.checkCounts();
  });
});

describe('C36: a conditional write is applied and its reply is lost', () => {
  test.each(sinkKinds)('%s: whoever asks again finds its own, and takes it for success', async (sink) => {
    for (const isPartitioned of [true, false]) {
      const calm = new ClickWorld({ sink, isPartitioned });
      await calm.run();
      const story = (world: ClickWorld): unknown => [
        world.everCompleted,
        world.entries.map(({ ring, n }) => `${ring} ${n}`).sort(),
        world.answers.filter(({ kind }) => kind !== 'done'),
        world.errors,
      ];
      const fell = await sweep({
        world: () => new ClickWorld({ sink, isPartitioned }),
        fault: 'lose-reply',
        at: ({ method }) => !method.startsWith('target.'),
        check(world) {
          world.checkCounts();
          expect(story(world)).toEqual(story(calm));
        },
      });
      expect(fell).toBeGreaterThan(40);
    }
  });
});

describe('C37: a transaction is asked again while the first try is under way', () => {
  test.each(['kill-after', 'lose-reply'] as const)(
    '%s: whoever asks again asks for the same bytes, so that two tries are one',
    async (fault) => {
      let again = 0;
      const fell = await sweep({
        world: () => new RememberingWorld({ sink: 'two-phase', ringSlots: 6, batch: 1, clicks: [clicksOf(8, 5)] }),
        fault,
        every: 2,
        at: ({ process }, world) => world.isRestored && process.name.includes('.c'),
        async run(world) {
          await world.create();
          await world.until(() => world.completed >= 2);
          await startRestore(world.ports, 'latest');
          await world.finish();
        },
        check(world) {
          world.checkCounts();
          for (const asked of world.created.values()) {
            again += asked.length - 1;
            expect(new Set(asked).size).toBe(1);
          }
        },
      });
      expect(fell).toBeGreaterThan(20);
      expect(again).toBeGreaterThan(0);
    },
  );
});

/** Remembers what was asked for when rings were created, whatever became of it. Pages end at different places each time. */
class RememberingWorld extends ClickWorld {
  readonly created = new Map<string, string[]>();

  constructor(o: ConstructorParameters<typeof ClickWorld>[0]) {
    super(o);
    const { changelog, hooks } = this.service;
    const create = changelog.create.bind(changelog);
    let requests = 0;
    changelog.create = (p) => {
      const ring = `${p.ring.generation}/${p.ring.subtask}`;
      this.created.set(ring, [...(this.created.get(ring) ?? []), Buffer.from(p.entry.bytes).toString('hex')]);
      hooks.pageBytes = 50 + (++requests % 5) * 100;
      return create(p);
    };
  }
}

const longName = 'an-attribute-with-a-name-that-is-as-long-as-names-of-attributes-are-when-somebody-has-thought-about-them-for-long';
const textOf = (size: number): string => 'ü€😀'.repeat(Math.ceil(size / 9)).slice(0, Math.ceil(size / 9) * 4);

/** A list and a value of one key that grow with each record. */
function growingJob(target: CaseTarget, source: ReturnType<typeof scriptedSource<number>>['source']) {
  const growing = keyedProcess({
    state: { [longName]: listState<string>(), whole: valueState({ default: () => '' }) },
    processElement(size: number, ctx, out: Collector<string>) {
      const { [longName]: list, whole } = ctx.state;
      list.add(textOf(size));
      whole.update(whole.value() + textOf(size));
      const inList = [...list.get()].reduce((sum, text) => sum + text.length, 0);
      out.collect(`${inList} ${whole.value().length}`);
    },
  });
  return defineJob('growing', (env: Env) => {
    env.enableCheckpointing('1 s', { tolerableFailures: 1_000, numRetained: 3 });
    env
      .fromSource(source, { uid: 'in', partitionedBy: () => 'one' })
      .keyBy(() => 'one')
      .process(growing)
      .uid('grow')
      .sinkTo(target.sink, { uid: 'out' });
  });
}

/** Bytes: the sums cross 399 KB and 401 KB, and reach 2 MB. */
const growth = [300_000, 99_000, 1_000, 1_000, 600_000, 500_000, 500_000];

class GrowingWorld extends CaseWorld {
  constructor() {
    const target = newTarget('idempotent');
    const input = scriptedSource([[...growth]]);
    input.end();
    super({ job: growingJob(target, input.source), target, batch: 1, ringSlots: 6 });
  }
}

describe('C38: the state of one key grows over every limit of an item', () => {
  let sum = 0;
  const expected = growth.map((size) => {
    sum += textOf(size).length;
    return `${sum} ${sum}`;
  });

  test('in chunks and objects; wherever a process dies nobody sees a torn one', async () => {
    const fell = await sweep({
      world: () => new GrowingWorld(),
      fault: 'kill-after',
      every: 8,
      check: (world) => world.check(expected),
    });
    expect(fell).toBeGreaterThan(8);
  });

  test('a restore of each retained checkpoint finds it as it was', async () => {
    for (const back of [0, 1, 2]) {
      const world = new GrowingWorld();
      await world.create();
      await world.until(() => world.completed >= 5);
      const { completed } = await world.item();
      const checkpoint = completed.at(-1 - back)!.checkpoint;
      expect((await startRestore(world.ports, checkpoint)).kind).toBe('marked');
      world.killAll();
      await world.finish();
      world.check(expected);
    }
  });
});

describe('C39: another deployment takes over in the middle of retries', () => {
  test('an effect is known by what caused it, so it is one effect', async () => {
    let twice = 0;
    const fell = await sweep({
      world: () => new ClickWorld({ sink: 'idempotent' }),
      fault: 'kill-after',
      async run(world) {
        await world.create();
        await world.until(async () => world.hasFallen || (await world.item()).status === 'finished');
        world.deployment = 'b';
        world.killAll();
        await world.finish();
      },
      check(world) {
        world.checkCounts();
        const { handed } = world.target as IdempotentTarget;
        for (const { id } of handed) expect(id).toMatch(/^out\/in\/s0\/\d+\.0$/);
        const byDeployment = new Set(handed.map(({ id, process }) => `${process.slice(0, 1)} ${id}`));
        twice += byDeployment.size - new Set(handed.map(({ id }) => id)).size;
      },
    });
    expect(fell).toBeGreaterThan(60);
    // A target that asked who writes would hold these rows twice: the worlds above are sharp enough to tell.
    expect(twice).toBeGreaterThan(0);
  });
});

describe('C40: 3,000 outputs a second over a store that takes 1,000 writes a second for each hash key', () => {
  /** Writes of each hash key within a second of the world. */
  function throttling(
    world: ClickWorld,
    most: number,
    isByItem = true,
  ): { readonly highest: () => number; readonly throttled: () => number } {
    const writes = new Map<string, number>();
    let throttled = 0;
    world.fate = ({ method, place }) => {
      if (!/\.(put|putMany|create)$/.test(method)) return 'go';
      const hashKey = method === 'table.putMany' ? place.slice(place.indexOf(' from ')) : place.split(' ')[0];
      const count = method === 'table.putMany' && isByItem ? Number.parseInt(place, 10) : 1; // as if all were of the first one's key
      const key = `${method.split('.')[0]} ${hashKey} ${Math.floor(world.time.now / 1_000)}`;
      writes.set(key, (writes.get(key) ?? 0) + count);
      if (writes.get(key)! <= most) return 'go';
      throttled += 1;
      return 'throttle';
    };
    return { highest: () => Math.max(...writes.values()), throttled: () => throttled };
  }

  const seconds = 12;

  test('write-ahead: the log is spread over the subtasks, and no checkpoint fails', async () => {
    const clicks = [0, 1, 2].map((split) => clicksOf(1_000 * seconds, 40).map((c) => ({ ...c, user: `${split}-${c.user}` })));
    const world = new ClickWorld({ sink: 'write-ahead', clicks, parallelism: 3, batch: 1_000, ringSlots: 64 });
    const store = throttling(world, 1_000);
    await world.run();
    world.checkCounts();
    expect(store.throttled()).toBe(0);
    expect(store.highest()).toBeLessThan(100);
    expect(world.events.filter((e) => e.kind === 'checkpoint-failed')).toEqual([]);
  });

  test('a key with 80 % of the records is written once for many of them, and slows nothing', async () => {
    const hot = clicksOf(3_000 * seconds).map(({ at }) => ({ user: at % 5 === 0 ? `cold-${at % 200}` : 'hot', at }));
    const world = new ClickWorld({ sink: 'write-ahead', clicks: [hot], isPartitioned: true, batch: 3_000, ringSlots: 6 });
    const store = throttling(world, 1_000);
    await world.run();
    world.checkCounts();
    expect(store.throttled()).toBe(0);
    expect(world.events.filter((e) => e.kind === 'checkpoint-failed')).toEqual([]);
  });

  test('a store that does throttle what is hot makes a job slower, and loses no checkpoint', async () => {
    const world = new ClickWorld({ sink: 'write-ahead', clicks: [clicksOf(600, 30)], batch: 20, ringSlots: 6, interval: '5 s' });
    const store = throttling(world, 1, false);
    await world.run(400);
    world.checkCounts();
    expect(store.throttled()).toBeGreaterThan(0);
    expect(world.events.filter((e) => e.kind === 'checkpoint-failed')).toEqual([]);
    expect(countsOf(world.clicks).length).toBe(600);
  });
});
