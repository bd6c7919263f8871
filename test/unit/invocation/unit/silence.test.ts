import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, WatermarkStrategy } from '../../../../lib/index.ts';
import { requestPause, requestResume } from '../../../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { EntryHead } from '../../../../lib/invocation/entry.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { lookAt } from '../../../../lib/invocation/unit/look.ts';
import { decideSilence } from '../../../../lib/invocation/unit/silence.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { headOf } from '../support/entries.ts';

const source = {
  kind: 'script',
  isRereadable: false,
  isEager: true,
  isBounded: false,
  enumerate: async () => [{ id: 'a' }, { id: 'b' }],
  open: () => {
    throw new Error('records are handed to the job');
  },
};

/** Tells the time of each record when event time has come to it. */
const echo = keyedProcess({
  processElement(at: number, ctx, _out: Collector<string>) {
    ctx.timerService.registerEventTimeTimer(at);
  },
  onTimer(at: number, _ctx, out: Collector<string>) {
    out.collect(`${at}`);
  },
});

/** A source of two splits, read by one subtask or by two, whose idle splits are given up after 10 s; ticks come every second. */
class Silent {
  readonly out = collect<string>();
  readonly world: InvocationWorld;
  readonly #subtasks: 1 | 2;
  readonly #read = [0, 0];

  constructor(subtasks: 1 | 2, environments = 1) {
    this.#subtasks = subtasks;
    const watermarks = WatermarkStrategy.forMonotonousTimestamps<number>()
      .withTimestamps((at) => at)
      .withIdleness('10 s');
    const job = defineJob('silent', (env: Env) => {
      env.setParallelism(1);
      env.enableCheckpointing('1 s');
      env
        .fromSource<number>(source, { uid: 'in', watermarks })
        .setParallelism(subtasks)
        .keyBy(() => 'all')
        .process(echo)
        .uid('echo')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job, environments });
  }

  /** Records of a split: their event times. */
  async read(split: 0 | 1, ...times: readonly number[]): Promise<Answer> {
    const from = this.#read[split]!;
    const records = times.map((value, i): EventRecord => ({ value, after: { index: from + i + 1, at: from + i + 1 } }));
    const subtask = this.#subtasks === 1 ? '0-0' : `0-${split}`;
    const answer = await this.world.invoke({ kind: 'records', subtask, split, records, isLast: false });
    if (answer.kind === 'done') this.#read[split] = from + times.length;
    return answer;
  }

  async pass(seconds: number): Promise<void> {
    for (let s = 0; s < seconds; s++) {
      await this.world.pulse();
      while (await this.world.drain());
    }
  }

  /** Rows so far, with those that the next checkpoints show. */
  async rows(): Promise<readonly string[]> {
    await this.pass(3);
    return this.out.rows;
  }

  async head(subtask: string): Promise<EntryHead> {
    const { plan, ports, clock, random } = this.world;
    const quiet = { files: undefined as never, report: () => undefined, print: () => undefined };
    return (await lookAt(createServices({ plan, ports, clock, random, ...quiet }), subtask)).newest.head;
  }
}

describe('a split without records', () => {
  for (const subtasks of [1, 2] as const) {
    for (const environments of [1, 3]) {
      const where = `${subtasks === 1 ? 'beside others of its subtask' : 'of a subtask of its own'}, over ${environments} environments`;

      test(`C21: stops holding event time back when it was silent for long enough, ${where}`, async () => {
        const job = new Silent(subtasks, environments);
        await job.world.create();
        await job.pass(1);
        await job.read(0, 100, 200);
        await job.pass(4);
        expect(await job.rows()).toEqual([]);
        await job.pass(3);
        await job.read(0, 300);
        await job.pass(3);
        // What lies before the newest record of those that speak; that one's own time has not passed.
        expect(await job.rows()).toEqual(['100', '200']);
      });

      test(`C21: holds it back again from its next record on, ${where}`, async () => {
        const job = new Silent(subtasks, environments);
        await job.world.create();
        await job.read(0, 100, 200);
        await job.pass(12);
        await job.read(0, 300);
        expect(await job.rows()).toEqual(['100', '200']);
        await job.read(1, 250);
        await job.read(0, 400, 500);
        expect(await job.rows()).toEqual(['100', '200']);
        await job.read(1, 450);
        expect([...(await job.rows())].sort()).toEqual(['100', '200', '250', '300', '400']);
      });
    }
  }

  test('time in which the job stood still is no silence', async () => {
    const job = new Silent(1);
    await job.world.create();
    await job.read(0, 100, 200);
    await job.pass(5);
    await requestPause(job.world.ports);
    await job.pass(60);
    await requestResume(job.world.ports);
    await job.pass(3);
    expect((await job.head('0-0')).splits.map(({ silence }) => silence?.isIdle)).toEqual([false, false]);
    await job.pass(12);
    expect((await job.head('0-0')).splits.map(({ silence }) => silence?.isIdle)).toEqual([true, true]);
  });

  test('that was idle at a checkpoint is so behind its restore, and one that was not is counted anew', async () => {
    const job = new Silent(1);
    await job.world.create();
    await job.read(0, 100, 200);
    await job.pass(8);
    await job.read(0, 300);
    await job.pass(6);
    expect((await job.head('0-0')).splits.map(({ silence }) => silence?.isIdle)).toEqual([false, true]);
    await startRestore(job.world.ports, 'latest');
    job.world.now += 3_600_000;
    await job.world.pulse();
    expect((await job.head('0-0')).splits.map(({ silence }) => silence?.isIdle)).toEqual([false, true]);
  });
});

describe('the decision', () => {
  const split = {
    ordinal: 0,
    split: { id: 'a' },
    position: { index: 5, at: 5 },
    hasEnded: false,
    largest: 70,
    malformed: 0,
    replayUntil: 0,
  };
  const strategy = WatermarkStrategy.forMonotonousTimestamps<unknown>()
    .withTimestamps(() => 0)
    .withIdleness('10 s');
  const at = (nowMs: number, ...splits: EntryHead['splits']) =>
    decideSilence(headOf({ splits, watermark: 10 }), { strategy, nowMs, replayEnds: () => undefined });

  test('counts from the first tick without a record, and says nothing in between', () => {
    const [counted] = at(5_000, split)!.splits;
    expect(counted?.silence).toEqual({ sinceMs: 5_000, isIdle: false });
    expect(at(14_999, counted!)).toBeUndefined();
    expect(at(15_000, counted!)).toMatchObject({ splits: [{ silence: { isIdle: true } }], watermark: undefined, isIdleNow: true });
  });

  test('is none while a replay is due, for an ended split, and without idleness', () => {
    expect(at(5_000, { ...split, replayUntil: 6 })).toBeUndefined();
    expect(at(5_000, { ...split, hasEnded: true })).toBeUndefined();
    expect(decideSilence(headOf({ splits: [split] }), { strategy: undefined, nowMs: 5_000, replayEnds: () => undefined })).toBeUndefined();
  });

  test('counts anew when the clock was set back', () => {
    expect(at(4_000, { ...split, silence: { sinceMs: 5_000, isIdle: false } })!.splits[0]?.silence?.sinceMs).toBe(4_000);
  });

  test('takes event time to the earliest of those that speak', () => {
    const idle = { ...split, ordinal: 1, largest: 20, silence: { sinceMs: 0, isIdle: false } };
    expect(at(10_000, { ...split, silence: { sinceMs: 9_000, isIdle: false } }, idle)).toMatchObject({ watermark: 69, isIdleNow: false });
  });
});
