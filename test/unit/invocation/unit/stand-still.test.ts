import { describe, expect, test } from 'vitest';
import type { RowTag } from '../../../../lib/api/row-tag.ts';
import type { Sink } from '../../../../lib/api/sink.ts';
import { defineJob, type Env, print } from '../../../../lib/index.ts';
import { requestPause, requestResume } from '../../../../lib/invocation/coordinator/job-life.ts';
import { openRing } from '../../../../lib/invocation/coordinator/opening.ts';
import { PulseRun } from '../../../../lib/invocation/coordinator/pulse-run.ts';
import { changeOf, readExistingJob } from '../../../../lib/invocation/coordinator/read-job.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createEnvironment } from '../../../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../../../lib/invocation/unit/environment.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

/** A job of one stage whose rows go to a sink that is written at once. */
class Stopped {
  /** Every write of a row, with its tag. */
  readonly written: (readonly [row: unknown, tag: RowTag | undefined])[] = [];
  readonly printed: string[] = [];
  readonly world: InvocationWorld;
  readonly environment: Environment;

  constructor() {
    const { written } = this;
    const tagged: Sink<unknown> = {
      kind: 'tagged',
      recover: async () => {
        throw new Error('not in a run by invocations');
      },
      createWriter: () => {
        throw new Error('not in a run by invocations');
      },
      detached: {
        kind: 'immediate',
        write: async ({ tag }, rows) => {
          for (let i = 0; i < rows.count; i++) written.push([rows.values[i], { ...tag, index: tag.index + i }]);
        },
      },
    };
    const job = defineJob('stands-still', (env: Env) => {
      env.enableCheckpointing('1 h');
      const source = env.fromCollection([10, 20, 30, 40], { uid: 'in' });
      source.sinkTo(tagged, { uid: 'out' });
      source.sinkTo(print(), { uid: 'print' });
    });
    this.world = new InvocationWorld({ job });
    this.environment = this.newEnvironment();
  }

  newEnvironment(): Environment {
    const { plan, ports, clock, random } = this.world;
    return createEnvironment({
      plan,
      ports,
      clock,
      random,
      files: undefined as never,
      report: () => undefined,
      print: () => undefined,
      printerOf: ({ sink, subtask, generation, n }) => {
        let index = 0;
        return (line) => void this.printed.push(`${sink} ${subtask} ${generation} ${n} ${index++} ${line}`);
      },
    });
  }

  read(count: number, environment = this.environment): Promise<Answer> {
    const values = [10, 20, 30, 40].slice(0, count);
    const records = values.map((value, i): EventRecord => ({ value, after: { index: i + 1, at: i + 1 } }));
    return environment.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false });
  }

  async pause(): Promise<void> {
    await requestPause(this.world.ports);
    await this.world.pulse();
    expect((await this.world.item()).status).toBe('paused');
  }

  async resume(): Promise<void> {
    await requestResume(this.world.ports);
    await this.world.pulse();
    expect((await this.world.item()).status).toBe('running');
  }

  /** Opens the rings as a pulse that dies before it says that the job runs. */
  async openRings(): Promise<void> {
    const { ports, plan, clock, random, settler } = this.world;
    const control = { invoke: async (): Promise<Answer> => ({ kind: 'done' }) };
    const run = new PulseRun({ ports, plan, control, settler, clock, random }, await readExistingJob(ports));
    expect(await openRing(run, '0-0', changeOf(run.item))).toBe(true);
  }
}

function distinct<T>(all: readonly T[]): readonly T[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

describe('rows of a sink that is written at once', () => {
  test('keep their tags and places when a pause carries them on, however often nothing happens in between', async () => {
    const job = new Stopped();
    await job.world.create();
    await job.read(2);
    const first = [...job.written];
    const lines = [...job.printed];
    expect(first).toEqual([
      [10, { begunMs: 1_700_000_000_000, generation: 0, n: 1, index: 0 }],
      [20, { begunMs: 1_700_000_000_000, generation: 0, n: 1, index: 1 }],
    ]);
    for (let times = 0; times < 2; times++) {
      await job.pause();
      await job.resume();
      expect((await job.newEnvironment().invoke({ kind: 'tick', subtask: '0-0' })).kind).toBe('done');
    }
    expect(job.written.length).toBeGreaterThanOrEqual(3 * first.length);
    expect(distinct(job.written)).toEqual(first);
    expect(distinct(job.printed)).toEqual(lines);
  });

  test('of the entry behind a resume have tags of their own', async () => {
    const job = new Stopped();
    await job.world.create();
    await job.read(2);
    await job.pause();
    await job.resume();
    job.written.length = 0;
    await job.read(3);
    expect(job.written.at(-1)).toEqual([30, { begunMs: 1_700_000_000_000, generation: 0, n: 3, index: 0 }]);
    await job.pause();
    await job.resume();
    await job.newEnvironment().invoke({ kind: 'tick', subtask: '0-0' });
    expect(job.written.at(-1)).toEqual([30, { begunMs: 1_700_000_000_000, generation: 0, n: 3, index: 0 }]);
  });
});

describe('a ring that is opened again', () => {
  test.each(['a warm', 'a cold'])('takes nothing from %s environment before the job runs', async (kind) => {
    const job = new Stopped();
    await job.world.create();
    await job.read(2);
    await job.pause();
    await requestResume(job.world.ports);
    await job.openRings();
    const environment = kind === 'a warm' ? job.environment : job.newEnvironment();
    expect(await job.read(3, environment)).toEqual({ kind: 'refused', why: 'not-running' });
    await job.world.pulse();
    expect(await job.read(3, environment)).toEqual({ kind: 'done' });
  });

  test('takes nothing either when the job is asked to stop before all of its rings are open', async () => {
    const job = new Stopped();
    await job.world.create();
    await job.read(2);
    await job.pause();
    await requestResume(job.world.ports);
    await job.openRings();
    await requestPause(job.world.ports);
    expect(await job.read(3)).toEqual({ kind: 'refused', why: 'not-running' });
    expect(await job.read(3, job.newEnvironment())).toEqual({ kind: 'refused', why: 'not-running' });
    await job.world.pulse();
    await job.resume();
    expect(await job.read(3)).toEqual({ kind: 'done' });
  });
});
