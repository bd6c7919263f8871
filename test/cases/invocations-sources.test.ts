// Cases of sources, on the invocation runtime: what an answer acknowledges, and what a record does that can never be processed.

import { describe, expect, test } from 'vitest';
import { type Collector, keyedProcess, valueState } from '../../lib/index.ts';
import type { Answer } from '../../lib/invocation/invocation.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type Click, clicksOf, countsOf } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { sinkKinds } from '../support/case-targets.ts';
import { ClickWorld, type ClickWorldOptions } from '../support/click-world.ts';

/** A counter that throws for some clicks, each time, after it has written state. */
function throwingFor(isPoison: (at: number) => boolean) {
  const tries = new Map<number, number>();
  const counter = keyedProcess({
    state: { seen: valueState({ default: () => 0 }) },
    processElement({ user, at }: Click, ctx, out: Collector<string>) {
      const seen = ctx.state.seen.value() + 1;
      ctx.state.seen.update(seen);
      out.collect(`${user} ${seen}`);
      tries.set(at, (tries.get(at) ?? 0) + 1);
      if (isPoison(at)) throw new Error(`no way to count ${at}`);
    },
  });
  return { counter, tries };
}

const good = (clicks: readonly Click[], isPoison: (at: number) => boolean): readonly string[] =>
  countsOf(clicks.filter(({ at }) => !isPoison(at)));

describe('C44: what a batch of five answers', () => {
  const five = clicksOf(5);
  const batches = [
    { what: 'all fail', isPoison: () => true, acknowledged: 0 },
    { what: 'the first fails', isPoison: (at: number) => at === 0, acknowledged: 0 },
    { what: 'one in the middle fails', isPoison: (at: number) => at === 2, acknowledged: 2 },
    { what: 'the last fails', isPoison: (at: number) => at === 4, acknowledged: 4 },
  ];

  test.each(batches)('$what: exactly the good prefix is acknowledged, and never all of it', async ({ isPoison, acknowledged }) => {
    const { counter } = throwingFor(isPoison);
    const world = new ClickWorld({ sink: 'two-phase', clicks: [five], batch: 5, isPartitioned: true, counter });
    await world.create();
    const answer = (await world.feedSplit('0-0', 0)) as Answer;
    const why = 'record-failed';
    expect(answer).toEqual(acknowledged === 0 ? { kind: 'refused', why } : { kind: 'partial', count: acknowledged, why });
    expect((await world.head('0-0')).splits[0]!.position?.index ?? 0).toBe(acknowledged);
    await world.finish();
    world.check(good(five, isPoison));
    expect((await world.letters()).map(({ letter }) => letter.record)).toEqual(
      five.filter(({ at }) => isPoison(at)).map(({ at }) => String(at)),
    );
  });

  test('the handler dies after partial work: the batch comes again and counts once', async () => {
    const fell = await sweep({
      world: () => new ClickWorld({ sink: 'two-phase', clicks: [five], batch: 5, isPartitioned: true }),
      fault: 'kill-after',
      check: (world) => world.checkCounts(),
    });
    expect(fell).toBeGreaterThan(40);
  });
});

