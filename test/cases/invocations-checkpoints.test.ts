// Cases of checkpoints, on the invocation runtime: what ends, what does not count any more, and what is left lying about.

import { describe, expect, test } from 'vitest';
import { type Collector, defineJob, type Env, type Job, keyedProcess, MemoryStateBackend, valueState } from '../../lib/index.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { EntryHead } from '../../lib/invocation/entry.ts';
import { bodyObjectOf, decodeHead, isClosedStub, unpackHead } from '../../lib/invocation/entry-codec.ts';
import { acknowledgementName } from '../../lib/invocation/job-item.ts';
import { decodeHandles } from '../../lib/invocation/job-item-codec.ts';
import { settledObjects } from '../../lib/invocation/sinks/transaction-names.ts';
import { decodeItem } from '../../lib/invocation/versions.ts';
import { type Click, clicksOf, counting, countsOf, scriptedSource } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { type CaseTarget, newTarget, sinkKinds } from '../support/case-targets.ts';
import { CaseWorld } from '../support/case-world.ts';
import { ClickWorld, unacknowledged } from '../support/click-world.ts';

const faults = ['kill-after', 'lose-reply', 'freeze'] as const;
const settings = { tolerableFailures: 1_000, numRetained: 2, timeout: '4 s' } as const;

describe('C09: one of two sources has nothing to read', () => {
  class TwoSources extends CaseWorld {
    readonly clicks: Click[] = [];
    readonly busy: ReturnType<typeof scriptedSource<Click>>;

    constructor(target: CaseTarget, idle: Click[][]) {
      const busy = scriptedSource<Click>([[]]);
      const other = scriptedSource(idle);
      other.end();
      const job = defineJob('two', (env: Env) => {
        env.enableCheckpointing('1 s', settings);
        env
          .fromSource(busy.source, { uid: 'busy' })
          .union(env.fromSource(other.source, { uid: 'idle' }))
          .keyBy((c) => c.user)
          .process(counting)
          .uid('count')
          .sinkTo(target.sink, { uid: 'out' });
      });
      super({ job, target });
      this.busy = busy;
      this.clicks.push(...idle.flat());
    }

    click(): void {
      const click = { user: `u${this.clicks.length % 3}`, at: this.clicks.length };
      this.clicks.push(click);
      this.busy.splits[0]!.push(click);
    }
  }

  const variants = [
    { what: 'no split', idle: (): Click[][] => [] },
    { what: 'one record, and ends', idle: (): Click[][] => [[{ user: 'once', at: 0 }]] },
  ];

  test.each(sinkKinds.flatMap((sink) => variants.map((v) => ({ sink, ...v }))))('$sink: it has $what; checkpoints go on', async (p) => {
    for (const fault of faults) {
      const fell = await sweep({
        world: () => new TwoSources(newTarget(p.sink), p.idle()),
        fault,
        every: 9,
        from: 3 * sinkKinds.indexOf(p.sink),
        async run(world) {
          await world.create();
          await world.until(() => {
            if (world.completed < 5) world.click();
            return world.completed >= 5;
          });
          world.busy.end();
          await world.finish();
        },
        check: (world) => world.check(countsOf(world.clicks)),
      });
      expect(fell).toBeGreaterThan(10);
    }
  });
});

/** Source, a count, and a stage that passes rows on: two hops. */
function twoHops(target: CaseTarget, source: ReturnType<typeof scriptedSource<Click>>['source']): Job {
  const passing = keyedProcess({
    state: { last: valueState<string>() },
    processElement(row: string, ctx, out: Collector<string>) {
      ctx.state.last.update(row);
      out.collect(row);
    },
  });
  return defineJob('hops', (env: Env) => {
    env.setParallelism(2);
    env.enableCheckpointing('1 s', settings);
    env
      .fromSource(source, { uid: 'in' })
      .keyBy((c) => c.user)
      .process(counting)
      .uid('count')
      .keyBy((row) => row.slice(0, 2))
      .process(passing)
      .uid('pass')
      .sinkTo(target.sink, { uid: 'out' });
  });
}

