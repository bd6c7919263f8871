import { expect, test } from 'vitest';
import { finalAccumulators } from '../../../../lib/adapters/invocations/final-accumulators.ts';
import { askReopened } from '../../../../lib/adapters/invocations/reopened-accumulators.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { collect, count, defineJob, type Env } from '../../../../lib/index.ts';
import { createServices } from '../../../../lib/invocation/unit/create-environment.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

type Named = { add(value: unknown): void };

function countingJob(open: () => void) {
  return defineJob('counts', (env: Env) => {
    env.enableCheckpointing('2 s');
    env
      .fromCollection([1, 2, 3], { uid: 'in' })
      .process(() => {
        let rows: Named;
        return {
          open(ctx) {
            open();
            rows = ctx.accumulator('rows', count());
          },
          processElement(value: number, ctx, out: { collect(row: number): void }) {
            rows.add(value);
            ctx.accumulator('late', count()).add(value);
            out.collect(value);
          },
        };
      })
      .uid('count')
      .sinkTo(collect<number>(), { uid: 'out' });
  });
}

/** Of a job that has finished and whose workers are all gone. */
async function readAfterAll(open: (isOver: boolean) => void) {
  let isOver = false;
  const world = new InvocationWorld({ job: countingJob(() => open(isOver)) });
  await world.create();
  await world.run();
  isOver = true;
  const item = await world.item();
  const { plan, ports, clock, random } = world;
  const files = undefined as unknown as FileSystem; // nothing of this job lies in files
  const reopened = askReopened({
    servicesOf: (observer) => createServices({ plan, ports, clock, observer, random, files, print: () => {}, report: () => {} }),
    item,
    clock: { now: clock.now, sleep: () => ({ done: new Promise<void>(() => {}), cancel: () => {} }) },
    patienceMs: 1_000,
  });
  return finalAccumulators(ports, item, reopened);
}

test('an accumulator that is named in open is read by opening the function again, one named later is not', async () => {
  expect(await readAfterAll(() => {})).toEqual({ results: { rows: 3 }, unread: ['late'] });
});

test('a function that does not open any more leaves its accumulators unread', async () => {
  const { results, unread } = await readAfterAll((isOver) => {
    if (isOver) throw new Error('the service is gone');
  });
  expect([results, [...unread].sort()]).toEqual([{}, ['late', 'rows']]);
});
