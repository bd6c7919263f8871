// A record of a stream that came damaged, through the handler of its stage: over strict fakes of the services.
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KinesisAnswer } from '../../../lib/aws/kinesis-event.ts';
import { defineJob, kinesis, print } from '../../../lib/index.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { kinesisEvent } from './events.ts';
import { oneShard, planOf, sandboxOf, shard, startedJob } from './sandbox.ts';

const job = defineJob('clicks', (env) => {
  env
    .fromSource(kinesis<{ n: number }>('clicks'), { uid: 'clicks' })
    .map(({ n }) => {
      if (n === 2) throw new Error('two');
      return `click ${n}`;
    })
    .sinkTo(print(), { uid: 'out' });
});
const plan = planOf(job);

/** A table of one partition key and a record of it, with a sum that is not theirs. */
const body = Buffer.concat([Buffer.from([0x0a, 3]), Buffer.from('ada'), Buffer.from([0x1a, 4, 0x08, 0, 0x1a, 0])]);
const container = Buffer.concat([Buffer.from('f3899ac2', 'hex'), body, createHash('md5').update(body).digest()]);
const damaged = Buffer.from(container);
damaged[damaged.length - 1]! ^= 1;

const records = [Buffer.from('{"n":1}'), damaged, Buffer.from('{"n":3}')];
const numbers = ['101', '102', '103'];

async function sandbox() {
  const { handle, ...rest } = sandboxOf(await startedJob(plan, oneShard), plan);
  /** Hands out what is left, as a mapping does. @returns the number from which everything comes again */
  const deliver = async (from: string, data: readonly Buffer[]): Promise<string | undefined> => {
    const given = numbers.map((number, i) => ({ number, data: data[i] as unknown as string })).slice(numbers.indexOf(from));
    const answer = await handle(0, kinesisEvent(shard, given));
    return (answer as KinesisAnswer).batchItemFailures[0]?.itemIdentifier;
  };
  return { ...rest, deliver };
}

beforeEach(() => {
  for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

test('C43, C45: a container that is damaged is tried as often as a record that fails, and parked with its bytes; what lies around it is taken once', async () => {
  const { printed, services, environment, deliver } = await sandbox();
  const answers: (string | undefined)[] = ['101'];
  for (let from: string | undefined = '101'; from !== undefined; ) answers.push((from = await deliver(from, records)));
  expect(answers).toEqual(['101', '102', '102', undefined]);
  expect(printed).toEqual(['click 1', 'click 3']);
  const [parked, ...more] = await listLetters(services);
  expect(more).toEqual([]);
  expect(parked!.letter).toMatchObject({ operator: 'clicks', error: { code: 'RECORD_DAMAGED' }, isExcerpt: false });
  expect(Buffer.from(parked!.letter.batch.values[0] as Uint8Array)).toEqual(damaged);
  // A redrive finds the same bytes, so the letter stays.
  expect(await environment.invoke({ kind: 'redrive', subtask: parked!.subtask, letter: parked!.id })).toEqual({
    kind: 'refused',
    why: 'record-failed',
  });
  expect(await listLetters(services)).toHaveLength(1);
});

test('C45: of records that nobody has counted, the one that throws is tried in as many events, and the others are taken once', async () => {
  const { printed, services, deliver } = await sandbox();
  const data = [records[0]!, Buffer.from('{"n":2}'), records[2]!];
  const answers: (string | undefined)[] = ['101'];
  for (let from: string | undefined = '101'; from !== undefined; ) answers.push((from = await deliver(from, data)));
  expect(answers).toEqual(['101', '102', '102', undefined]);
  expect(printed).toEqual(['click 1', 'click 3']);
  expect((await listLetters(services)).map(({ letter }) => letter.batch.values)).toEqual([[{ n: 2 }]]);
});

test('C43: a container that is whole waits in its shard, because a setting of the producer is at fault and not the record', async () => {
  const { services, deliver } = await sandbox();
  expect(await deliver('101', [records[0]!, container, records[2]!])).toBe('102');
  await expect(deliver('102', [records[0]!, container, records[2]!])).rejects.toThrow(/AggregationEnabled=false/);
  expect(await listLetters(services)).toEqual([]);
});
