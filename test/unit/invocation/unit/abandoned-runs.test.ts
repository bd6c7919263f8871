import { expect, test } from 'vitest';
import { WorkLog } from '../../../../lib/adapters/invocations/work-log.ts';
import { collect, count, defineJob, type Env, TumblingEventTimeWindows, WatermarkStrategy } from '../../../../lib/index.ts';
import type { EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createEnvironment } from '../../../../lib/invocation/unit/create-environment.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';
import { pushed } from '../../../support/pushed-source.ts';

interface Click {
  readonly user: string;
  readonly at: number;
}

test('C26: a late record is counted once, in however many runs of its unit it was late', async () => {
  const job = defineJob('late', (env: Env) => {
    env.enableCheckpointing('60 s');
    env
      .fromSource<Click>(pushed, {
        uid: 'in',
        partitionedBy: ({ user }) => user,
        watermarks: WatermarkStrategy.forMonotonousTimestamps<Click>().withTimestamps(({ at }) => at),
      })
      .keyBy(({ user }) => user)
      .window(TumblingEventTimeWindows.of(10))
      .aggregate(count())
      .uid('windows')
      .sinkTo(collect<number>(), { uid: 'out' });
  });
  const world = new InvocationWorld({ job });
  const { plan, ports, clock, random } = world;
  await world.create();
  const observer = new WorkLog();
  const events: readonly (readonly Click[])[] = [
    [
      { user: 'a', at: 5 },
      { user: 'b', at: 100 },
    ],
    [
      { user: 'a', at: 6 },
      { user: 'b', at: 105 },
    ],
    [
      { user: 'c', at: 7 },
      { user: 'b', at: 206 },
    ],
  ];
  let index = 0;
  for (const event of events) {
    const records = event.map((value): EventRecord => ({ value, after: { index: ++index, at: index } }));
    // Each is cold: what it runs first is abandoned, since nothing is in memory.
    const cold = createEnvironment({ plan, ports, clock, random, files: undefined as never, report: () => {}, print: () => {}, observer });
    expect(await cold.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false })).toEqual({ kind: 'done' });
  }
  expect(observer.takeCounts()).toMatchObject({ 'windows.numLateRecordsDropped': 2 });
});