describe('C10: a checkpoint is given up in one of three stages, and word of it comes late and twice', () => {
  const given = 4;

  class Hops extends CaseWorld {
    readonly input: ReturnType<typeof scriptedSource<Click>>;

    constructor(target: CaseTarget) {
      const input = scriptedSource<Click>([[], []]);
      super({ job: twoHops(target, input.source), target });
      this.input = input;
    }

    click(): void {
      for (const [at, split] of this.input.splits.entries()) split.push({ user: `${'ab'[at]}${split.length % 3}`, at: split.length });
    }

    get clicks(): readonly Click[] {
      return this.input.splits.flat();
    }
  }

  async function givenUp(world: Hops): Promise<void> {
    await world.create();
    // Ticks, which tell of the abort, come only behind the beginning of the next one.
    world.reaches = (i) => i.kind !== 'tick' || world.open.some((c) => c > given) || world.completed > given || world.completed < given - 2;
    await world.until(() => {
      if (world.completed < given + 1) world.click();
      return world.completed > given;
    });
    await world.pulse();
    world.input.end();
    await world.finish();
  }

  test.each(sinkKinds)('%s: everyone releases it, the next one completes, and nothing of it is left', async (sink) => {
    for (const lost of ['0-1', '1-0', '2-1']) {
      const fell = await sweep({
        world: () => new Hops(newTarget(sink)),
        fault: 'kill-after',
        at: (_, world) => world.open.includes(given) || (world.completed < given && world.open.includes(given + 1)),
        always: unacknowledged(given, lost),
        every: 9,
        run: givenUp,
        async check(world) {
          world.check(countsOf(world.clicks));
          expect(world.everCompleted).not.toContain(given);
          expect((await startRestore(world.ports, given)).kind).toBe('no-checkpoint');
          expect(world.service.items.list(acknowledgementName(given, ''))).toEqual([]);
          expect(world.service.objects.list(`checkpoint/${given}/`)).toEqual([]);
        },
      });
      expect(fell).toBeGreaterThan(5);
    }
  });
});

describe('C11: what belongs to a checkpoint that was given up arrives while the next one collects', () => {
  const late = 2;

  test.each(sinkKinds)('%s: it neither completes the next one nor revives its own, and is cleaned up', async (sink) => {
    let arrived = 0;
    const lost = unacknowledged(late);
    const fell = await sweep({
      world: () =>
        new ClickWorld({
          sink,
          isOpen: true,
          interval: '1 s',
          checkpoints: { timeout: '4 s' },
          sleepsRounds: 1_000,
          backend: new MemoryStateBackend(),
          limits: { inlineOperatorStateBytesMax: 0 },
        }),
      fault: 'freeze',
      at: ({ process }, world) => process.name.includes('.e') && world.open.includes(late),
      always(call, world) {
        const isOfLate = call.method === 'items.put' && call.place.startsWith(acknowledgementName(late, ''));
        if (isOfLate && world.open.some((c) => c > late)) arrived += 1;
        return lost(call, world);
      },
      async run(world) {
        world.sweeps = true;
        await world.create();
        const { input } = world;
        await world.until(() => {
          const at = input.splits[0]!.length;
          if (world.completed < late) input.splits[0]!.push({ user: `u${at % 3}`, at });
          return world.open.some((c) => c > late) || world.completed > late;
        });
        const { completed } = world;
        await world.wakeAfter(Number.POSITIVE_INFINITY);
        expect(world.completed).toBe(completed);
        await world.end();
        await world.rounds(2);
      },
      check(world) {
        world.checkCounts();
        expect(world.everCompleted).not.toContain(late);
        expect(world.service.items.list(acknowledgementName(late, ''))).toEqual([]);
        expect(world.service.objects.list(`checkpoint/${late}/`)).toEqual([]);
      },
    });
    expect(fell).toBeGreaterThan(10);
    expect(arrived).toBeGreaterThan(0);
  });
});

const backends = [
  { name: 'versioned table', backend: undefined },
  { name: 'snapshots', backend: new MemoryStateBackend() },
];

describe('C12: retained checkpoints share what they refer to', () => {
  test.each(backends)('$name: one fails half way and is cleaned up behind; each of the others is restored in full', async ({ backend }) => {
    for (const restored of [1, 2, 3]) {
      const fell = await sweep({
        world: () =>
          new ClickWorld({
            sink: 'idempotent',
            isOpen: true,
            interval: '1 s',
            checkpoints: { timeout: '4 s', numRetained: 3 },
            ringSlots: 6,
            batch: 1,
            clicks: [clicksOf(6)],
            ...(backend === undefined ? {} : { backend }),
            limits: { inlineBytesMax: 0, flushBelowSlots: 3 },
          }),
        fault: 'kill-after',
        at: ({ process, method }, world) => method === 'objects.remove' || (process.name.includes('.c') && world.open.includes(4)),
        always: unacknowledged(4, '1-0'),
        every: 2,
        async run(world) {
          world.sweeps = true;
          await world.create();
          await world.until(() => {
            const split = world.input.splits[0]!;
            if (!world.everBegun(5)) split.push({ user: `u${split.length % 3}`, at: split.length });
            return world.everBegun(4) && !world.open.includes(4) && world.completed === 3;
          });
          await startRestore(world.ports, restored);
          await world.end();
        },
        check: (world) => world.checkCounts(),
      });
      expect(fell).toBeGreaterThan(3);
    }
  });
});

