// Records of a stream that are about as large as an event can carry: 6 MB with all that is around them, in base64. What is larger never comes to a
// handler; its shard waits, with an alarm (docs/aws.md, limits).
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { bodyOf } from '../../../lib/adapters/aws/sqs-exchange.ts';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import type { KinesisAnswer } from '../../../lib/aws/kinesis-event.ts';
import type { SqsAnswer } from '../../../lib/aws/sqs-event.ts';
import { handleStage } from '../../../lib/aws/stage-handler.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { type Collector, defineJob, keyedProcess, kinesis, print, valueState } from '../../../lib/index.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import { createEnvironment, createServices } from '../../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { FakeService, fakePorts } from '../../../lib/testing/invocation/index.ts';
import { seededRandom } from '../../../lib/testing/seeded-random.ts';
import { fifoEvent, kinesisEvent } from './events.ts';

const shard = 'shardId-000000000000';
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
const plan = compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });
const clock: Clock = { now: () => 1_573_251_600_000, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const context = { getRemainingTimeInMillis: () => 30_000 };

beforeEach(() => {
  for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

async function sandbox() {
  const service = new FakeService({ now: () => clock.now() });
  const ports = fakePorts(service);
  await createJob(ports, { plan, splits: new Map([[0, [{ id: shard, range: { from: 0, to: 2 ** 32 - 1 } }]]]), nowMs: clock.now() });
  const printed: string[] = [];
  const options = {
    ...{ plan, ports, clock, random: systemRandom, files: nodeFileSystem },
    ...{ report: () => undefined, print: (line: string) => void printed.push(line) },
  };
  const environment = createEnvironment(options);
  const services = createServices(options);
  const deployedAs = (stage: number): Deployed =>
    ({
      plan,
      ports,
      environment,
      services,
      settings: { stage },
      tally: { conflicts: 0 },
      exchangeStream: () => undefined,
    }) as unknown as Deployed;
  const deliver = async (number: string, note: Note): Promise<KinesisAnswer> => {
    const event = kinesisEvent(shard, [{ number, data: JSON.stringify(note) }]);
    expect(JSON.stringify(event).length, 'Lambda takes it').toBeLessThan(eventBytesMax);
    return (await handleStage(deployedAs(0), event, context, clock)) as KinesisAnswer;
  };
  /** Until the exchange is empty; what failed comes again. */
  const exchange = async (): Promise<void> => {
    for (let rounds = 0; service.exchange.queued().length > 0 && rounds < 10; rounds++) {
      const messages = await ports.exchange.receive({ max: 10 });
      const event = fifoEvent(
        messages.map(({ group, bytes, receipt, receives }) => ({ id: receipt, group, receives, body: bodyOf(bytes) })),
      );
      expect(JSON.stringify(event).length).toBeLessThan(10_000); // the text lies in the bucket
      const { batchItemFailures: open } = (await handleStage(deployedAs(1), event, context, clock)) as SqsAnswer;
      const failed = new Set(open.map(({ itemIdentifier }) => itemIdentifier));
      await ports.exchange.settle(messages.map(({ receipt }) => receipt).filter((receipt) => !failed.has(receipt)));
      await ports.exchange.release({ receipts: [...failed], delayMs: 0 });
    }
  };
  return { printed, services, deliver, exchange };
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
