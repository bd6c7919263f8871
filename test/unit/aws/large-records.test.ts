// Records of a stream that are about as large as an event can carry: 6 MB with all that is around them, in base64. What is larger never comes to a
// handler; its shard waits, with an alarm (docs/aws.md, limits).
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KinesisAnswer } from '../../../lib/aws/kinesis-event.ts';
import { type Collector, defineJob, keyedProcess, kinesis, print, valueState } from '../../../lib/index.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { seededRandom } from '../../../lib/testing/seeded-random.ts';
import { kinesisEvent } from './events.ts';
import { oneShard, planOf, sandboxOf, shard, startedJob } from './sandbox.ts';

const eventBytesMax = 6 * 1024 * 1024;
const textBytes = 4_400_000;

interface Note {
  readonly user: string;
  readonly text: string;
}

const keep = keyedProcess({
  state: { text: valueState({ default: () => '' }) },
  processElement({ user, text }: Note, ctx, out: Collector<string>) {
    if (user === 'bob') throw new Error('not bob');
    const before = ctx.state.text.value();
    ctx.state.text.update(text);
    out.collect(`${user} ${before.length} ${text.length} ${text.slice(-3)}`);
  },
});
const job = defineJob('notes', (env) => {
  env
    .fromSource(kinesis<Note>('notes'), { uid: 'notes' })
    .map((note) => {
      if (note.user === 'eve') throw new Error('not eve');
      return note;
    })
    .keyBy(({ user }) => user)
    .process(keep)
    .uid('keep')
    .setParallelism(1)
    .sinkTo(print(), { uid: 'out' });
});
const plan = planOf(job);

beforeEach(() => {
  for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

async function sandbox() {
  const { handle, exchange, ...rest } = sandboxOf(await startedJob(plan, oneShard), plan);
  const deliver = async (number: string, note: Note): Promise<KinesisAnswer> => {
    const event = kinesisEvent(shard, [{ number, data: JSON.stringify(note) }]);
    expect(JSON.stringify(event).length, 'Lambda takes it').toBeLessThan(eventBytesMax);
    return (await handle(0, event)) as KinesisAnswer;
  };
  // The text lies in the bucket.
  return { ...rest, deliver, exchange: () => exchange(10_000) };
}

/** Text that nothing can make shorter. */
const random = seededRandom(6);
const text = Buffer.from(Uint32Array.from({ length: textBytes / 5 }, () => random.bits()).buffer)
  .toString('base64')
  .slice(0, textBytes - 3);
const noteOf = (user: string, end: string): Note => ({ user, text: text + end });
const done: KinesisAnswer = { batchItemFailures: [] };

test('one that fits goes through state and exchange whole', async () => {
  const { printed, deliver, exchange } = await sandbox();
  expect(await deliver('101', noteOf('ada', 'one'))).toEqual(done);
  await exchange();
  expect(await deliver('102', noteOf('ada', 'two'))).toEqual(done);
  await exchange();
  expect(printed).toEqual([`ada 0 ${textBytes} one`, `ada ${textBytes} ${textBytes} two`]);
});

test.each([
  ['in the stage that reads it', 'eve', 'notes'],
  ['behind the exchange', 'bob', 'keep'],
])('one that fails %s is parked whole, and those behind it go on', async (_, user) => {
  const { printed, services, deliver, exchange } = await sandbox();
  for (let tries = 0; tries < 5; tries++) {
    const answer = await deliver('101', noteOf(user, 'one')).catch(() => undefined);
    if (answer?.batchItemFailures.length === 0) break;
  }
  expect(await deliver('102', noteOf('ada', 'two'))).toEqual(done);
  await exchange();
  expect(printed).toEqual([`ada 0 ${textBytes} two`]);
  const letters = await listLetters(services);
  expect(letters.map(({ letter }) => [letter.isExcerpt, letter.batch.values])).toEqual([[false, [noteOf(user, 'one')]]]);
});
