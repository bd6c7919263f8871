import { expect, test } from 'vitest';
import { InputLogWriter, loggedSource } from '../../../../lib/adapters/invocations/input-log.ts';
import { trimLogs } from '../../../../lib/adapters/invocations/input-trimming.ts';
import { sourcesOf } from '../../../../lib/adapters/invocations/logged-plan.ts';
import { MappingProgress } from '../../../../lib/adapters/invocations/mapping-progress.ts';
import { markBehind, SplitFeed, type SplitMark, unreadSplit } from '../../../../lib/adapters/invocations/split-feed.ts';
import { collect, defineJob, type Env } from '../../../../lib/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { context, ListSource, settle } from './support/parts.ts';

const split = { id: 'all' };
const records = ['a', 'b', 'c', 'd'];

/** A stream whose records are a segment each, all of them behind the newest checkpoint. */
async function beyondCheckpoint() {
  const source = new ListSource(records, { isEager: true });
  source.hasEnded = false;
  const job = defineJob('stream', (env: Env) => {
    env.enableCheckpointing('1 s');
    env.fromSource(source, { uid: 'in' }).sinkTo(collect<string>(), { uid: 'out' });
  });
  const world = new InvocationWorld({ job, batch: 1 });
  await world.create();
  for (const _ of records) await world.feed();
  for (let pulses = 0; pulses < 5; pulses++) await world.pulse();
  const { objects, items } = world.ports;
  const place = { objects, clock: world.clock, uid: 'in' };
  const log = new ListSource([], { isEager: true });
  log.hasEnded = false;
  const writing = new InputLogWriter(place, split).run(log, context, new Promise(() => undefined));
  for (const record of records) {
    log.add([record]);
    await settle();
  }
  log.add([], true);
  await writing;
  const read = async (from: SplitMark): Promise<readonly unknown[]> => {
    const feed = new SplitFeed({ source: loggedSource(log, place), context, split, from, recordsMax: 1_000 });
    const values: unknown[] = [];
    for (let event = await feed.next(); event !== undefined; event = await feed.next())
      values.push(...event.records.map(({ value }) => value));
    await feed.close();
    return values;
  };
  return { world, objects, read, progress: new MappingProgress(items, world.clock), sources: sourcesOf(world.plan) };
}

const behind = (count: number): SplitMark =>
  markBehind(unreadSplit, {
    records: records.slice(0, count).map((value, i) => ({ value, after: { index: i + 1, at: i + 1 } })),
    isLast: false,
  });

test('the log keeps what the next run begins to deliver with, also where checkpoint and subtask are further', async () => {
  const { world, objects, read, progress, sources } = await beyondCheckpoint();
  expect((await world.item()).completed.length).toBe(1);
  await progress.note('0-0', 0, behind(1));
  await progress.note('0-0', 0, behind(3)); // a moment later: it is not written down
  const before = await objects.list('input/');
  await trimLogs(world.ports, sources);
  expect(await objects.list('input/')).toEqual(before.slice(1));
  expect(await read(await progress.read('0-0', 0))).toEqual(['b', 'c', 'd']);
});

test('what lies behind checkpoint, subtask and the next delivery goes', async () => {
  const { world, objects, progress, sources } = await beyondCheckpoint();
  await progress.note('0-0', 0, behind(4));
  const before = await objects.list('input/');
  await trimLogs(world.ports, sources);
  expect(await objects.list('input/')).toEqual(before.slice(-1));
});

test('nothing goes before anybody has noted where a run would begin', async () => {
  const { world, objects, sources } = await beyondCheckpoint();
  const before = await objects.list('input/');
  await trimLogs(world.ports, sources);
  expect(await objects.list('input/')).toEqual(before);
});
