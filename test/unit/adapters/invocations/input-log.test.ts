import { beforeEach, describe, expect, test } from 'vitest';
import { InputLogWriter, loggedSource, trimInputLog } from '../../../../lib/adapters/invocations/input-log.ts';
import { SplitFeed, type SplitMark, unreadSplit } from '../../../../lib/adapters/invocations/split-feed.ts';
import type { ObjectStore } from '../../../../lib/invocation/ports.ts';
import { FakeService, fakePorts } from '../../../../lib/testing/index.ts';
import { context, ListSource, settle } from './support/parts.ts';

const clock = {
  now: () => 0,
  sleep: () => ({ done: new Promise<void>((resolve) => setImmediate(resolve)), cancel: () => undefined }),
};
const split = { id: 'all' };
const never = new Promise<void>(() => undefined);

let objects: ObjectStore;

beforeEach(() => {
  ({ objects } = fakePorts(new FakeService()));
});

const placeOf = () => ({ objects, clock, uid: 'in' });
const stream = (...records: readonly string[]): ListSource => new ListSource(records, { isEager: true, isRereadable: false });

function write(source: ListSource, stopped: Promise<void> = never): Promise<void> {
  return new InputLogWriter(placeOf(), split).run(source, context, stopped);
}

async function readAll(from: SplitMark = unreadSplit): Promise<readonly unknown[]> {
  const source = loggedSource(stream(), placeOf());
  const feed = new SplitFeed({ source, context, split, from, recordsMax: 1_000 });
  const values: unknown[] = [];
  for (let event = await feed.next(); event !== undefined; event = await feed.next())
    values.push(...event.records.map(({ value }) => value));
  await feed.close();
  return values;
}

describe('the log of input that cannot be read again', () => {
  test('can be read again, from any position', async () => {
    await write(stream('a', 'b', '!x', 'c'));
    expect(loggedSource(stream(), placeOf()).isRereadable).toBe(true);
    expect(await readAll()).toEqual(['a', 'b', '!x', 'c']);
    expect(await readAll({ position: { index: 1, at: 1 }, malformed: 0, hasEnded: false })).toEqual(['b', '!x', 'c']);
    expect(await readAll({ position: { index: 2, at: 3 }, malformed: 1, hasEnded: false })).toEqual(['c']);
  });

  test('of an empty stream ends too', async () => {
    await write(stream());
    expect(await readAll()).toEqual([]);
  });

  test('goes on with what comes after the process that wrote it has died', async () => {
    const first = stream('a');
    first.hasEnded = false;
    const dying = Promise.withResolvers<void>();
    const writing = write(first, dying.promise);
    await settle();
    dying.resolve();
    await writing;
    await write(stream('b'));
    expect(await readAll()).toEqual(['a', 'b']);
  });

  test('is not written again once the stream has ended', async () => {
    await write(stream('a'));
    const second = stream('z');
    await write(second);
    expect(second.opened).toBe(0);
    expect(await readAll()).toEqual(['a']);
  });

  test('hands out while the stream goes on', async () => {
    const source = stream('a');
    source.hasEnded = false;
    const writer = new InputLogWriter(placeOf(), split);
    const writing = writer.run(source, context, never);
    const feed = new SplitFeed({ source: loggedSource(source, placeOf(), writer.bell), context, split, from: unreadSplit, recordsMax: 10 });
    expect((await feed.next())!.records.map(({ value }) => value)).toEqual(['a']);
    source.add(['b'], true);
    await writing;
    const rest = await feed.next();
    expect(rest!.records.map(({ value }) => value)).toEqual(['b']);
  });

  test('has one writer: another one finds out before anything of it is delivered', async () => {
    const [one, other] = [stream('a'), stream('x')];
    one.hasEnded = other.hasEnded = false;
    const writing = write(one);
    await settle();
    const late = new InputLogWriter(placeOf(), split).run(other, context, never);
    await settle();
    one.add(['b'], true);
    other.add(['y'], true);
    const [first, second] = await Promise.allSettled([writing, late]);
    const lost = [first, second].filter(({ status }) => status === 'rejected');
    expect(lost).toMatchObject([{ reason: { code: 'OWNER_LOST' } }]);
  });

  test('loses the segments that lie whole below what is needed, never the last', async () => {
    const source = stream();
    source.hasEnded = false;
    const writing = write(source);
    for (const record of ['a', 'b', 'c']) {
      source.add([record]);
      await settle();
    }
    source.add([], true);
    await writing;
    const before = await objects.list('input/');
    await trimInputLog(objects, 'in', 'all', 1);
    expect(await objects.list('input/')).toEqual(before.slice(1));
    expect(await readAll({ position: { index: 1, at: 1 }, malformed: 0, hasEnded: false })).toEqual(['b', 'c']);
    await trimInputLog(objects, 'in', 'all', 1_000);
    expect(await objects.list('input/')).toEqual(before.slice(-1));
  });
});
