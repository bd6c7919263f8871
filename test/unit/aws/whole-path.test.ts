// Events through the handlers of a small job, over strict fakes of the services.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorOf } from '../../../lib/adapters/aws/errors.ts';
import { bodyOf } from '../../../lib/adapters/aws/sqs-exchange.ts';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import type { Deployed } from '../../../lib/aws/deployed.ts';
import type { SqsAnswer, SqsEvent } from '../../../lib/aws/sqs-event.ts';
import { handleStage } from '../../../lib/aws/stage-handler.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import { compile } from '../../../lib/graph/compile.ts';
import { count, defineJob, print, sqs } from '../../../lib/index.ts';
import { createJob } from '../../../lib/invocation/coordinator/create-job.ts';
import { laneSplits } from '../../../lib/invocation/lane/queues.ts';
import { createEnvironment, createServices } from '../../../lib/invocation/unit/create-environment.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { describe as describeJob } from '../../../lib/operators/describe.ts';
import { type FakeCall, FakeService, fakePorts, promptCall } from '../../../lib/testing/invocation/index.ts';
import { seededRandom } from '../../../lib/testing/seeded-random.ts';
import { fifoEvent } from './events.ts';

interface Click {
  readonly user: string;
}

const job = defineJob('clicks', (env) => {
  env
    .fromSource(sqs<Click>('clicks', { fifo: true, lanes: 1 }), { uid: 'clicks' })
    .keyBy(({ user }) => user)
    .aggregate(count())
    .uid('count')
    .setParallelism(1)
    .sinkTo(print(), { uid: 'totals' });
});

