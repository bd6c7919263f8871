import { expect, test } from 'vitest';
import { collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import type { Environment } from '../../../../lib/invocation/unit/environment.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const values = Array.from({ length: 30 }, (_, i) => i);
const keyOf = (): string => 'k';

/** A job of one key, one record a unit, in a small ring. */
async function oneKey(): Promise<{ readonly world: InvocationWorld; readonly rows: readonly number[] }> {
  const out = collect<number>();
  const job = defineJob('one', (env: Env) => {
    env.enableCheckpointing('2 s');
    env
      .fromCollection(values, { uid: 'in', partitionedBy: keyOf })
      .keyBy(keyOf)
      .process(
        keyedProcess({
          state: { seen: valueState({ default: () => 0 }) },
          processElement: (_value: number, ctx, to: { collect(row: number): void }) => {
            ctx.state.seen.update(ctx.state.seen.value() + 1);
            to.collect(ctx.state.seen.value());
          },
        }),
      )
      .uid('count')
      .sinkTo(out, { uid: 'out' });
  });
  const world = new InvocationWorld({ job, ringSlots: 8 });
  await world.create();
  return { world, rows: out.rows };
}

function give(environment: Environment, from: number, to: number): Promise<Answer> {
  const records = values.slice(from, to).map((value): EventRecord => ({ value, after: { index: value + 1, at: value + 1 } }));
  return environment.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false });
}

test('a cache that learns of a completed checkpoint from another’s entry reads what is retained before it materialises', async () => {
  const { world, rows } = await oneKey();
  const behind = world.newEnvironment();
  const others = world.newEnvironment();
  expect(await give(behind, 0, 3)).toEqual({ kind: 'done' });
  world.environments.splice(0, 1, others);
  while ((await world.item()).confirmed < 1) await world.pulse();
  expect(await give(world.newEnvironment(), 3, 4)).toEqual({ kind: 'done' });
  // Round the ring: the value of the checkpoint has to move to the table, where only whoever knows of the checkpoint keeps it.
  for (let at = 4; at < 20; at++) expect(await give(behind, at, at + 1)).toEqual({ kind: 'done' });
  expect((await world.item()).completed.map(({ checkpoint }) => checkpoint)).toEqual([1]);
  await startRestore(world.ports, 1);
  for (let round = 0; (await world.item()).status !== 'finished'; round++) {
    await world.pulse();
    await world.feed();
    expect(round).toBeLessThan(100);
  }
  expect(rows).toEqual(values.map((value) => value + 1));
});
