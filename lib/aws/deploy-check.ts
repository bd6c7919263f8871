// Whether a deployment may go on, decided before it changes anything but the stores. Pure.
//   V1  A job keeps the plan that it runs. Code of another plan would throw in every function, so it is not deployed at all.
//   V2  Each shard of a stream is read by an environment of its own, so there have to be as many.
//   V3  What cannot be found out is no reason to refuse.
//   V4  A job stays with the streams and topics that it has read: shards of all streams have the same names, and all topics the same offsets.
//   V5  A job stays with the exchange that it was started with: what is on its way between stages lies there.

import type { ExchangeKind } from '../adapters/aws/exchange-place.ts';
import { SluiceError } from '../core/errors.ts';
import type { JobItem } from '../invocation/job-item.ts';
import { checkPlan, type PlanShape } from '../invocation/plan-check.ts';

/** Lambda leaves an account no fewer than this, unless it never had more. */
export const unreservedMin = 100;

export interface DeploymentFacts {
  /** `undefined`: no job was started on this table yet. */
  readonly item: Pick<JobItem, 'job' | 'owners' | 'planHash'> | undefined;
  readonly plan: PlanShape;
  /** Name in the job → ARN of the stream, or name of the topic, that it has read; `undefined`: not known. */
  readonly hasRead: Readonly<Record<string, string>> | undefined;
  readonly streams: readonly {
    readonly name: string;
    readonly arn: string;
    /** Open ones; `undefined`: not known. */
    readonly shards: number | undefined;
    /** Environments reserved for the stage that reads it; `undefined`: it shares what nobody reserved. */
    readonly reserved: number | undefined;
  }[];
  /** Name in the job, and name of the topic; `undefined`: not known. */
  readonly topics?: readonly { readonly name: string; readonly topic: string }[] | undefined;
  /** Of the stages; `undefined`: not known. */
  readonly exchange?:
    | {
        readonly has: ExchangeKind;
        readonly wanted: ExchangeKind;
        /** Each is read by an environment that shares what nobody reserved. */
        readonly shards: number;
      }
    | undefined;
  readonly account: { readonly limit: number; readonly unreserved: number } | undefined;
  /** Environments that the stack is going to reserve beyond what it reserves already. */
  readonly reserves: number;
}

/** @throws SluiceError `PLAN_CHANGED`, `DEPLOYMENT_UNSAFE` */
export function decideDeployment({ item, plan, hasRead = {}, streams, topics = [], exchange, account, reserves }: DeploymentFacts): void {
  if (item !== undefined) refuseOtherPlan(item, plan);
  if (item !== undefined && exchange !== undefined) refuseOtherExchange(item.job, plan, exchange);
  for (const { name, place } of [
    ...streams.map(({ name, arn }) => ({ name, place: arn })),
    ...topics.map(({ name, topic }) => ({ name, place: topic })),
  ]) {
    const before = hasRead[name];
    if (item === undefined || before === undefined || before === place) continue;
    const message = `job ${item.job} has read ${before} as ${name}, and would read ${place}, whose records it takes for ones that it has had`;
    throw unsafe(message, 'bind what the job has read, or deploy under another construct id, where it begins anew');
  }
  for (const { name, shards, reserved } of streams) {
    if (shards === undefined || reserved === undefined || reserved >= shards) continue;
    const message = `stream ${name} has ${shards} open shards, and ${reserved} environments are reserved for the stage that reads it`;
    throw unsafe(message, `set reservedConcurrency to ${shards} or more, or leave it out`);
  }
  if (account === undefined) return;
  const left = account.unreserved - reserves;
  if (reserves > 0 && left < Math.min(unreservedMin, account.limit)) {
    const message = `${reserves} environments are to be reserved, and of ${account.limit} of this account only ${account.unreserved} are free`;
    throw unsafe(message, 'set controlConcurrency to false and leave reservedConcurrency out, or ask for a higher limit');
  }
  const own = streams.reduce((sum, { shards, reserved }) => sum + (reserved === undefined ? (shards ?? 0) : 0), 0);
  const shared = own + (exchange?.shards ?? 0);
  if (shared > left) {
    const message = `streams have ${shared} open shards together, and ${left} environments of this account are left for them`;
    throw unsafe(message, 'ask for a higher limit of concurrent executions, or read fewer shards');
  }
}

function refuseOtherExchange(job: string, { stages }: PlanShape, { has, wanted }: NonNullable<DeploymentFacts['exchange']>): void {
  if (has === wanted || stages.every(({ inputs }) => inputs.length === 0)) return;
  const message = `job ${job} was started with exchange '${has}', and this deployment has '${wanted}', where nothing is of what is on its way`;
  throw unsafe(message, `leave exchange at '${has}', or deploy under another construct id, where the job begins anew`);
}

function refuseOtherPlan(item: NonNullable<DeploymentFacts['item']>, plan: PlanShape): void {
  try {
    checkPlan(item, plan);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    throw new SluiceError(error.code, {
      ...error.details,
      message: `${error.message}; nothing was changed`,
      next: 'fix-the-job',
      advice: 'deploy the code that the job was started with, or the changed job under another construct id, where it begins anew',
    });
  }
}

function unsafe(message: string, advice: string): SluiceError {
  return new SluiceError('DEPLOYMENT_UNSAFE', { message: `${message}; nothing was changed`, next: 'fix-the-job', advice });
}
