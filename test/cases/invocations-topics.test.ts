// Topics as sources: what an event of a mapping may hold, and what a restore reads again.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KafkaAnswer } from '../../lib/aws/kafka-event.ts';
import { type Collector, collect, defineJob, kafka, keyedProcess, valueState } from '../../lib/index.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { uncounted } from '../../lib/invocation/source-intake.ts';
import { createServices } from '../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../lib/invocation/unit/look.ts';
import { FakeTopic } from '../support/fake-topic.ts';
import { longTopic, TopicWorld } from '../support/topic-world.ts';

interface Click {
  readonly k: string;
  readonly n?: number;
  readonly isGone?: boolean;
}

/** Tells each record with how many of its key came before it; a tombstone forgets them. */
const counting = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement({ k, n, isGone }: Click, ctx, out: Collector<string>) {
    if (n === 666) throw new Error(`record ${n} of ${k}`);
    const seen = isGone === true ? 0 : ctx.state.seen.value() + 1;
    ctx.state.seen.update(seen);
    out.collect(isGone === true ? `${k} gone` : `${k} ${n} ${seen}`);
  },
});

interface Setting {
  readonly partitions?: number;
  readonly parallelism?: number;
  readonly isProvisioned?: boolean;
  readonly environments?: number;
  readonly hasTombstones?: boolean;
  readonly mode?: 'AT_MOST_ONCE';
}

function worldOf(o: Setting = {}) {
  const { partitions = 2, parallelism = 2, isProvisioned = false, environments = 2, hasTombstones = true, mode } = o;
  const topic = new FakeTopic(partitions);
  const out = collect<string>();
  const tombstone = (k: string): Click => ({ k, isGone: true });
  const job = defineJob('topics', (env) => {
    env.setMaxParallelism(8);
    env.enableCheckpointing('2 s', { numRetained: 4, ...(mode === undefined ? {} : { mode }) });
    env
      .fromSource(kafka<Click>('clicks', hasTombstones ? { tombstone } : {}), { uid: 'clicks' })
      .setParallelism(parallelism)
      .keyBy(({ k }) => k)
      .process(counting)
      .uid('count')
      .setParallelism(2)
      .sinkTo(out, { uid: 'out' });
  });
  const world = new TopicWorld(topic, { job, environments, ringSlots: 16, isProvisioned });
  const put = (partition: number, from: number, to: number, k = `k${partition}`): void => {
    for (let n = from; n <= to; n++) topic.put(partition, JSON.stringify({ k, n }));
  };
  return { topic, out, world, put };
}

const rowsOf = (k: string, to: number): readonly string[] => Array.from({ length: to }, (_, i) => `${k} ${i + 1} ${i + 1}`);
const failuresOf = (answer: KafkaAnswer | Error): unknown =>
  answer instanceof Error
    ? answer.message
    : answer.batchItemFailures.map(({ itemIdentifier: i }) => [i.partition.slice(longTopic.length), i.offset]);

