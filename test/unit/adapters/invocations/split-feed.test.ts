import { describe, expect, test } from 'vitest';
import { markBehind, SplitFeed, type SplitMark, unreadSplit } from '../../../../lib/adapters/invocations/split-feed.ts';
import type { EventPart } from '../../../../lib/invocation/event-records.ts';
import { context, ListSource, settle } from './support/parts.ts';

const numbers = (from: number, to: number): readonly string[] => Array.from({ length: to - from }, (_, i) => String(from + i));

function feedOf(source: ListSource, recordsMax: number, from: SplitMark = unreadSplit): SplitFeed {
  return new SplitFeed({ source, context, split: { id: 'all' }, from, recordsMax });
}

async function eventsOf(feed: SplitFeed): Promise<readonly EventPart[]> {
  const events: EventPart[] = [];
  for (let event = await feed.next(); event !== undefined; event = await feed.next()) events.push(event);
  return events;
}

const valuesOf = ({ records }: EventPart): readonly unknown[] => records.map(({ value }) => value);

describe('the events of a split', () => {
  test('end at fixed record counts, wherever reading began', async () => {
    const source = new ListSource(numbers(0, 10));
    expect((await eventsOf(feedOf(source, 4))).map(valuesOf)).toEqual([numbers(0, 4), numbers(4, 8), numbers(8, 10)]);
    const from = { position: { index: 3, at: 3 }, malformed: 0, hasEnded: false };
    expect((await eventsOf(feedOf(source, 4, from))).map(valuesOf)).toEqual([['3'], numbers(4, 8), numbers(8, 10)]);
  });

  test('say which is the last; a split without records has one empty event', async () => {
    expect((await eventsOf(feedOf(new ListSource(numbers(0, 3)), 2))).map(({ isLast }) => isLast)).toEqual([false, true]);
    expect(await eventsOf(feedOf(new ListSource([]), 2))).toEqual([{ records: [], isLast: true }]);
  });

  test('give every record a position of its own, so that any prefix can be committed', async () => {
    const [event] = await eventsOf(feedOf(new ListSource(numbers(0, 3)), 5));
    expect(event!.records.map(({ after }) => after.index)).toEqual([1, 2, 3]);
  });

  test('hand out what there is of a source that is eager, and wait for a full event of any other', async () => {
    const eager = new ListSource(['a'], { isEager: true });
    eager.hasEnded = false;
    expect(valuesOf((await feedOf(eager, 3).next())!)).toEqual(['a']);
    const patient = new ListSource(['a']);
    patient.hasEnded = false;
    let event: EventPart | undefined;
    void feedOf(patient, 3)
      .next()
      .then((e) => {
        event = e;
      });
    await settle();
    expect(event).toBeUndefined();
    patient.add(['b', 'c']);
    await settle();
    expect(valuesOf(event!)).toEqual(['a', 'b', 'c']);
  });

  test('number malformed records, over a mark behind some of them too', async () => {
    const source = new ListSource(['!x', 'a', '!y', 'b', '!z']);
    const events = await eventsOf(feedOf(source, 1));
    expect(events.flatMap(({ records }) => records.flatMap(({ nth }) => nth ?? []))).toEqual([0, 1, 2]);
    const mark = markBehind(unreadSplit, events[0]!);
    expect(mark).toMatchObject({ position: { index: 1 }, malformed: 1, hasEnded: false });
    const rest = await eventsOf(feedOf(source, 1, mark));
    expect(rest.flatMap(({ records }) => records.flatMap(({ nth }) => nth ?? []))).toEqual([1, 2]);
  });

  test('are cut also in a stretch of malformed records', async () => {
    const events = await eventsOf(feedOf(new ListSource(Array.from({ length: 50 }, () => '!')), 5));
    expect(events.flatMap(({ records }) => records)).toHaveLength(50);
  });

  test('end when the feed is closed while it waits', async () => {
    const source = new ListSource([]);
    source.hasEnded = false;
    const feed = feedOf(source, 3);
    const next = feed.next();
    await feed.close();
    source.add([]);
    expect(await next).toBeUndefined();
  });

  test('tell where a source failed', async () => {
    const source = new ListSource(['a']);
    source.hasEnded = false;
    const feed = feedOf(source, 3);
    const broken = feed.next();
    Object.defineProperty(source, 'records', {
      get: () => {
        throw new Error('gone');
      },
    });
    source.hasEnded = true;
    await expect(Promise.race([broken, feed.next()])).rejects.toMatchObject({ code: 'USER_FUNCTION_FAILED', details: { operator: 'in' } });
  });
});
