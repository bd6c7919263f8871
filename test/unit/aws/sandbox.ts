// A sandbox of the functions of a small job, over strict fakes of the services: what is warm in it, and its handlers.
import { expect } from 'vitest';
import { bodyOf } from '../../../lib/adapters/aws/sqs-exchange.ts';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { systemRandom } from '../../../lib/adapters/embedded/system-clock.ts';
import type { Job } from '../../../lib/api/job.ts';
import { ParamValues } from '../../../lib/api/params.ts';
import type { SqsAnswer } from '../../../lib/aws/sqs-event.ts';
import { handleStage, type StageAnswer, type StageEvent } from '../../../lib/aws/stage-handler.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import { compile } from '../../../lib/graph/compile.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import { createJob, type JobToCreate } from '../../../lib/invocation/coordinator/create-job.ts';
import { createEnvironment, createServices } from '../../../lib/invocation/unit/create-environment.ts';
import { describe } from '../../../lib/operators/describe.ts';
import { type FakeCall, FakeService, fakePorts, promptCall } from '../../../lib/testing/invocation/index.ts';
import { fifoEvent } from './events.ts';

const clock: Clock = { now: () => 1_573_251_600_000, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const context = { getRemainingTimeInMillis: () => 30_000 };

export const shard = 'shardId-000000000000';
/** Of a source that is a stream of one shard. */
export const oneShard: JobToCreate['splits'] = new Map([[0, [{ id: shard, range: { from: 0, to: 2 ** 32 - 1 } }]]]);

export const planOf = (job: Job): Plan => compile(describe(job, new ParamValues(new Map())), { keepsPartitions: true });

/** Services that hold nothing yet. */
export const newService = (): FakeService => new FakeService({ now: () => clock.now() });

/** Services in which a pulse has made the job. */
export async function startedJob(plan: Plan, splits: JobToCreate['splits']): Promise<FakeService> {
  const service = newService();
  await createJob(fakePorts(service), { plan, splits, nowMs: clock.now() });
  return service;
}

/** @param call  how the services answer  @param triesMax  how often a unit asks them where that is harmless */
export function sandboxOf(service: FakeService, plan: Plan, p: { readonly call?: FakeCall; readonly triesMax?: number } = {}) {
  const printed: string[] = [];
  const ports = fakePorts(service, p.call ?? promptCall);
  const options = {
    ...{ plan, ports, clock, random: systemRandom, files: nodeFileSystem },
    ...{ report: () => undefined, print: (line: string) => void printed.push(line) },
    ...(p.triesMax === undefined ? {} : { patience: { triesMax: p.triesMax } }),
  };
  const environment = createEnvironment(options);
  const services = createServices(options);
  const handle = async (stage: number, event: StageEvent): Promise<StageAnswer> => {
    const own = { settings: { stage, bind: {} }, tally: { conflicts: 0 }, exchangeStream: () => undefined };
    return await handleStage({ plan, ports, environment, ...own }, event, context, clock);
  };
  /** Hands on what the exchange holds, as a mapping does, until it is empty; what failed comes again. @param bytesMax  of an event */
  const exchange = async (bytesMax = 300_000): Promise<void> => {
    for (let rounds = 0; service.exchange.queued().length > 0 && rounds < 10; rounds++) {
      const messages = await ports.exchange.receive({ max: 10 });
      const event = fifoEvent(
        messages.map(({ group, bytes, receipt, receives }) => ({ id: receipt, group, receives, body: bodyOf(bytes) })),
      );
      expect(JSON.stringify(event).length).toBeLessThan(bytesMax);
      const { batchItemFailures: open } = (await handle(1, event)) as SqsAnswer;
      const failed = new Set(open.map(({ itemIdentifier }) => itemIdentifier));
      await ports.exchange.settle(messages.map(({ receipt }) => receipt).filter((receipt) => !failed.has(receipt)));
      await ports.exchange.release({ receipts: [...failed], delayMs: 0 });
    }
  };
  return { printed, ports, services, environment, handle, exchange };
}
