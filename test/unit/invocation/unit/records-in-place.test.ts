// A function that changes what it is given in place: whatever runs are abandoned, the last one is given what came.
import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, mapState, WatermarkStrategy } from '../../../../lib/index.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../../../lib/invocation/unit/look.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

interface Item {
  n: number;
  readonly id: number;
  /** What cannot be stored. */
  readonly odd?: unknown;
}

const itemOf = (id: number): Item => ({ n: 0, id });
/** As a mapping has them. */
const recordsOf = (from: number, to: number): readonly EventRecord[] =>
  Array.from({ length: to - from }, (_, i) => ({ value: itemOf(from + i), after: { index: from + i + 1, at: from + i + 1 } }));

/** Each record is changed in place, and what it says then is told and added up. */
class InPlace {
  readonly out = collect<string>();
  readonly world: InvocationWorld;
  throws: (id: number) => boolean = () => false;

  constructor(stages: 1 | 2, items = [0, 1, 2, 3, 4, 5].map(itemOf)) {
    const sum = keyedProcess({
      state: { seen: mapState<string, number>() },
      processElement: (record: Item, ctx, to: Collector<string>) => {
        record.n += 1;
        const seen = (ctx.state.seen.get('seen') ?? 0) + record.n;
        ctx.state.seen.put('seen', seen);
        if (this.throws(record.id)) throw new Error(`no to ${record.id}`);
        to.collect(`${record.id}: ${record.n} ${seen}`);
      },
    });
    const job = defineJob('in-place', (env: Env) => {
      env.enableCheckpointing('5 s');
      env
        .fromCollection<Item>(items, { uid: 'in', ...(stages === 1 ? { partitionedBy: () => 'k' } : {}) })
        .keyBy(() => 'k')
        .process(sum)
        .uid('sum')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job, environments: 3, batch: 6 });
  }

  give(from: number, to: number): ReturnType<InvocationWorld['invoke']> {
    const reread = (): readonly EventRecord[] => recordsOf(from, to);
    return this.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: reread(), reread, isLast: false });
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 8; i++) {
      await this.world.pulse();
      while (await this.world.drain());
    }
  }

  async letters() {
    const { plan, ports, clock, random } = this.world;
    const services = createServices({
      plan,
      ports,
      clock,
      random,
      files: undefined as never,
      report: () => undefined,
      print: () => undefined,
    });
    return await listLetters(services);
  }
}

const rowsOf = (...ids: readonly number[]): readonly string[] => ids.map((id, i) => `${id}: 1 ${i + 1}`);

describe.each([1, 2] as const)('of a job of %i stage(s)', (stages) => {
  test('when state is loaded first, in one environment after another', async () => {
    const p = new InPlace(stages);
    await p.world.create();
    for (let id = 0; id < 6; id += 2) {
      expect(await p.give(id, id + 2)).toEqual({ kind: 'done' });
      while (await p.world.drain());
    }
    await p.settle();
    expect(p.out.rows).toEqual(rowsOf(0, 1, 2, 3, 4, 5));
  });

  test('when a record of the batch throws until it is parked, and is redriven', async () => {
    const p = new InPlace(stages);
    p.throws = (id) => id === 3;
    await p.world.create();
    for (let tries = 0; tries < 5; tries++) {
      await p.give(0, 6);
      await p.world.drain();
    }
    const [parked, ...more] = await p.letters();
    expect(more).toEqual([]);
    expect(parked?.letter.batch.values).toEqual([itemOf(3)]);
    p.throws = () => false;
    expect(await p.world.invoke({ kind: 'redrive', subtask: parked!.subtask, letter: parked!.id })).toEqual({ kind: 'done' });
    await p.settle();
    expect(p.out.rows).toEqual(rowsOf(0, 1, 2, 4, 5, 3));
  });

  test('when a restore reads the source again', async () => {
    const p = new InPlace(stages);
    await p.world.create();
    await p.give(0, 2);
    while ((await p.world.item()).completed.length === 0) await p.settle();
    await p.give(2, 6);
    while (await p.world.drain());
    await startRestore(p.world.ports, 'latest');
    for (let rounds = 0; rounds < 4; rounds++) await p.settle();
    expect(p.out.rows).toEqual(rowsOf(0, 1, 2, 3, 4, 5));
  });
});

test('when the time of a record is told under AT_MOST_ONCE, before its position is committed', async () => {
  const out = collect<string>();
  const withTimestamps = WatermarkStrategy.forMonotonousTimestamps<Item>().withTimestamps((item) => {
    item.n += 1;
    return item.id;
  });
  const job = defineJob('timed-in-place', (env: Env) => {
    env.enableCheckpointing('5 s', { mode: 'AT_MOST_ONCE' });
    env
      .fromCollection<Item>([], { uid: 'in', watermarks: withTimestamps })
      .map(({ id, n }) => `${id}: ${n}`)
      .sinkTo(out, { uid: 'out' });
  });
  const world = new InvocationWorld({ job });
  await world.create();
  for (const id of [0, 1, 2]) {
    const reread = (): readonly EventRecord[] => recordsOf(id, id + 1);
    await world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: reread(), reread, isLast: false });
  }
  for (let i = 0; i < 20; i++) await world.pulse();
  expect(out.rows).toEqual(['0: 1', '1: 1', '2: 1']);
});
