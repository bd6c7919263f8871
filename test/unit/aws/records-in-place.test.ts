// A function that changes the records of a stream in place, in the handler of its stage: over strict fakes of the services.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KinesisAnswer } from '../../../lib/aws/kinesis-event.ts';
import { defineJob, kinesis, print } from '../../../lib/index.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { kinesisEvent } from './events.ts';
import { oneShard, planOf, sandboxOf, shard, startedJob } from './sandbox.ts';

const job = defineJob('clicks', (env) => {
  env
    .fromSource(kinesis<{ n: number }>('clicks'), { uid: 'clicks' })
    .map((click) => {
      click.n += 1;
      if (click.n === 11) throw new Error('not eleven');
      return `click ${click.n}`;
    })
    .sinkTo(print(), { uid: 'out' });
});
const plan = planOf(job);

beforeEach(() => {
  for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

test('is given them as they came in every run of a unit, and a letter keeps the one that fails as it came', async () => {
  const { printed, services, handle } = sandboxOf(await startedJob(plan, oneShard), plan);
  const all = [0, 10, 20].map((n, i) => ({ number: `10${i}`, data: JSON.stringify({ n }) }));
  for (let open = all; open.length > 0; ) {
    const { batchItemFailures: failures } = (await handle(0, kinesisEvent(shard, open))) as KinesisAnswer;
    open = failures[0] === undefined ? [] : all.filter(({ number }) => number >= failures[0]!.itemIdentifier);
  }
  expect(printed).toEqual(['click 1', 'click 21']);
  expect((await listLetters(services)).map(({ letter }) => letter.batch.values)).toEqual([[{ n: 10 }]]);
});
