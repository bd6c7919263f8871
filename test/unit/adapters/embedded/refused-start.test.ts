// A start that is refused, or that cannot be made, leaves the checkpoints as they were, also where the job keeps none at its end.

import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../../lib/core/errors.ts';
import {
  type CheckpointOptions,
  type Collector,
  collect,
  defineJob,
  type Job,
  type StateShape,
  valueState,
} from '../../../../lib/index.ts';
import { Engine, eventsOf, kinds } from '../../../support/engine.ts';
import { RecordedTarget, type TargetHooks } from '../../../support/recorded-target.ts';
import { at, timedSource } from '../../../support/timed-source.ts';

const name = 'refused-start';

interface JobShape extends CheckpointOptions {
  readonly target: RecordedTarget;
  readonly hooks?: TargetHooks;
  readonly isWithoutState?: boolean;
}

/** Three records, each in a checkpoint of its own, and an end that is never waited for. */
function jobOf({ target, hooks = {}, isWithoutState = false, ...checkpoints }: JobShape): Job {
  return defineJob(name, (env) => {
    env.enableCheckpointing('100 ms', checkpoints);
    const state: StateShape = isWithoutState ? {} : { seen: valueState<string>() };
    env
      .fromSource(timedSource<string>({ a: [...at(0, 'x'), ...at(150, 'y'), ...at(250, 'z'), ...at(60_000, 'end')] }), { uid: 'in' })
      .keyBy((v) => v)
      .process({
        state,
        processElement(v, ctx, out: Collector<string>) {
          (ctx.state as { seen?: { update(seen: string): void } }).seen?.update(v);
          out.collect(v);
        },
      })
      .uid('seen')
      .sinkTo(target.sink(hooks), { uid: 'out' });
  });
}

async function killAfter(engine: Engine, job: Job, checkpoint: number): Promise<void> {
  const { wasKilled } = await engine.run(job, {
    on(event, { process }) {
      if (event.kind === 'checkpoint-completed' && event.checkpoint === checkpoint) process.kill();
    },
  });
  expect(wasKilled).toBe(true);
}

const targetIsDown: TargetHooks = {
  before(what) {
    if (what === 'commit') throw new Error('the target is down');
  },
};

describe('a restore that is refused', () => {
  test('removes no checkpoint of a job that keeps none when it fails', async () => {
    const engine = new Engine();
    const target = new RecordedTarget();
    await killAfter(engine, jobOf({ target }), 2);
    const before = await engine.completed(name);
    const error = await engine.fail(jobOf({ target, isWithoutState: true }), { from: 'latest' });
    expect(error.code).toBe('STATE_WITHOUT_OPERATOR');
    expect(await engine.completed(name)).toEqual(before);
    await engine.finish(jobOf({ target, isWithoutState: true }), { from: 'latest', allowNonRestoredState: true });
    expect(target.visible).toEqual(['x', 'y', 'z', 'end']);
  });

  test('does not take back the checkpoints that are newer than the one it asked for', async () => {
    const engine = new Engine();
    const target = new RecordedTarget();
    const retained = { numRetained: 3, externalizedCleanup: 'RETAIN_ON_CANCELLATION' } as const;
    await killAfter(engine, jobOf({ target, ...retained }), 3);
    const from = `${await engine.attemptOf(name)}/chk-1`;
    const error = await engine.fail(jobOf({ target, isWithoutState: true, ...retained }), { from });
    expect(error.code).toBe('STATE_WITHOUT_OPERATOR');
    expect(await engine.completed(name)).toEqual([3, 2, 1]);
  });
});

test('state of an operator that has no keys any more is refused by its name', async () => {
  const engine = new Engine();
  const target = new RecordedTarget();
  await killAfter(engine, jobOf({ target }), 1);
  const keyless = defineJob(name, (env) => {
    env.enableCheckpointing('100 ms');
    env
      .fromSource(timedSource<string>({ a: [] }), { uid: 'in' })
      .process({ processElement: (v, _ctx, out: Collector<string>) => out.collect(v) })
      .uid('seen')
      .sinkTo(target.sink(), { uid: 'out' });
  });
  const error = await engine.fail(keyless, { from: 'latest' });
  expect(error).toMatchObject({ code: 'STATE_WITHOUT_OPERATOR', message: expect.stringContaining("'seen' of 'seen'") });
});

test.each(['EXACTLY_ONCE', 'AT_MOST_ONCE'] as const)(
  'a start from the beginning that finds no input leaves latest as it was, in mode %s',
  async (mode) => {
    const engine = new Engine();
    const rows = [...at(0, 'x'), ...at(150, 'y'), ...at(250, 'z'), ...at(60_000, 'end')];
    const source = timedSource<string>({ a: rows });
    const out = collect<string>();
    const job = (isThere: boolean): Job =>
      defineJob(name, (env) => {
        env.enableCheckpointing('100 ms', { mode });
        const enumerate: typeof source.enumerate = isThere
          ? (ctx) => source.enumerate(ctx)
          : () => Promise.reject(new SluiceError('INPUT_NOT_FOUND', { message: 'it is not there', next: 'fix-the-command' }));
        env.fromSource({ ...source, enumerate }, { uid: 'in' }).sinkTo(out, { uid: 'out' });
      });
    await killAfter(engine, job(true), 2);
    expect((await engine.fail(job(false))).code).toBe('INPUT_NOT_FOUND');
    const { events } = await engine.finish(job(true), { from: 'latest' });
    expect(eventsOf(events, 'started').map(({ restored }) => restored)).toEqual([2]);
    expect(out.rows).toEqual(mode === 'AT_MOST_ONCE' ? ['x', 'y', 'z'] : ['x', 'y', 'z', 'end']);
  },
);

describe('a start whose sinks cannot keep what the checkpoint promises', () => {
  test.each(['NO_EXTERNALIZED_CHECKPOINTS', 'DELETE_ON_CANCELLATION'] as const)(
    'keeps it when it is cancelled under %s',
    async (cleanup) => {
      const engine = new Engine();
      const target = new RecordedTarget();
      const job = jobOf({ target, hooks: targetIsDown, externalizedCleanup: cleanup });
      await killAfter(engine, job, 1);
      const { result, events } = await engine.run(job, {
        from: 'latest',
        on(event, { cancel }) {
          if (event.kind === 'restarting') cancel();
        },
      });
      expect(result?.state).toBe('cancelled');
      expect(kinds(events)).toContain('restarting');
      expect(await engine.completed(name)).toEqual([1]);
      await engine.finish(jobOf({ target, externalizedCleanup: cleanup }), { from: 'latest' });
      expect(target.visible).toEqual(['x', 'y', 'z', 'end']);
    },
  );

  test('keeps it when the restarts are used up', async () => {
    const engine = new Engine();
    const target = new RecordedTarget();
    await killAfter(engine, jobOf({ target, hooks: targetIsDown }), 1);
    const { error } = await engine.run(jobOf({ target, hooks: targetIsDown }), { from: 'latest' });
    expect(error).toMatchObject({ code: 'USER_FUNCTION_FAILED', message: 'recover of sink out failed: the target is down' });
    expect(await engine.completed(name)).toEqual([1]);
    await engine.finish(jobOf({ target }), { from: 'latest' });
    expect(target.visible).toEqual(['x', 'y', 'z', 'end']);
  });
});
