import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState, WatermarkStrategy } from '../../../../lib/index.ts';
import type { EntryHead } from '../../../../lib/invocation/entry.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { type ListedLetter, listLetters, lookAt } from '../../../../lib/invocation/unit/look.ts';
import type { UnitServices } from '../../../../lib/invocation/unit/services.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

/** A world in which each record sets a timer of its key, and what becomes of a timer is the test's to say. */
class Timed {
  readonly out = collect<string>();
  readonly world: InvocationWorld;
  /** Times that each timer was called. */
  readonly calls = new Map<string, number>();
  readonly #isDown: (key: string) => boolean;

  constructor(p: {
    readonly throws: (key: string) => boolean;
    /** What a timer passes on cannot be stored. */
    readonly isUnstorable?: (key: string) => boolean;
    /** A record that passes on what cannot be stored. */
    readonly unstorableRecord?: string;
    readonly domain?: 'event' | 'processing';
    readonly stages?: 1 | 2;
    readonly keys?: number;
    readonly environments?: number;
    readonly mode?: 'AT_MOST_ONCE';
  }) {
    const { domain = 'event', stages = 1, keys = 4, environments = 1, mode } = p;
    this.#isDown = p.throws;
    const values = Array.from({ length: keys }, (_, i) => `k${i}`);
    const watermarks = WatermarkStrategy.forMonotonousTimestamps<string>().withTimestamps((key) => 1_000 + Number(key.slice(1)));
    const timed = keyedProcess({
      state: { seen: valueState({ default: () => 0 }) },
      processElement: (key: string, ctx, out: Collector<string>) => {
        if (key === p.unstorableRecord) out.collect((() => key) as never);
        ctx.state.seen.update(ctx.state.seen.value() + 1);
        if (domain === 'event') ctx.timerService.registerEventTimeTimer(2_000);
        else ctx.timerService.registerProcessingTimeTimer(this.world.now + 5_000);
      },
      onTimer: (at: number, ctx, out: Collector<string>) => {
        const key = ctx.getCurrentKey() as string;
        ctx.state.seen.update(ctx.state.seen.value() + 10);
        this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
        out.collect(`${key} ${domain === 'event' ? at : 'fired'} ${ctx.state.seen.value()}`);
        if (p.isUnstorable?.(key) === true) out.collect((() => key) as never);
        if (this.#isDown(key)) throw new Error(`no to ${key}`);
      },
    });
    const job = defineJob('timed', (env: Env) => {
      env.enableCheckpointing('5 s', mode === undefined ? {} : { mode });
      env
        .fromCollection(values, { uid: 'in', watermarks, ...(stages === 1 ? { partitionedBy: (key: string) => key } : {}) })
        .keyBy((key) => key)
        .process(timed)
        .uid('timed')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job, environments, batch: 100 });
  }

  get #services(): UnitServices {
    const { plan, ports, clock, random } = this.world;
    return createServices({ plan, ports, clock, random, files: undefined as never, report: () => undefined, print: () => undefined });
  }

  letters(): Promise<readonly ListedLetter[]> {
    return listLetters(this.#services);
  }

  async head(subtask: string): Promise<EntryHead> {
    return (await lookAt(this.#services, subtask)).newest.head;
  }

  give(keys: readonly string[], isLast: boolean): Promise<Answer> {
    const records = keys.map((value, i): EventRecord => ({ value, after: { index: i + 1, at: i + 1 } }));
    return this.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast });
  }

  get rows(): readonly string[] {
    return [...this.out.rows].sort();
  }
}

const rowsOf = (...keys: readonly string[]): readonly string[] => keys.map((key) => `${key} 2000 11`);

describe('a timer whose callback throws', () => {
  for (const stages of [1, 2] as const) {
    for (const environments of [1, 3]) {
      test(`is parked after its tries, with all others fired once, in ${stages} stage(s) over ${environments} environment(s)`, async () => {
        const p = new Timed({ throws: (key) => key === 'k2', stages, environments });
        await p.world.run();
        expect(p.rows).toEqual(rowsOf('k0', 'k1', 'k3'));
        const [only, ...others] = await p.letters();
        expect(others).toEqual([]);
        expect(only).toMatchObject({
          subtask: stages === 1 ? '0-0' : '1-0',
          letter: {
            operator: 'timed',
            error: { code: 'USER_FUNCTION_FAILED' },
            place: '#timer/event/timed',
            timer: { domain: 'event', time: 2_000 },
            batch: { values: [{ operator: 'timed', timer: 'event', time: 2_000, key: 'k2' }] },
          },
        });
        expect(only?.letter.error.message).toContain('no to k2');
        expect((await p.head(stages === 1 ? '0-0' : '1-0')).attempts).toEqual([]);
      });
    }
  }

  test('of processing time is tried by one tick after the other, and then parked', async () => {
    const p = new Timed({ throws: (key) => key === 'k2', domain: 'processing' });
    await p.world.create();
    expect(await p.give(['k0', 'k1', 'k2', 'k3'], false)).toEqual({ kind: 'done' });
    p.world.now += 10_000;
    const tick = (): Promise<Answer> => p.world.invoke({ kind: 'tick', subtask: '0-0' });
    expect(await tick()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await tick()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await p.letters()).toEqual([]);
    expect(await tick()).toEqual({ kind: 'done' });
    expect(await p.letters()).toMatchObject([{ letter: { place: '#timer/processing/timed', timer: { domain: 'processing' } } }]);
    const { calls } = p;
    const before = new Map(calls);
    p.world.now += 10_000;
    expect(await tick()).toEqual({ kind: 'done' });
    expect(calls).toEqual(before);
    expect((await p.head('0-0')).attempts).toEqual([]);
  });

  test('holds back event time until its tries are used up, and the count is all that is committed', async () => {
    const p = new Timed({ throws: (key) => key === 'k1' });
    await p.world.create();
    for (let n = 1; n <= 2; n++) {
      expect(await p.give(['k0', 'k1'], true)).toEqual({ kind: 'refused', why: 'record-failed' });
      const { attempts, splits, hasEnded } = await p.head('0-0');
      expect(attempts).toMatchObject([{ place: '#timer/event/timed', count: n }]);
      expect([splits[0]?.position, hasEnded]).toEqual([undefined, false]);
    }
    expect(await p.give(['k0', 'k1'], true)).toEqual({ kind: 'done' });
    expect((await p.letters()).length).toBe(1);
  });

  test('among many that throw costs no more tries than alone', async () => {
    const p = new Timed({ throws: (key) => key !== 'k7', keys: 20 });
    await p.world.create();
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
    const answers = [await p.give(keys, true), await p.give(keys, true), await p.give(keys, true)];
    expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'done']);
    expect((await p.letters()).length).toBe(19);
    await p.world.pulse();
    await p.world.pulse();
    await p.world.pulse();
    expect(p.rows).toEqual(rowsOf('k7'));
  });

