import { describe, expect, test } from 'vitest';
import {
  type Collector,
  collect,
  defineJob,
  type Env,
  FsStateBackend,
  keyedProcess,
  print,
  valueState,
  WatermarkStrategy,
} from '../../../../lib/index.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { Answer } from '../../../../lib/invocation/invocation.ts';
import { uncounted } from '../../../../lib/invocation/source-intake.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { type ListedLetter, listLetters } from '../../../../lib/invocation/unit/look.ts';
import { decodeItem, isTombstone } from '../../../../lib/invocation/versions.ts';
import { ReshardWorld } from '../../../support/reshard-world.ts';
import { Shards } from '../../../support/shards.ts';

interface Event {
  readonly k: string;
  readonly n: number;
}

const keys = Array.from({ length: 4 }, (_, i) => `k${i}`);
/** Records `from` to `to` of every key, in order of number. */
const records = (from: number, to: number): readonly Event[] =>
  Array.from({ length: to - from + 1 }, (_, i) => keys.map((k) => ({ k, n: from + i }))).flat();

/** Tells each record with how many came before it, and with the end of time each record once more. */
const counting = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement({ k, n }: Event, ctx, out: Collector<string>) {
    const seen = ctx.state.seen.value() + 1;
    ctx.state.seen.update(seen);
    out.collect(`${k} ${n} ${seen}`);
    ctx.timerService.registerEventTimeTimer(1_000_000 + n);
  },
  onTimer(at: number, ctx, out: Collector<string>) {
    out.collect(`${ctx.getCurrentKey()} timer ${at - 1_000_000}`);
  },
});

const expected = (to: number): readonly string[] =>
  keys.flatMap((k) => Array.from({ length: to }, (_, i) => [`${k} ${i + 1} ${i + 1}`, `${k} timer ${i + 1}`]).flat()).sort();

interface Setting {
  readonly shards?: number;
  readonly isFs?: boolean;
  readonly hasExchange?: boolean;
  readonly environments?: number;
  readonly mode?: 'AT_MOST_ONCE';
  /** Rows are printed at once instead of promised. */
  readonly isPrinting?: boolean;
}

function worldOf({ shards: count = 1, isFs = false, hasExchange = false, environments = 2, mode, isPrinting = false }: Setting = {}) {
  const shards = new Shards<Event>(({ k }) => k, count);
  const out = collect<string>();
  const sink = isPrinting ? print() : out;
  const job = defineJob('shards', (env: Env) => {
    env.setMaxParallelism(8);
    env.enableCheckpointing('2 s', { numRetained: 3, ...(mode === undefined ? {} : { mode }) });
    if (isFs) env.setStateBackend(new FsStateBackend('file:/state'));
    const source = env.fromSource(shards.source(), {
      uid: 'in',
      partitionedBy: ({ k }) => k,
      watermarks: WatermarkStrategy.forMonotonousTimestamps<Event>().withTimestamps(({ n }) => n),
    });
    const counted = source
      .keyBy(({ k }) => k)
      .process(counting)
      .uid('count');
    if (!hasExchange) counted.sinkTo(sink, { uid: 'out' });
    else
      counted
        .keyBy((text) => text.split(' ')[0] as string)
        .process(passing)
        .uid('pass')
        .setParallelism(2)
        .sinkTo(sink, { uid: 'out' });
  });
  return { shards, out, world: new ReshardWorld(shards, { job, environments, ringSlots: 8 }) };
}

/** Hands on what it gets, and notices what comes twice or out of order. */
const passing = keyedProcess({
  state: { last: valueState({ default: () => 0 }) },
  processElement(text: string, ctx, out: Collector<string>) {
    const [, n, seen] = text.split(' ');
    if (n !== 'timer') {
      if (Number(seen) !== ctx.state.last.value() + 1) out.collect(`out of order: ${text}`);
      ctx.state.last.update(Number(seen));
    }
    out.collect(text);
  },
});

const subtasks = async (world: ReshardWorld<Event>): Promise<readonly string[]> => (await world.item()).owners.map((o) => o.subtask);