describe('C45: record 7 of 20 can never be processed', () => {
  const twenty = clicksOf(20, 4);
  const isPoison = (at: number): boolean => at === 7;

  /** Reads nothing of a partial answer: the whole batch comes again, as where a handler can only throw. */
  class Throwing extends ClickWorld {
    override async feedSplit(subtask: string, ordinal: number): Promise<Answer | undefined> {
      const { records, isLast } = await this.read(subtask, ordinal, this.from, 20);
      if (this.isOver) return undefined;
      const answer = await this.invoke({ kind: 'records', subtask, split: ordinal, records, isLast }).catch(() => undefined);
      if (answer?.kind === 'done') this.isOver = true;
      return answer;
    }
    from = 0;
    isOver = false;
  }

  const modes = [
    { mode: 'partial answers', of: (o: ClickWorldOptions) => new ClickWorld(o) },
    { mode: 'all or nothing', of: (o: ClickWorldOptions) => new Throwing(o) },
  ];

  for (const { mode, of } of modes) {
    test.each(sinkKinds)(
      `${mode}, %s: it is parked after three tries, with all that is known of it; the others count once`,
      async (sink) => {
        const { counter, tries } = throwingFor(isPoison);
        const world = of({ sink, clicks: [twenty], batch: 20, isPartitioned: true, counter });
        await world.run();
        world.check(good(twenty, isPoison));
        const letters = await world.letters();
        expect(letters.map(({ id }) => id)).toEqual(['in/s0/7']);
        expect(letters[0]!.letter).toMatchObject({ place: 'in/s0', record: '7', operator: 'count', batch: { values: [twenty[7]] } });
        expect(letters[0]!.letter.error.message).toContain('no way to count 7');
        // Three tries that count, each of them once more where the first look was at the whole batch or at a cache that had to be proved.
        expect(tries.get(7)).toBeLessThanOrEqual(6);
      },
    );
  }

  test.each(['kill-after', 'lose-reply', 'refuse', 'freeze'] as const)(
    '%s at any call: one letter, and nothing else is lost or counted twice',
    async (fault) => {
      for (const isPartitioned of [true, false]) {
        const fell = await sweep({
          world: () =>
            new ClickWorld({ sink: 'two-phase', clicks: [clicksOf(10)], batch: 5, isPartitioned, counter: throwingFor(isPoison).counter }),
          fault,
          every: 2,
          async check(world) {
            world.check(good(clicksOf(10), isPoison));
            expect((await world.letters()).map(({ letter }) => letter.batch.values[0])).toEqual([clicksOf(10)[7]]);
          },
        });
        expect(fell).toBeGreaterThan(20);
      }
    },
  );

  test('parking fails: the position does not advance', async () => {
    const { counter } = throwingFor(isPoison);
    const world = new ClickWorld({
      sink: 'two-phase',
      clicks: [twenty],
      batch: 20,
      isPartitioned: true,
      counter,
      patience: { triesMax: 2 },
    });
    await world.create();
    for (let i = 0; i < 2; i++) await world.feedSplit('0-0', 0);
    world.fate = ({ method }) => (method === 'changelog.put' ? 'refuse' : 'go');
    for (let i = 0; i < 3; i++) expect(await world.feedSplit('0-0', 0)).toBeUndefined();
    expect((await world.head('0-0')).splits[0]!.position?.index).toBe(7);
    expect(await world.letters()).toEqual([]);
    world.fate = () => 'go';
    await world.finish();
    world.check(good(twenty, isPoison));
    expect(await world.letters()).toHaveLength(1);
  });
});

describe('C48: parts of one split are delivered in any order, at the same time, and some again', () => {
  test.each(sinkKinds)('%s: a part that is not next is refused and comes again, so order holds and positions are safe', async (sink) => {
    let gaps = 0;
    for (let seed = 0; seed < 20; seed++) {
      const random = seededRandom(seed);
      const clicks = clicksOf(30, 10);
      const world = new ClickWorld({ sink, clicks: [clicks], isPartitioned: true, environments: 3, interval: '1 s' });
      await world.create();
      const { records } = await world.read('0-0', 0, 0, clicks.length);
      let parts: { readonly from: number; readonly to: number }[] = [];
      for (let from = 0; from < records.length; ) {
        const to = Math.min(records.length, from + random.between(1, 4));
        parts.push({ from, to });
        from = to;
      }
      while (parts.length > 0) {
        const now = random.shuffled(parts).slice(0, 3);
        const answers = await Promise.all(
          now.map(({ from, to }, at) =>
            world.invokeAt(at, { kind: 'records', subtask: '0-0', split: 0, records: records.slice(from, to), isLast: false }),
          ),
        );
        gaps += answers.filter((a) => a.kind === 'refused' && a.why === 'gap').length;
        const over = now.filter((_, at) => answers[at]!.kind === 'done');
        parts = parts.filter((part) => !over.includes(part) || random.chance(0.1)); // one in ten is delivered again all the same
        if (random.chance(0.3)) await world.pulse();
      }
      await world.finish();
      world.checkCounts();
      for (const user of new Set(clicks.map((c) => c.user))) {
        const ofUser = world.target.visible.filter((row) => row.startsWith(`${user} `)).map((row) => Number(row.split(' ')[1]));
        expect(ofUser).toEqual(ofUser.map((_, at) => at + 1));
      }
    }
    expect(gaps).toBeGreaterThan(50);
  });
});