/** Names of every object that a retained checkpoint, or the newest entry of an owner, refers to, and of bodies of entries that a ring still holds. */
async function referred(world: CaseWorld): Promise<ReadonlySet<string>> {
  const item = await world.item();
  const names = new Set<string>();
  const add = (...more: readonly (string | undefined)[]): void => {
    for (const name of more) if (name !== undefined) names.add(name);
  };
  const ofHead = (head: EntryHead): void => {
    add(head.operatorState?.object, head.snapshot, ...head.held.map(({ object }) => object));
    for (const t of head.transactions) add(t.under > item.confirmed ? t.rows : undefined, ...settledObjects(t).afterADay);
  };
  for (const { metadata } of item.completed) {
    add(metadata);
    for (const { head } of decodeHandles(world.service.objects.peek(metadata)!)) ofHead(decodeHead(head));
  }
  for (const { subtask } of item.owners) {
    ofHead(await world.head(subtask));
    const slots = [...world.service.changelog.slotsOf({ generation: item.generation, subtask }).values()];
    for (const { bytes } of slots) if (!isClosedStub(bytes)) add(bodyObjectOf(bytes));
  }
  for (const stored of world.service.table.items()) for (const { object } of decodeItem(stored.bytes)) add(object);
  return names;
}

describe('C13: a hundred checkpoints, of which every third loses its uploads half way', () => {
  test.each(backends)('$name: after one round of cleaning up there is what is referred to, and nothing else', async ({ backend }) => {
    const world = new ClickWorld({
      sink: 'two-phase',
      isOpen: true,
      interval: '1 s',
      checkpoints: { timeout: '4 s' },
      ringSlots: 16,
      ...(backend === undefined ? {} : { backend }),
      limits: { inlineBytesMax: 0, inlineOperatorStateBytesMax: 0 },
      patience: { triesMax: 2 },
    });
    let pieces = 0;
    let lost = 0;
    world.fate = ({ method, process }) => {
      const open = world.open.find((c) => c % 3 === 0);
      if (open === undefined) pieces = 0;
      else if (method === 'objects.putIfAbsent' && process.name.includes('.e') && ++pieces > open % 4) {
        lost += 1;
        return 'refuse';
      }
      return 'go';
    };
    await world.create();
    const split = world.input.splits[0]!;
    await world.until(() => {
      split.push({ user: `u${split.length % 5}`, at: split.length });
      return world.everBegun(100);
    }, 2_000);
    world.fate = () => 'go';
    expect(lost).toBeGreaterThan(30);
    expect(world.everCompleted.length).toBeGreaterThan(50);
    await world.until(async () => (await world.head('0-0')).splits[0]!.position?.index === split.length);
    await world.rounds(3);
    world.time.now += 25 * 3_600_000;
    world.sweeps = true;
    await world.rounds(2);
    const names = world.service.objects.list('').filter((name) => !name.startsWith('sink/'));
    const kept = await referred(world);
    expect(names.filter((name) => !kept.has(name))).toEqual([]);
    const isOfDecision = (name: string): boolean => name.startsWith('decided/') || name.startsWith('transaction/');
    expect([...kept].filter((name) => !isOfDecision(name) && world.service.objects.peek(name) === undefined)).toEqual([]);
    const items = world.service.items.items().map(({ name }) => name);
    expect(items.filter((name) => !name.startsWith('settled/'))).toEqual(['job']);
    expect(items.length).toBeLessThanOrEqual(1 + (await world.item()).completed.length);
    for (const item of world.service.table.items()) expect(decodeItem(item.bytes).length).toBeLessThan(6);
    await world.end();
    world.checkCounts();
    expect(unpackHead([...world.service.changelog.slotsOf({ generation: 0, subtask: '0-0' }).values()][0]!.bytes).subtask).toBe('0-0');
  });
});