let errors: string[];
beforeEach(() => {
  errors = [];
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe('a topic whose mapping delivers several partitions at once', () => {
  test('C47: equal offsets of two partitions are two records, whatever the number of subtasks', async () => {
    for (const parallelism of [1, 2, 3]) {
      const { out, world, put } = worldOf({ parallelism });
      put(0, 1, 5);
      put(1, 1, 5);
      await world.create();
      await world.settle(12);
      expect([...out.rows].sort(), `${parallelism} subtasks`).toEqual([...rowsOf('k0', 5), ...rowsOf('k1', 5)]);
      expect(world.committed).toEqual([5, 5]);
    }
  });

  test('C47: partition 1 advances, and partition 0 is asked for again from the offset that failed', async () => {
    const { topic, world } = worldOf({ isProvisioned: true, environments: 1 });
    world.batch = 10;
    for (let n = 0; n < 8; n++) topic.put(0, n === 5 ? 'no json' : JSON.stringify({ k: 'a', n }));
    for (let n = 0; n < 8; n++) topic.put(1, JSON.stringify({ k: 'b', n }));
    await world.create();
    expect(failuresOf(await world.handle(world.event()))).toEqual([['-0', 5]]);
    await world.feed();
    expect(world.committed).toEqual([5, 8]);
    await world.feed();
    expect(world.committed, 'and again').toEqual([5, 8]);
    expect(errors.at(-1)).toContain("a record of 'clicks' line 1: not JSON");
  });

  test('C47: a mapping that takes no offsets gets the event back whole, and what was committed of it is dropped when it comes again', async () => {
    const { topic, out, world, put } = worldOf({ environments: 1 });
    world.batch = 10;
    put(0, 1, 2);
    topic.put(0, 'no json');
    put(1, 1, 4);
    await world.create();
    const answer = await world.handle(world.event());
    expect(answer).toMatchObject({
      message: expect.stringContaining(`INPUT_NOT_TAKEN: 1 partitions of this event are not taken whole, ${longTopic}-0 from offset 2 on`),
    });
    await world.settle(4);
    expect(world.committed).toEqual([]);
    topic.all[0]![2] = { offset: 2, value: JSON.stringify({ k: 'k0', n: 3 }) }; // as a mended format would read it
    await world.settle();
    expect([...out.rows].sort()).toEqual([...rowsOf('k0', 3), ...rowsOf('k1', 4)]);
    expect(world.committed).toEqual([3, 4]);
  });

  test('C45: a record that can never be processed is parked, and those behind it are processed once', async () => {
    const { topic, out, world, put } = worldOf({ environments: 1, isProvisioned: true, parallelism: 1 });
    put(0, 1, 2);
    topic.put(0, JSON.stringify({ k: 'k0', n: 666 }));
    put(0, 3, 4);
    await world.create();
    await world.settle(16);
    expect([...out.rows].sort()).toEqual(rowsOf('k0', 4));
    const { plan, ports, clock, random } = world;
    const say = (): void => undefined;
    const letters = await listLetters(createServices({ plan, ports, clock, random, files: {} as never, report: say, print: say }));
    expect(letters.map(({ letter }) => letter.error.message)).toEqual([expect.stringContaining('record 666 of k0')]);
  });

  test('C47: a tombstone is what the job says it is, and without a word it is refused by name', async () => {
    const { topic, out, world, put } = worldOf({ parallelism: 1 });
    put(0, 1, 2);
    topic.put(0, undefined, { key: 'k0' });
    put(0, 3, 3);
    await world.create();
    await world.settle();
    expect([...out.rows]).toEqual(['k0 1 1', 'k0 2 2', 'k0 gone', 'k0 3 1']);

    const other = worldOf({ hasTombstones: false, parallelism: 1, isProvisioned: true });
    other.put(1, 1, 1);
    other.topic.put(0, undefined, { key: 'k0' });
    await other.world.create();
    expect(failuresOf(await other.world.handle(other.world.event()))).toEqual([['-0', 0]]);
    expect(errors.at(-1)).toContain("a record of 'clicks' has no value: it is a tombstone");
  });

  test('names of topics are in no id: the longest one that there is goes through an exchange', async () => {
    const { out, world, put, topic } = worldOf();
    expect(longTopic).toHaveLength(249);
    put(0, 1, 3);
    await world.create();
    await world.settle(4);
    expect([...out.rows]).toEqual(rowsOf('k0', 3));
    expect(topic.reads, 'nothing was read but by events').toBe(0);
  });

  test('records of a topic that the name is not bound to are refused', async () => {
    const { world, put } = worldOf();
    put(0, 1, 1);
    await world.create();
    const { records } = world.event();
    const foreign = Object.fromEntries(Object.entries(records).map(([name, own]) => [name, own.map((r) => ({ ...r, topic: 'other' }))]));
    expect(await world.handle({ eventSource: 'SelfManagedKafka', records: foreign })).toMatchObject({
      message: expect.stringContaining('BIND_UNFIT: stage 0 does not read the topic other'),
    });
  });
});

describe('a restore of a job that reads a topic', () => {
  const restoreTo = async (world: TopicWorld, checkpoint: number): Promise<void> => {
    expect(await startRestore(world.ports, checkpoint)).toMatchObject({ kind: 'marked' });
  };

  for (const environments of [1, 3]) {
    test(`reads the topic again from the checkpoint to where it had been read, holes and all, in ${environments} environments`, async () => {
      const { topic, out, world, put } = worldOf({ environments });
      put(0, 1, 3);
      put(1, 1, 2);
      await world.create();
      await world.settle(4);
      const [first] = (await world.item()).completed.slice(-1);
      topic.put(0, JSON.stringify({ k: 'k0', n: 4 }), { skip: 3 }); // marks of transactions lie in between
      put(0, 5, 9);
      put(1, 3, 7);
      while (await world.feed());
      const reads = topic.reads;
      await restoreTo(world, first!.checkpoint);
      await world.settle(12);
      put(0, 10, 11);
      await world.settle();
      expect(topic.reads).toBeGreaterThan(reads);
      expect([...out.rows].sort()).toEqual([...rowsOf('k0', 11), ...rowsOf('k1', 7)].sort());
    });

    test(`reads a partition that came after the checkpoint from its beginning, in ${environments} environments`, async () => {
      const { topic, out, world, put } = worldOf({ environments });
      put(0, 1, 3);
      await world.create();
      await world.settle(4);
      const [first] = (await world.item()).completed.slice(-1);
      topic.addPartition();
      topic.addPartition();
      put(2, 1, 5);
      put(3, 1, 2);
      while (await world.feed());
      while (await world.drain());
      await restoreTo(world, first!.checkpoint);
      await world.settle(12);
      put(2, 6, 7);
      await world.settle();
      expect([...out.rows].sort()).toEqual([...rowsOf('k0', 3), ...rowsOf('k2', 7), ...rowsOf('k3', 2)].sort());
      expect(Array.from(world.committed, (offset = 0) => offset)).toEqual([3, 0, 7, 2]);
    });
  }

  test('under AT_MOST_ONCE repeats nothing, in a partition that was added neither', async () => {
    const { topic, out, world, put } = worldOf({ mode: 'AT_MOST_ONCE', environments: 1 });
    put(0, 1, 3);
    await world.create();
    await world.settle(4);
    const [first] = (await world.item()).completed.slice(-1);
    topic.addPartition();
    put(2, 1, 4);
    while (await world.feed());
    await restoreTo(world, first!.checkpoint);
    await world.settle(6);
    put(2, 5, 6);
    await world.settle();
    const numbers = [...out.rows].map((row) => row.split(' ').slice(0, 2).join(' '));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers).toEqual(expect.arrayContaining(['k2 5', 'k2 6']));
  });

  const gone: readonly (readonly [string, (topic: FakeTopic) => void, RegExp])[] = [
    [
      'C42: whose records the topic threw away',
      (topic) => topic.trim(0, 6),
      /partition 0 of 'clicks' .* those from 3 to 5 were thrown away/,
    ],
    [
      'C42: all of whose records the topic threw away',
      (topic) => topic.trim(0, 9),
      /partition 0 of 'clicks' .* those from 3 to 8 were thrown away/,
    ],
    [
      'whose topic was compacted, with later records behind',
      (topic) => topic.compact(0, 4),
      /partition-0 .* has fewer records up to where it had been read/,
    ],
    [
      'whose topic was made anew',
      (topic) => topic.all[0]!.splice(0),
      /partition-0 .* ends behind record 3 now, and had been read up to record 9/,
    ],
  ];
  for (const [what, lose, says] of gone) {
    test(`does not go on past the place ${what}`, async () => {
      const { topic, out, world, put } = worldOf({ environments: 1 });
      put(0, 1, 3);
      await world.create();
      await world.settle(4);
      const [first] = (await world.item()).completed.slice(-1);
      put(0, 4, 9);
      while (await world.feed());
      await restoreTo(world, first!.checkpoint);
      lose(topic);
      await world.pulse();
      if (what.includes('behind')) put(0, 10, 12);
      put(1, 1, 2);
      await world.settle(12);
      const rows = [...out.rows].map((row) => row.slice(0, row.lastIndexOf(' ')));
      expect(rows, 'the other partition waits for nobody').toEqual(expect.arrayContaining(['k0 3', 'k1 1', 'k1 2']));
      expect(rows.filter((row) => /^k0 1\d/.test(row))).toEqual([]);
      expect(JSON.stringify(world.events)).toMatch(says);
    });
  }
});

test('a partition whose first record is the one that fails is known by its number', async () => {
  const { world, put } = worldOf({ partitions: 1 });
  put(0, 1, 1);
  await world.create();
  const records = [{ value: { k: 'a', n: 1 }, after: { index: uncounted, at: { sequence: '0', sub: 0 } } }];
  const wrong = await world.invoke({ kind: 'records', subtask: '0-0', split: 3, records, isLast: false });
  expect(wrong, 'partition 3 is read by the other subtask').toEqual({ kind: 'refused', why: 'not-an-owner' });
  expect(await world.invoke({ kind: 'records', subtask: '0-1', split: 3, records, isLast: false })).toEqual({ kind: 'done' });
});