  test('that gets through after all leaves no count and no letter behind', async () => {
    let failures = 3;
    const p = new Timed({ throws: (key) => key === 'k1' && failures-- > 0 });
    await p.world.run();
    expect(p.rows).toEqual(rowsOf('k0', 'k1', 'k2', 'k3'));
    expect(await p.letters()).toEqual([]);
    expect((await p.head('0-0')).attempts).toEqual([]);
  });

  test('is parked at once under AT_MOST_ONCE', async () => {
    const p = new Timed({ throws: (key) => key === 'k1', mode: 'AT_MOST_ONCE' });
    await p.world.create();
    expect(await p.give(['k0', 'k1'], true)).toEqual({ kind: 'done' });
    expect((await p.letters()).length).toBe(1);
  });
});

describe('a timer whose output cannot be stored', () => {
  for (const stages of [1, 2] as const) {
    test(`is parked after its tries, and neither a record nor another timer for it, in ${stages} stage(s)`, async () => {
      const p = new Timed({ throws: () => false, isUnstorable: (key) => key === 'k2', stages, environments: 2 });
      await p.world.run();
      expect(p.rows).toEqual(rowsOf('k0', 'k1', 'k3'));
      const letters = await p.letters();
      expect(letters).toMatchObject([
        { letter: { place: '#timer/event/timed', error: { code: 'VALUE_NOT_ENCODABLE' }, timer: { domain: 'event', time: 2_000 } } },
      ]);
      expect(letters[0]?.letter.batch.values).toMatchObject([{ key: 'k2' }]);
    });
  }

  test('fires by the clock: ticks try it, park it, and leave it', async () => {
    let isFixed = false;
    const p = new Timed({ throws: () => false, isUnstorable: (key) => key === 'k2' && !isFixed, domain: 'processing' });
    await p.world.create();
    await p.give(['k0', 'k1', 'k2', 'k3'], false);
    p.world.now += 10_000;
    const tick = (): Promise<Answer> => p.world.invoke({ kind: 'tick', subtask: '0-0' });
    expect(await tick()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await tick()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await p.letters()).toEqual([]);
    expect(await tick()).toEqual({ kind: 'done' });
    expect(await tick()).toEqual({ kind: 'done' });
    const [{ id }] = (await p.letters()) as [ListedLetter];
    const redrive = (): Promise<Answer> => p.world.invoke({ kind: 'redrive', subtask: '0-0', letter: id });
    expect(await redrive()).toEqual({ kind: 'refused', why: 'record-failed' });
    isFixed = true;
    expect(await redrive()).toEqual({ kind: 'done' });
    for (let n = 0; n < 8; n++) await p.world.pulse();
    expect(p.rows).toEqual(['k0 fired 11', 'k1 fired 11', 'k2 fired 11', 'k3 fired 11']);
  });

  test('keeps to itself in a unit in which a record does the same', async () => {
    const p = new Timed({ throws: () => false, isUnstorable: (key) => key === 'k1', unstorableRecord: 'k3' });
    await p.world.run();
    expect(p.rows).toEqual(rowsOf('k0', 'k2'));
    expect((await p.letters()).map(({ letter }) => [letter.place.split('/')[0], letter.error.code]).sort()).toEqual([
      ['#timer', 'VALUE_NOT_ENCODABLE'],
      ['in', 'VALUE_NOT_ENCODABLE'],
    ]);
  });
});

describe('a parked timer', () => {
  test('is fired again by a redrive on the state of today, once', async () => {
    let isFixed = false;
    const p = new Timed({ throws: (key) => key === 'k2' && !isFixed, domain: 'processing' });
    await p.world.create();
    await p.give(['k0', 'k1', 'k2', 'k3'], false);
    p.world.now += 10_000;
    for (let tries = 0; tries < 3; tries++) await p.world.invoke({ kind: 'tick', subtask: '0-0' });
    const [{ id }] = (await p.letters()) as [ListedLetter];
    const redrive = (): Promise<Answer> => p.world.invoke({ kind: 'redrive', subtask: '0-0', letter: id });
    expect(await redrive()).toEqual({ kind: 'refused', why: 'record-failed' });
    isFixed = true;
    expect(await redrive()).toEqual({ kind: 'done' });
    expect(await p.letters()).toEqual([]);
    expect(await redrive()).toEqual({ kind: 'done' });
    for (let n = 0; n < 8; n++) await p.world.pulse();
    expect(p.rows).toEqual(['k0 fired 11', 'k1 fired 11', 'k2 fired 11', 'k3 fired 11']);
  });
});
