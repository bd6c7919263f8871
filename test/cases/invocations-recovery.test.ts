// C61: after many checkpoints nobody looks for the newest one. The job item names it, and a cold environment lists nothing.
import { expect, test } from 'vitest';
import { collect, defineJob, type Env } from '../../lib/index.ts';
import { InvocationWorld } from '../support/invocation-world.ts';

const cycles = 1_000;

test(`C61: after ${cycles} checkpoints a cold environment recovers without one request that lists objects`, async () => {
  const listed: string[] = [];
  const job = defineJob('many', (env: Env) => {
    env.enableCheckpointing('1 s');
    env.fromSequence(1, cycles * 2, { uid: 'in' }).sinkTo(collect(), { uid: 'out' });
  });
  const world = new InvocationWorld({
    job,
    batch: 1,
    wrap: (ports) => ({
      ...ports,
      objects: {
        putIfAbsent: (name, bytes) => ports.objects.putIfAbsent(name, bytes),
        get: (name) => ports.objects.get(name),
        remove: (name) => ports.objects.remove(name),
        list: (prefix) => {
          listed.push(prefix);
          return ports.objects.list(prefix);
        },
      },
    }),
  });
  await world.create();
  for (let cycle = 0; cycle < cycles; cycle++) {
    await world.feed();
    await world.pulse();
  }
  const before = await world.item();
  expect(before.completed.at(-1)!.checkpoint).toBeGreaterThan(cycles / 3);
  listed.length = 0;
  world.environments[0] = world.newEnvironment();
  await world.feed();
  expect(listed).toEqual([]);
});