const plan = compile(describeJob(job, new ParamValues(new Map())), { keepsPartitions: true });
const clock: Clock = { now: () => 1_573_251_600_000, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const context = { getRemainingTimeInMillis: () => 30_000 };

/** A sandbox of each stage. @param call  how the services answer */
function sandboxOf(service: FakeService, p: { readonly call?: FakeCall; readonly hash?: string } = {}) {
  const printed: string[] = [];
  const ports = fakePorts(service, p.call ?? promptCall);
  const own = { ...plan, hash: p.hash ?? plan.hash };
  const options = {
    ...{ plan: own, ports, clock, random: systemRandom, files: nodeFileSystem },
    report: () => undefined,
    print: (line: string) => void printed.push(line),
    patience: { triesMax: 1 },
  };
  const environment = createEnvironment(options);
  const services = createServices(options);
  const handle = async (stage: number, event: SqsEvent): Promise<readonly string[]> => {
    const deployed = { plan: own, ports, environment, services, settings: { stage }, tally: { conflicts: 0 } } as unknown as Deployed;
    const { batchItemFailures: failures } = (await handleStage(deployed, event, context, clock)) as SqsAnswer;
    return failures.map(({ itemIdentifier }) => itemIdentifier);
  };
  /** Hands on what the exchange holds, as a mapping does. */
  const exchange = async (): Promise<void> => {
    for (;;) {
      const messages = await ports.exchange.receive({ max: 10 });
      if (messages.length === 0) return;
      const event = fifoEvent(messages.map(({ group, bytes }, i) => ({ id: `x${i}`, group, body: bodyOf(bytes) })));
      expect(await handle(1, event)).toEqual([]);
      await ports.exchange.settle(messages.map(({ receipt }) => receipt));
    }
  };
  return { printed, ports, services, handle, exchange };
}

async function startedJob(): Promise<FakeService> {
  const service = new FakeService({ now: () => clock.now() });
  await createJob(fakePorts(service), { plan, splits: new Map([[0, laneSplits({ lanes: 1 })]]), nowMs: clock.now() });
  return service;
}

/** Too long for an entry, and nothing can make it shorter. */
const random = seededRandom(1);
const longText = Buffer.from(Uint32Array.from({ length: 50_000 }, () => random.bits()).buffer).toString('base64');

const click = (user: string): string => JSON.stringify({ user });
const event = fifoEvent([
  { id: 'm1', group: 'eu', body: click('ada') },
  { id: 'm2', group: 'us', body: click('ada') },
]);

beforeEach(() => {
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

describe('an event of a queue', () => {
  it('goes through both stages, and has no second effect when it comes again to another sandbox', async () => {
    const service = await startedJob();
    const first = sandboxOf(service);
    expect(await first.handle(0, event)).toEqual([]);
    await first.exchange();
    const second = sandboxOf(service);
    expect(await second.handle(0, event)).toEqual([]);
    await second.exchange();
    expect([first.printed, second.printed]).toEqual([['1', '2'], []]);
  });

  it('with a message that is no JSON holds up its group until the message is parked, and no other group', async () => {
    const { handle, exchange, printed, services } = sandboxOf(await startedJob());
    const broken = fifoEvent([
      { id: 'm1', group: 'eu', body: '{"user": ' },
      { id: 'm2', group: 'us', body: click('bob') },
      { id: 'm3', group: 'eu', body: click('bob') },
    ]);
    const answers: (readonly string[])[] = [];
    for (let delivery = 0; delivery < 5 && answers.at(-1)?.length !== 0; delivery++) answers.push(await handle(0, broken));
    expect(answers.at(-1)).toEqual([]);
    for (const answer of answers.slice(0, -1)) expect(answer).toEqual(expect.arrayContaining(['m1', 'm3']));
    await exchange();
    expect(printed).toEqual(['1', '2']);
    const letters = await listLetters(services);
    expect(letters.map(({ letter }) => letter.operator)).toEqual(['clicks']);
  });
});

describe('a message of the exchange that has expired', () => {
  it('is a gap: what came behind it is not taken, the log says where', async () => {
    const service = await startedJob();
    const { handle, ports, printed } = sandboxOf(service);
    const said: string[] = [];
    vi.spyOn(console, 'warn').mockImplementation((line: string) => void said.push(line));
    const eventOf = (id: string) => fifoEvent([{ id, group: 'eu', body: click('ada'), sequence: `${id.slice(1)}0000000000000000000` }]);
    expect(await handle(0, eventOf('m1'))).toEqual([]);
    await ports.exchange.settle((await ports.exchange.receive({ max: 10 })).map(({ receipt }) => receipt));
    expect(await handle(0, eventOf('m2'))).toEqual([]);
    const [late] = await ports.exchange.receive({ max: 10 });
    const again = fifoEvent([{ id: 'x', group: late!.group, body: bodyOf(late!.bytes) }]);
    expect(await handle(1, again)).toEqual(['x']);
    expect(said.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 'warn', subtask: '1-0', refused: 'gap' }]);
    expect(printed).toEqual([]);
  });
});

describe('an event that cannot be taken fails with a reason and stays where it is', () => {
  it('where the job runs another plan', async () => {
    const { handle } = sandboxOf(await startedJob(), { hash: 'of-an-old-deployment' });
    await expect(handle(0, event)).rejects.toThrow(/^PLAN_CHANGED: job clicks runs the plan/);
  });

  it('where no pulse has made the job yet', async () => {
    const { handle } = sandboxOf(new FakeService());
    expect(await handle(0, event)).toEqual(['m1', 'm2']);
  });

  it('where the table was throttled longer than a unit is patient', async () => {
    const service = await startedJob();
    const call: FakeCall = async () => {
      throw errorOf({ name: 'ProvisionedThroughputExceededException' }, 'dynamodb:GetItem in table clicks');
    };
    await expect(sandboxOf(service, { call }).handle(0, event)).rejects.toThrow(/^STORE_THROTTLED: /);
    expect(await sandboxOf(service).handle(0, event)).toEqual([]);
  });

  it.each([
    ['ResourceNotFoundException', 'STORE_MISSING'],
    ['AccessDeniedException', 'STORE_FORBIDDEN'],
    ['KMSAccessDeniedException', 'STORE_FORBIDDEN'],
  ])('where the table answers %s', async (name, code) => {
    const service = await startedJob();
    const call: FakeCall = async () => {
      throw errorOf(Object.assign(new Error('said the service'), { name }), 'dynamodb:GetItem in table clicks');
    };
    const { handle } = sandboxOf(service, { call });
    await expect(handle(0, event)).rejects.toThrow(`${code}: dynamodb:GetItem in table clicks: ${name}: said the service`);
    expect(await sandboxOf(service).handle(0, event)).toEqual([]);
  });

  it.each([
    ['the exchange', 'exchange.send', 'KmsAccessDenied', ''],
    ['the bucket', 'objects.putIfAbsent', 'KMS.DisabledException', longText],
    ['the bucket, by its policy', 'objects.putIfAbsent', 'AccessDenied', longText],
  ])('where the key of %s may not be used; when it may again, everything has its effect once', async (_, method, name, note) => {
    const service = await startedJob();
    const call: FakeCall = async (asked, place, effect) => {
      if (asked !== method) return await promptCall(asked, place, effect);
      const message = 'is not authorized to perform: kms:GenerateDataKey on resource: arn:aws:kms:us-east-1:1:key/k';
      throw errorOf(Object.assign(new Error(message), { name }), `${method} ${place}`);
    };
    const large = fifoEvent([
      { id: 'm1', group: 'eu', body: JSON.stringify({ user: 'ada', note }) },
      { id: 'm2', group: 'us', body: JSON.stringify({ user: 'ada', note }) },
    ]);
    await expect(sandboxOf(service, { call }).handle(0, large)).rejects.toThrow(/^STORE_FORBIDDEN: .*kms:GenerateDataKey/);
    const { handle, exchange, printed } = sandboxOf(service);
    expect(await handle(0, large)).toEqual([]);
    await exchange();
    expect(printed).toEqual(['1', '2']);
  });
});
