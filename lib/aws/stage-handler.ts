// The handler of a stage: what its mappings deliver, and what the coordinator asks of it.
//   H1  What is answered as done is committed. A part that failed comes again, whatever became of the others.
//   H2  A unit ends before its function does: the deadline is the function's, and what does not fit comes again.
//   H3  Where everything failed the call fails, so that it is seen where functions are watched.
//   H4  An event of another kind is no empty event: it fails, and stays where it is.

import { SluiceError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { sourceOf } from '../invocation/coordinator/owners.ts';
import type { Answer, Invocation } from '../invocation/invocation.ts';
import { queueOfStage } from '../invocation/lane/queues.ts';
import type { Exchange } from '../invocation/ports.ts';
import { type GapOptions, takeAroundGap, type Waiting } from './around-gap.ts';
import { type ControlAnswer, controlAnswer, invocationOf, isControlEvent } from './control-call.ts';
import type { DeployedStage } from './deployed.ts';
import { errorLine, functionError } from './function-error.ts';
import { isKafkaEvent, type KafkaAnswer, type KafkaEvent, kafkaAnswerOf, kafkaParts, recordsOf, wholeOrNothing } from './kafka-event.ts';
import { isKinesisEvent, type KinesisAnswer, type KinesisEvent, kinesisAnswerOf, kinesisParts } from './kinesis-event.ts';
import { refusalLine } from './refusal-line.ts';
import { behindGap, lookAhead, notOurs, shardAnswerOf, shardParts, stopsAtGap, takenOf, waitingOf } from './shard-event.ts';
import {
  answerOf,
  exchangeParts,
  isSqsEvent,
  queueParts,
  type SqsAnswer,
  type SqsEvent,
  type SqsRecord,
  uncommitted,
} from './sqs-event.ts';
import { stageMetricsLine } from './stage-metrics.ts';

export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

export type StageEvent = SqsEvent | { readonly invocation: string } | object;

/** What of an event was not committed is handed out again after this, not after the queue's whole time. */
const againAfterMs = 2_000;

type EventAnswer = SqsAnswer | KinesisAnswer | KafkaAnswer;
export type StageAnswer = EventAnswer | ControlAnswer;

export async function handleStage(deployed: DeployedStage, event: StageEvent, context: LambdaContext, clock: Clock): Promise<StageAnswer> {
  const deadlineMs = clock.now() + context.getRemainingTimeInMillis();
  try {
    if (isControlEvent(event)) return controlAnswer(await deployed.environment.invoke(invocationOf(event), { deadlineMs }));
    return await handleEvent(deployed, event, deadlineMs, clock);
  } catch (error) {
    console.error(errorLine(error));
    throw functionError(error);
  }
}

async function handleEvent(deployed: DeployedStage, event: object, deadlineMs: number, clock: Clock): Promise<EventAnswer> {
  const { plan, settings, tally } = deployed;
  const startedMs = clock.now();
  try {
    if (isKinesisEvent(event)) return await handleShard(deployed, event, deadlineMs);
    if (isKafkaEvent(event)) return await handlePartitions(deployed, event, deadlineMs);
    if (isSqsEvent(event)) return await handleMessages(deployed, event, deadlineMs);
    throw eventUnknown(event);
  } finally {
    const { conflicts } = tally;
    tally.conflicts = 0;
    const records = isKafkaEvent(event) ? recordsOf(event) : ((event as { readonly Records?: readonly unknown[] }).Records?.length ?? 0);
    const stage = settings.stage ?? 0;
    console.log(stageMetricsLine({ job: plan.job, stage, records, conflicts, durationMs: clock.now() - startedMs }, clock.now()));
  }
}

function eventUnknown(event: object): SluiceError {
  const { Records: records } = event as { readonly Records?: readonly { readonly eventSource?: string }[] };
  const what =
    Array.isArray(records) && records.length > 0
      ? `records of ${records[0]?.eventSource}`
      : `an event with ${Object.keys(event).join() || 'nothing'} in it`;
  return new SluiceError('EVENT_UNKNOWN', {
    message: `the function of a stage was given ${what}, and knows the events of SQS, of Kinesis and of Kafka`,
    next: 'fix-the-command',
    advice: 'only its own mappings and the pulse call it',
  });
}

interface Part {
  readonly invocation: Invocation;
}

export interface AnsweredPart<P> {
  readonly part: P;
  /** `undefined`: it failed. */
  readonly answer: Answer | undefined;
}

/** Parts of one subtask one after the other. @throws what a part threw, when every part did */
async function invokeAll<P extends Part>(
  { environment }: DeployedStage,
  parts: readonly P[],
  deadlineMs: number,
): Promise<readonly AnsweredPart<P>[]> {
  const errors: unknown[] = [];
  const invoke = async (part: P): Promise<AnsweredPart<P>> => {
    try {
      const answer = await environment.invoke(part.invocation, { deadlineMs });
      if (answer.kind !== 'done') console.warn(refusalLine(part.invocation.subtask, answer.why));
      return { part, answer };
    } catch (error) {
      errors.push(error);
      console.error(errorLine(error));
      return { part, answer: undefined };
    }
  };
  const bySubtask = [...Map.groupBy(parts, ({ invocation }) => invocation.subtask).values()];
  const answered = await Promise.all(
    bySubtask.map(async (own) => {
      const answers: AnsweredPart<P>[] = [];
      for (const part of own) answers.push(await invoke(part));
      return answers;
    }),
  );
  if (errors.length > 0 && errors.length === parts.length) throw errors[0];
  return answered.flat();
}

async function handleShard(deployed: DeployedStage, event: KinesisEvent, deadlineMs: number): Promise<KinesisAnswer> {
  const stage = deployed.settings.stage ?? 0;
  const stream = deployed.exchangeStream(stage);
  if (stream === undefined) return kinesisAnswerOf(await invokeAll(deployed, await kinesisParts(deployed, event), deadlineMs));
  const { parts, foreign } = shardParts(stage, event);
  for (const record of foreign) console.error(errorLine(notOurs(record)));
  const answered = await invokeAll(deployed, parts, deadlineMs);
  const open = answered.map(async ({ part, answer }) => {
    const waiting = waitingOf(part, answer);
    const { subtask } = part.invocation;
    return stopsAtGap(answer)
      ? await goOn(deployed, { subtask, waiting, ahead: () => lookAhead(stream, event, subtask) }, deadlineMs)
      : waiting;
  });
  return shardAnswerOf((await Promise.all(open)).flat().flatMap(({ number }) => number ?? []));
}

/** Behind a gap. What fails here comes again, as it would have. */
async function goOn(
  { environment }: DeployedStage,
  { subtask, ...gap }: Omit<GapOptions, 'take'> & { readonly subtask: string },
  deadlineMs: number,
): Promise<readonly Waiting[]> {
  let hasFailed = false;
  const take = async (messages: readonly Uint8Array[]): Promise<number> => {
    if (hasFailed) return 0; // a record that fails has its tries in as many events, and not in the rounds of one
    const answer = await environment.invoke({ kind: 'messages', subtask, messages }, { deadlineMs });
    hasFailed = answer.kind !== 'done' && answer.why === 'record-failed';
    return takenOf(answer, messages.length);
  };
  try {
    const left = await takeAroundGap({ ...gap, take });
    const [first] = left;
    if (first?.number !== undefined && !hasFailed) console.error(errorLine(behindGap(subtask, first.number)));
    return left;
  } catch (error) {
    console.error(errorLine(error));
    return gap.waiting;
  }
}

async function handlePartitions(deployed: DeployedStage, event: KafkaEvent, deadlineMs: number): Promise<KafkaAnswer> {
  const { parts, unreadable } = kafkaParts(deployed, event);
  for (const { error } of unreadable) console.error(errorLine(error));
  if (parts.length === 0 && unreadable[0] !== undefined) throw unreadable[0].error;
  const answer = kafkaAnswerOf(await invokeAll(deployed, parts, deadlineMs), unreadable);
  return takesOffsets(deployed) ? answer : wholeOrNothing(answer);
}

/** Whether the mapping of this stage was made so that it looks at the answer. */
function takesOffsets({ plan, settings }: DeployedStage): boolean {
  const name = sourceOf(plan.stages[settings.stage ?? 0])?.binding?.name;
  return name !== undefined && settings.bind[name]?.reportsFailures === true;
}

async function handleMessages(deployed: DeployedStage, event: SqsEvent, deadlineMs: number): Promise<SqsAnswer> {
  const stage = deployed.settings.stage ?? 0;
  const queue = queueOfStage(deployed.plan, stage);
  const parts = queue === undefined ? exchangeParts(event) : queueParts(event, queue);
  const answered = await invokeAll(deployed, parts, deadlineMs);
  const failed = answered.flatMap(({ part, answer }) => uncommitted(part, answer));
  if (queue === undefined && failed.length > 0) await releaseSoon(deployed.ports.exchange, stage, failed);
  return answerOf(event, failed);
}

/** Only sooner: a message that is not released comes again when its time is over. */
async function releaseSoon(exchange: Exchange, stage: number, failed: readonly SqsRecord[]): Promise<void> {
  try {
    await exchange.release({ receipts: failed.map(({ receiptHandle }) => `${stage} ${receiptHandle}`), delayMs: againAfterMs });
  } catch (error) {
    console.error(errorLine(error));
  }
}
