import { expect, test } from 'vitest';
import { collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import type { EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { takeRecords } from '../../../../lib/invocation/unit/records.ts';
import { Session } from '../../../../lib/invocation/unit/session.ts';
import type { WarmSubtask } from '../../../../lib/invocation/unit/warm-subtask.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const residentKeysMax = 100;
const keyOf = (value: number): number => value % 1_000_000;

test('an environment keeps no more keys of a subtask than the bound, and what it dropped is read again', async () => {
  const out = collect<string>();
  const job = defineJob('many', (env: Env) => {
    env.enableCheckpointing('5 s');
    env
      .fromCollection([0], { uid: 'in', partitionedBy: keyOf })
      .keyBy(keyOf)
      .process(
        keyedProcess({
          state: { seen: valueState({ default: () => 0 }) },
          processElement: (value: number, ctx, to: { collect(row: string): void }) => {
            ctx.state.seen.update(ctx.state.seen.value() + 1);
            if (value >= 1_000_000) to.collect(`${ctx.getCurrentKey()} ${ctx.state.seen.value()}`);
          },
        }),
      )
      .uid('count')
      .sinkTo(out, { uid: 'out' });
  });
  const world = new InvocationWorld({ job, ringSlots: 1_024 });
  await world.create();
  const { plan, ports, clock, random } = world;
  const services = createServices({
    ...{ plan, ports, clock, random, files: undefined as never },
    ...{ report: () => undefined, print: () => undefined, limits: { residentKeysMax } },
  });
  let warm: WarmSubtask | undefined;
  let taken = 0;
  /** One invocation in the same environment, without its tidying up. */
  const take = async (values: readonly number[]): Promise<Session> => {
    const session = new Session(services, { subtask: '0-0', warm, deadlineMs: Number.POSITIVE_INFINITY });
    const records = values.map((value, i): EventRecord => ({ value, after: { index: taken + i + 1, at: taken + i + 1 } }));
    const answer = await takeRecords(session, { subtask: '0-0', split: 0, records, isLast: false, isReplay: false });
    expect(answer).toEqual({ kind: 'done' });
    taken += values.length;
    warm = session.warm;
    return session;
  };

  await (await take(Array.from({ length: residentKeysMax }, (_, i) => i))).tidy();
  expect(warm?.state.residentKeys).toBe(residentKeysMax);
  const session = await take([residentKeysMax]);
  expect(warm?.state.residentKeys).toBe(residentKeysMax + 1);
  await session.tidy();
  expect(warm?.state.residentKeys).toBeLessThanOrEqual(residentKeysMax);
  expect(warm?.state.residentKeys).toBeGreaterThan(residentKeysMax / 2);
  const again = Array.from({ length: residentKeysMax }, (_, i) => 1_000_000 + i);
  await take(again);
  while ((await world.item()).confirmed === 0) await world.pulse();
  expect(out.rows).toEqual(again.map((value) => `${keyOf(value)} 2`));
});