describe('a stream whose shards split and merge', () => {
  for (const isFs of [false, true]) {
    for (const hasExchange of [false, true]) {
      const where = `${hasExchange ? 'with an exchange behind' : 'in one stage'}, ${isFs ? 'state in snapshots' : 'state in the table'}`;

      test(`C41: records of a key come in order and once over a split, ${where}`, async () => {
        const { shards, out, world } = worldOf({ isFs, hasExchange });
        await world.create();
        shards.put(...records(1, 5));
        await world.feed();
        shards.split(shards.all[0]!);
        shards.put(...records(6, 10));
        await world.settle();
        expect((await subtasks(world)).filter((s) => s.startsWith('0'))).toEqual(['0-s1', '0-s2']);
        await world.finish();
        expect([...out.rows].sort()).toEqual(expected(10));
        expect(world.isAllAcknowledged).toBe(true);
      });

      test(`C41: and over a merge, ${where}`, async () => {
        const { shards, out, world } = worldOf({ shards: 2, isFs, hasExchange });
        await world.create();
        shards.put(...records(1, 5));
        await world.feed();
        const merged = shards.merge(shards.all[0]!, shards.all[1]!);
        shards.put(...records(6, 8));
        await world.settle();
        shards.split(merged, merged.split.range.from + 1_000_000_000);
        shards.put(...records(9, 12));
        await world.settle();
        expect((await subtasks(world)).filter((s) => s.startsWith('0'))).toEqual(['0-s3', '0-s4']);
        await world.finish();
        expect([...out.rows].sort()).toEqual(expected(12));
      });
    }
  }

  test('C41: a parent that was empty since the last checkpoint hands over what it had', async () => {
    const { shards, out, world } = worldOf();
    await world.create();
    shards.put(...records(1, 5));
    await world.settle();
    const [newest] = (await world.item()).completed.slice(-1);
    shards.split(shards.all[0]!);
    await world.settle();
    expect((await world.item()).completed.at(-1)!.checkpoint).toBeGreaterThan(newest!.checkpoint); // the change itself is news
    shards.put(...records(6, 10));
    await world.finish();
    expect([...out.rows].sort()).toEqual(expected(10));
  });

  test('C41: three environments that never serve a subtask twice in a row', async () => {
    const { shards, out, world } = worldOf({ environments: 3, hasExchange: true, shards: 2 });
    await world.create();
    for (let n = 1; n <= 12; n++) {
      shards.put(...records(n, n));
      if (n === 3) shards.split(shards.all[0]!);
      if (n === 6) shards.merge(shards.all[3]!, shards.all[1]!);
      if (n === 9) shards.split(shards.all[2]!);
      await world.feed();
      while (await world.drain());
      await world.pulse();
    }
    await world.finish();
    expect([...out.rows].sort()).toEqual(expected(12));
  });

  for (const hasExchange of [false, true]) {
    for (const when of hasExchange ? (['before'] as const) : (['after'] as const)) {
      test(`C41: a coordinator that dies ${when} one of its requests, ${hasExchange ? 'with an exchange behind' : 'in one stage'}`, async () => {
        const play = async (request: number | undefined) => {
          const { shards, out, world } = worldOf({ hasExchange, shards: 2 });
          await world.create();
          shards.put(...records(1, 3));
          await world.settle(4);
          shards.put(...records(4, 5));
          await world.feed();
          shards.merge(shards.all[0]!, shards.all[1]!);
          shards.put(...records(6, 6));
          await world.feed();
          await world.feed();
          while (await world.drain());
          await world.feed();
          world.requests = 0;
          world.cutAt = request === undefined ? undefined : { request, when };
          await world.pulse();
          await world.pulse();
          const { requests } = world;
          world.cutAt = undefined;
          await world.finish();
          expect([...out.rows].sort(), `cut ${when} request ${request}`).toEqual(expected(6));
          return requests;
        };
        const requests = await play(undefined);
        expect(requests).toBeGreaterThan(30);
        for (let request = 1; request <= requests; request += 3) await play(request); // each single one: move.test.ts
      });
    }
  }

  for (const isFs of [false, true]) {
    for (const target of ['before', 'after'] as const) {
      test(`C41: a restore to ${target} the change, ${isFs ? 'state in snapshots' : 'state in the table'}`, async () => {
        const { shards, out, world } = worldOf({ isFs, hasExchange: true });
        await world.create();
        shards.put(...records(1, 2));
        await world.settle(6);
        const before = (await world.item()).completed.at(-1)!.checkpoint;
        shards.put(...records(3, 4));
        await world.feed();
        shards.split(shards.all[0]!);
        shards.put(...records(5, 6));
        await world.settle(1);
        await world.settle(target === 'before' ? 1 : 6);
        shards.put(...records(7, 8));
        while (await world.feed());
        await startRestore(world.ports, target === 'before' ? before : 'latest');
        await world.pulse();
        const owners = (await subtasks(world)).filter((s) => s.startsWith('0'));
        expect(owners).toEqual(target === 'before' ? ['0-s0'] : ['0-s1', '0-s2']);
        shards.put(...records(9, 10));
        await world.settle();
        expect((await subtasks(world)).filter((s) => s.startsWith('0'))).toEqual(['0-s1', '0-s2']);
        await world.finish();
        // Rows that a later checkpoint had made visible come again when an older one is restored.
        const rows = target === 'before' ? [...new Set(out.rows)] : out.rows;
        expect([...rows].sort()).toEqual(expected(10));
        expect(world.isAllAcknowledged).toBe(true);
      });
    }
  }

  for (const hasExchange of [false, true]) {
    test(`C41: under AT_MOST_ONCE a restore to before the change repeats no record, ${hasExchange ? 'with an exchange behind' : 'in one stage'}`, async () => {
      // What is printed stays, whatever a restore undoes; and one environment prints nothing twice.
      const { shards, world } = worldOf({ hasExchange, mode: 'AT_MOST_ONCE', isPrinting: true, environments: 1 });
      await world.create();
      shards.put(...records(1, 2));
      await world.settle(6);
      const before = (await world.item()).completed.at(-1)!.checkpoint;
      shards.put(...records(3, 4));
      await world.feed();
      shards.split(shards.all[0]!);
      shards.put(...records(5, 6));
      await world.settle(2);
      shards.put(...records(7, 8));
      while (await world.feed());
      await startRestore(world.ports, before);
      await world.pulse();
      expect((await subtasks(world)).filter((s) => s.startsWith('0'))).toEqual(['0-s0']);
      shards.put(...records(9, 10));
      await world.settle();
      expect((await subtasks(world)).filter((s) => s.startsWith('0'))).toEqual(['0-s1', '0-s2']);
      await world.finish();
      const seen = world.printed
        .filter((row) => !row.includes('timer'))
        .map((row) =>
          row
            .replace(/^out of order: /, '')
            .split(' ')
            .slice(0, 2)
            .join(' '),
        );
      expect(seen.length).toBe(new Set(seen).size);
      for (const k of keys) for (const n of [1, 2, 9, 10]) expect(seen).toContain(`${k} ${n}`);
      expect(world.isAllAcknowledged).toBe(true);
    });
  }

  test('C41: what lies under the name of a parent goes a day after its last ring was closed, and nothing of its children', async () => {
    const { shards, out, world } = worldOf();
    const under = (subtask: string): readonly unknown[] =>
      world.service.table
        .items()
        .filter(({ address, bytes }) => address.partition.endsWith(`/${subtask}`) && !decodeItem(bytes).every(isTombstone));
    await world.create();
    shards.put(...records(1, 5));
    await world.settle();
    shards.split(shards.all[0]!);
    await world.settle();
    expect(under('0-s0').length).toBeGreaterThan(0);
    shards.put(...records(6, 8));
    for (let n = 9; n <= 14; n++) {
      shards.put(...records(n, n));
      await world.settle(6);
    }
    expect((await world.item()).rings).toContain('0/0-s0');
    expect(under('0-s0').length).toBeGreaterThan(0);
    world.now += 25 * 3_600_000;
    await world.settle(3);
    expect((await world.item()).rings).not.toContain('0/0-s0');
    expect(under('0-s0')).toEqual([]);
    await world.finish();
    expect([...out.rows].sort()).toEqual(expected(14));
  });

  test('C41: a parked timer goes to the child that has its key, which fires it again when it is asked to', async () => {
    const shards = new Shards<Event>(({ k }) => k, 1);
    const out = collect<string>();
    let isFixed = false;
    const failing = keyedProcess({
      state: { seen: valueState({ default: () => 0 }) },
      processElement({ n }: Event, ctx, _out: Collector<string>) {
        ctx.state.seen.update(ctx.state.seen.value() + 1);
        ctx.timerService.registerEventTimeTimer(n);
      },
      onTimer(at: number, ctx, output: Collector<string>) {
        if (!isFixed) throw new Error('not yet');
        output.collect(`${ctx.getCurrentKey()} ${at} ${ctx.state.seen.value()}`);
      },
    });
    const job = defineJob('failing-timers', (env: Env) => {
      env.setMaxParallelism(8);
      env.enableCheckpointing('2 s');
      const watermarks = WatermarkStrategy.forMonotonousTimestamps<Event>().withTimestamps(({ n }) => n);
      env
        .fromSource(shards.source(), { uid: 'in', partitionedBy: ({ k }) => k, watermarks })
        .keyBy(({ k }) => k)
        .process(failing)
        .uid('failing')
        .sinkTo(out, { uid: 'out' });
    });
    const world = new ReshardWorld(shards, { job, environments: 2, ringSlots: 8 });
    await world.create();
    shards.put(...records(1, 1), ...records(5, 5));
    await world.settle();
    const { plan, ports, clock, random } = world;
    const quiet = { files: undefined as never, report: () => undefined, print: () => undefined };
    const letters = (): Promise<readonly ListedLetter[]> => listLetters(createServices({ plan, ports, clock, random, ...quiet }));
    expect((await letters()).map(({ subtask }) => subtask)).toEqual(keys.map(() => '0-s0'));
    const children = shards.split(shards.all[0]!);
    await world.settle();
    const homes = (await letters()).map(({ subtask, letter }) => [subtask, (letter.batch.values[0] as { readonly key: string }).key]);
    expect(homes.map(([, key]) => key).sort()).toEqual(keys);
    for (const [subtask, key] of homes) expect(subtask).toBe(shards.shardOf(key) === children[0] ? '0-s1' : '0-s2');
    isFixed = true;
    for (const { subtask, id } of await letters())
      expect(await world.invoke({ kind: 'redrive', subtask, letter: id })).toEqual({ kind: 'done' });
    expect(await letters()).toEqual([]);
    await world.finish();
    expect([...out.rows].sort()).toEqual(keys.flatMap((k) => [`${k} 1 2`, `${k} 5 2`]).sort());
  });

  test('C41: events that do not count their records are answered by places: of who has given way what was read, and nothing behind it', async () => {
    const shards = new Shards<Event>(({ k }) => k, 1);
    const out = collect<string>();
    const source = { ...shards.source(), comparePlaces: (a: unknown, b: unknown) => Number(a) - Number(b) };
    const job = defineJob('places', (env: Env) => {
      env.enableCheckpointing('2 s', { numRetained: 3 });
      env
        .fromSource(source, { uid: 'in', partitionedBy: ({ k }) => k })
        .map(({ k, n }) => `${k} ${n}`)
        .sinkTo(out, { uid: 'out' });
    });
    const world = new ReshardWorld(shards, { job, environments: 2, ringSlots: 8 });
    const invoke = world.invoke.bind(world);
    world.invoke = (i) =>
      i.kind !== 'records'
        ? invoke(i)
        : invoke({ ...i, records: i.records.map((record) => ({ ...record, after: { index: uncounted, at: record.after.at } })) });
    const give = (subtask: string, split: number, ...places: readonly number[]): Promise<Answer> =>
      world.invoke({
        kind: 'records',
        subtask,
        split,
        records: places.map((at) => ({ value: { k: 'k0', n: at }, after: { index: at, at } })),
        isLast: false,
      });
    await world.create();
    shards.put(...records(1, 2));
    await world.settle(6);
    const before = (await world.item()).completed.at(-1)!.checkpoint;
    shards.put(...records(3, 3));
    await world.feed();
    const [low, high] = shards.split(shards.all[0]!);
    shards.put(...records(4, 4));
    await world.settle(2);
    const parentEnd = shards.all[0]!.records.length;
    expect(await give('0-s0', 0, parentEnd)).toEqual({ kind: 'done' });
    const read = [low!.records.length, high!.records.length];
    await startRestore(world.ports, before);
    await world.pulse();
    expect(await subtasks(world)).toContain('0-s0');
    for (const [at, subtask] of ['0-s1', '0-s2'].entries()) {
      if (read[at] === 0) continue;
      expect(await give(subtask, at + 1, read[at]!)).toEqual({ kind: 'done' });
      expect(await give(subtask, at + 1, read[at]! + 1)).toEqual({ kind: 'refused', why: 'not-an-owner' });
    }
    shards.put(...records(5, 6));
    await world.finish();
    expect([...new Set(out.rows)].sort()).toEqual(keys.flatMap((k) => [1, 2, 3, 4, 5, 6].map((n) => `${k} ${n}`)).sort());
  });
});
