// What a deployed job's pulses do because time has passed.
import { describe, expect, it } from 'vitest';
import { ParamValues } from '../../../lib/api/params.ts';
import { decideUpkeep, stagesThatFollowTime } from '../../../lib/aws/upkeep.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { defineJob, type Env, keyedProcess, kinesis, print, sqs, valueState, WatermarkStrategy } from '../../../lib/index.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';

interface Click {
  readonly user: string;
  readonly at: number;
}

const last = { state: { last: valueState<number>() }, processElement: () => undefined };

function stagesOf(build: (env: Env) => void): readonly number[] {
  return [...stagesThatFollowTime(compile(describeJob(defineJob('clicks', build), new ParamValues(new Map())), { keepsPartitions: true }))];
}

describe('time gives something to do', () => {
  it('to no stage of a job without timers', () => {
    const stages = stagesOf((env) => {
      const clicks = env.fromSource(kinesis<Click>('clicks'), { uid: 'clicks' });
      clicks
        .keyBy(({ user }) => user)
        .process(keyedProcess(last))
        .uid('last')
        .sinkTo(print(), { uid: 'out' });
    });
    expect(stages).toEqual([]);
  });

  it('to a stage with timers, and not to the one before it', () => {
    const stages = stagesOf((env) => {
      const clicks = env.fromSource(kinesis<Click>('clicks'), { uid: 'clicks' });
      const timed = keyedProcess({ ...last, onTimer: () => undefined });
      clicks
        .keyBy(({ user }) => user)
        .process(timed)
        .uid('last')
        .sinkTo(print(), { uid: 'out' });
    });
    expect(stages).toEqual([1]);
  });

  it('to a source that may fall silent, and to one that is a queue', () => {
    const at = WatermarkStrategy.forBoundedOutOfOrderness<Click>('1 s')
      .withTimestamps(({ at }) => at)
      .withIdleness('1 min');
    const silent = stagesOf((env) => {
      env.fromSource(kinesis<Click>('clicks'), { uid: 'clicks', watermarks: at }).sinkTo(print(), { uid: 'out' });
    });
    const queue = stagesOf((env) => {
      env.fromSource(sqs<Click>('clicks'), { uid: 'clicks' }).sinkTo(print(), { uid: 'out' });
    });
    expect([silent, queue]).toEqual([[0], [0]]);
  });
});

describe('upkeep', () => {
  const hour = 3_600_000;
  const calm = { begun: 7, failuresInARow: 0, expiredInARow: 0 };
  const facts = { hasCheckpoints: true, item: calm, tickedMs: 0, tickedAllMs: 0, swept: { atMs: 0, begun: 7 } };

  it('ticks whoever follows time, once a second at most', () => {
    expect(decideUpkeep({ ...facts, nowMs: 999 }).ticks).toBe('none');
    expect(decideUpkeep({ ...facts, nowMs: 1_000 }).ticks).toBe('timed');
  });

  it('ticks everybody each hour, while checkpoints fail, without checkpoints, and when nothing is known', () => {
    expect(decideUpkeep({ ...facts, nowMs: hour }).ticks).toBe('all');
    expect(decideUpkeep({ ...facts, nowMs: 1_000, item: { ...calm, expiredInARow: 1 } }).ticks).toBe('all');
    expect(decideUpkeep({ ...facts, nowMs: 1_000, hasCheckpoints: false }).ticks).toBe('all');
    expect(decideUpkeep({ ...facts, nowMs: 1_000, item: undefined }).ticks).toBe('all');
  });

  it('sweeps each hour in which a checkpoint began, and each day', () => {
    expect(decideUpkeep({ ...facts, nowMs: hour }).sweeps).toBe(false);
    expect(decideUpkeep({ ...facts, nowMs: hour, item: { ...calm, begun: 8 } }).sweeps).toBe(true);
    expect(decideUpkeep({ ...facts, nowMs: 24 * hour }).sweeps).toBe(true);
  });

  it('goes by a clock that was set back', () => {
    expect(decideUpkeep({ ...facts, tickedMs: 5_000, tickedAllMs: 5_000, nowMs: 0 })).toMatchObject({ ticks: 'all' });
  });
});
