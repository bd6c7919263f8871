import { expect, test } from 'vitest';
import { collect, defineJob, type Env, MemoryStateBackend } from '../../../../lib/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const texts = Array.from({ length: 60 }, (_, i) => `${i} ${'x'.repeat(100)}`);

test('rows that wait for a barrier may be more than the memory backend lets an operator have', async () => {
  const out = collect<string>();
  const job = defineJob('rows', (env: Env) => {
    env.setStateBackend(new MemoryStateBackend(2_000));
    env.enableCheckpointing('60 s');
    env.fromCollection(texts, { uid: 'in' }).sinkTo(out, { uid: 'out' });
  });
  await new InvocationWorld({ job }).run();
  expect(out.rows).toEqual(texts);
});

test('so may dead letters: a job with many of them completes its checkpoints', async () => {
  const out = collect<string>();
  const job = defineJob('letters', (env: Env) => {
    env.setStateBackend(new MemoryStateBackend(2_000));
    env.enableCheckpointing('60 s');
    const checked = env.fromCollection(texts, { uid: 'in' }).map((text) => {
      if (!text.startsWith('0')) throw new Error('no');
      return text;
    });
    checked.uid('check').sinkTo(out, { uid: 'out' });
  });
  await new InvocationWorld({ job }).run();
  expect(out.rows).toEqual(texts.slice(0, 1));
});

test('rows of one unit may be more than one piece of state can hold', async () => {
  const out = collect<string>();
  const row = 'x'.repeat(20_000);
  const job = defineJob('much', (env: Env) => {
    env.setParallelism(1);
    env.enableCheckpointing('60 s');
    const numbers = Array.from({ length: 1_000 }, (_, i) => i);
    env
      .fromCollection(numbers, { uid: 'in' })
      .map((n) => `${n} ${row}`)
      .uid('enlarge')
      .sinkTo(out, { uid: 'out' });
  });
  await new InvocationWorld({ job, batch: 1_000 }).run();
  expect(out.rows.map((text) => Number(text.split(' ')[0]))).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
});
