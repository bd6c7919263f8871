// A checkpoint that is restored in another directory than the one whose job went on from it.
import { expect, test } from 'vitest';
import { defineJob } from '../../../../lib/index.ts';
import { Engine } from '../../../support/engine.ts';
import { RecordedTarget } from '../../../support/recorded-target.ts';
import { at, timedSource } from '../../../support/timed-source.ts';

test('transactions of a fork have names that none of the run has that it was forked from, nor another fork', async () => {
  const engine = new Engine(3);
  const target = new RecordedTarget();
  const source = timedSource<number>({ s: Array.from({ length: 16 }, (_, i) => at(i * 50, i)).flat() });
  const job = defineJob('rows', (env) => {
    env.enableCheckpointing(100, { externalizedCleanup: 'RETAIN_ON_CANCELLATION', numRetained: 20 });
    env.fromSource(source, { uid: 'n' }).sinkTo(target.sink(), { uid: 'out' });
  });
  const first = engine.start(job);
  engine.world.alarm(380, () => first.process.kill());
  await engine.world.run(first.ended);
  const newest = Math.max(...(await engine.completed('rows')));
  const second = engine.start(job, { from: 'latest' });
  engine.world.alarm(engine.now + 400, () => second.process.kill());
  await engine.world.run(second.ended);
  const from = `${await engine.attemptOf('rows')}/chk-${newest}`;

  const generations: number[] = [];
  for (const checkpointsDirectory of ['/other', '/one-more']) {
    const fork = await engine.run(job, { from, global: { checkpointsDirectory } });
    expect(fork.error).toBeUndefined();
    for (const event of fork.events) if (event.kind === 'started') generations.push(event.generation);
  }
  expect(target.violations).toEqual([]);
  expect(new Set(generations).size).toBe(2);
  expect(Math.min(...generations)).toBeGreaterThan(2);
});
