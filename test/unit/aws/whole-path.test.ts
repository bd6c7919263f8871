// Events through the handlers of a small job, over strict fakes of the services.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorOf } from '../../../lib/adapters/aws/errors.ts';
import { bodyOf } from '../../../lib/adapters/aws/sqs-exchange.ts';
import type { SqsAnswer } from '../../../lib/aws/sqs-event.ts';
import { count, defineJob, print, sqs } from '../../../lib/index.ts';
import { laneSplits } from '../../../lib/invocation/lane/queues.ts';
import { listLetters } from '../../../lib/invocation/unit/look.ts';
import { type FakeCall, type FakeService, promptCall } from '../../../lib/testing/invocation/index.ts';
import { seededRandom } from '../../../lib/testing/seeded-random.ts';
import { fifoEvent } from './events.ts';
import * as sandbox from './sandbox.ts';

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

const plan = sandbox.planOf(job);
const startedJob = (): Promise<FakeService> => sandbox.startedJob(plan, new Map([[0, laneSplits({ lanes: 1 })]]));

/** @param call  how the services answer  @param hash  of the plan that the function was deployed with */
function sandboxOf(service: FakeService, { call, hash = plan.hash }: { readonly call?: FakeCall; readonly hash?: string } = {}) {
  const { handle, ...rest } = sandbox.sandboxOf(service, { ...plan, hash }, { triesMax: 1, ...(call === undefined ? {} : { call }) });
  const failuresOf = async (stage: number, event: object): Promise<readonly string[]> =>
    ((await handle(stage, event)) as SqsAnswer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  return { ...rest, handle: failuresOf };
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
    const { handle } = sandboxOf(sandbox.newService());
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
