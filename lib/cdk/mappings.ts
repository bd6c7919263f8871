// Event source mappings: who calls the function of a stage, and with how much.
//   M1  A stream's shard is read by one invocation at a time, its records in order. Nothing is ever given up: no limit of tries or age, because the
//       mapping would throw the records away. Records that fail are the job's to park.
//   M2  The handler answers with what it could not take, and only that comes again.
//   M3  Whether a mapping is enabled is never said here: the job does that when it is paused, and a deployment must not undo it.
//   M4  A queue of the user hides a message for as long as an invocation could take, six times over, keeps it no longer than the job remembers it, and
//       does not take it away after a few receives.

import { Annotations, Duration } from 'aws-cdk-lib';
import { type CfnEventSourceMapping, EventSourceMapping, type EventSourceMappingOptions, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { CfnQueue, type IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { SluiceError } from '../core/errors.ts';
import type { WantedBinding } from './bindings.ts';
import {
  exchangeBatch,
  exchangeStreamBatch,
  kinesisBatch,
  kinesisWindowSeconds,
  mappingConcurrencyMax,
  mappingConcurrencyMin,
  queueBatch,
  queueWindowSeconds,
  receiveCountMin,
  visibilityTimes,
} from './defaults.ts';
import type { StageExchange } from './exchange.ts';
import type { JobFunction } from './job-function.ts';
import type { SourceProps } from './props.ts';
import type { Target } from './targets.ts';
import { createTopicMapping } from './topics.ts';

interface MappingRequest {
  readonly job: string;
  readonly isInVpc: boolean;
  readonly wanted: WantedBinding;
  readonly target: Target;
  readonly fn: JobFunction;
  readonly props: SourceProps;
  readonly timeoutSeconds: number;
}

export function createSourceMapping(scope: Construct, request: MappingRequest): EventSourceMapping {
  const { target } = request;
  if (target.kind === 'kinesis') return streamMapping(scope, request, { arn: target.stream.streamArn });
  if (target.kind === 'sqs') return queueMapping(scope, request, target.queue, target.isFifo);
  if (target.kind === 'kafka')
    return createTopicMapping(scope, {
      ...request,
      ...{ name: request.wanted.name, topic: target.topic },
      gathering: gatheringOf(request.props),
    });
  throw new Error(`no mapping reads ${target.kind}`); // bindings.ts has refused it
}

function streamMapping(
  scope: Construct,
  { fn, props }: Pick<MappingRequest, 'fn' | 'props'>,
  { id = 'Mapping', arn }: { readonly id?: string; readonly arn: string },
): EventSourceMapping {
  const mapping = new EventSourceMapping(scope, id, {
    target: fn.lambda,
    eventSourceArn: arn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    parallelizationFactor: 1,
    ...gatheringOf(props),
    bisectBatchOnError: false,
    reportBatchItemFailures: true,
  });
  const made = mapping.node.defaultChild as CfnEventSourceMapping;
  made.maximumRetryAttempts = -1;
  made.maximumRecordAgeInSeconds = -1;
  return mapping;
}

/** Of a stream or a topic. */
function gatheringOf(props: SourceProps): Required<Pick<EventSourceMappingOptions, 'batchSize' | 'maxBatchingWindow'>> {
  return {
    batchSize: within('batchSize', props.batchSize ?? kinesisBatch, 1, 10_000),
    maxBatchingWindow: Duration.seconds(within('batchingWindowSeconds', props.batchingWindowSeconds ?? kinesisWindowSeconds, 0, 300)),
  };
}

function queueMapping(scope: Construct, request: MappingRequest, queue: IQueue, isFifo: boolean): EventSourceMapping {
  const { fn, props, wanted, timeoutSeconds } = request;
  checkQueue(scope, { name: wanted.name, queue, isFifo, timeoutSeconds, retentionMs: wanted.queue?.retentionMs });
  if (isFifo && props.batchingWindowSeconds !== undefined) {
    throw unsafe(
      `sources.${wanted.name}.batchingWindowSeconds is ${props.batchingWindowSeconds}, but a FIFO queue has no window`,
      wanted.name,
    );
  }
  const batch = props.batchSize ?? (isFifo ? exchangeBatch : queueBatch);
  return new EventSourceMapping(scope, 'Mapping', {
    target: fn.lambda,
    eventSourceArn: queue.queueArn,
    batchSize: within('batchSize', batch, 1, isFifo ? exchangeBatch : 10_000),
    ...(isFifo
      ? {}
      : {
          maxBatchingWindow: Duration.seconds(within('batchingWindowSeconds', props.batchingWindowSeconds ?? queueWindowSeconds, 0, 300)),
        }),
    maxConcurrency: concurrencyOf(props.maxConcurrency ?? wanted.queue?.lanes ?? mappingConcurrencyMin),
    reportBatchItemFailures: true,
  });
}

/** @param parallelism  subtasks of the stage: more environments at once than that would only be in each other's way */
export function createExchangeMapping(
  scope: Construct,
  o: { readonly exchange: StageExchange; readonly fn: JobFunction; readonly parallelism: number },
): EventSourceMapping {
  const { exchange, fn } = o;
  if (exchange.kind === 'kinesis') {
    const props = { batchSize: exchangeStreamBatch };
    return streamMapping(scope, { fn, props }, { id: 'ExchangeStreamMapping', arn: exchange.stream.streamArn });
  }
  return new EventSourceMapping(scope, 'ExchangeMapping', {
    target: fn.lambda,
    eventSourceArn: exchange.queue.queueArn,
    batchSize: exchangeBatch,
    maxConcurrency: concurrencyOf(o.parallelism),
    reportBatchItemFailures: true,
  });
}

function concurrencyOf(wanted: number): number {
  return Math.min(mappingConcurrencyMax, Math.max(mappingConcurrencyMin, wanted));
}

interface QueueToCheck {
  readonly name: string;
  readonly queue: IQueue;
  readonly isFifo: boolean;
  readonly timeoutSeconds: number;
  /** How long the job remembers a message, ms. */
  readonly retentionMs: number | undefined;
}

/** @throws SluiceError `DEPLOYMENT_UNSAFE`; what cannot be seen of an imported queue is a warning */
function checkQueue(scope: Construct, { name, queue, isFifo, timeoutSeconds, retentionMs }: QueueToCheck): void {
  const least = visibilityTimes * timeoutSeconds;
  const made = queue.node.defaultChild;
  if (!(made instanceof CfnQueue)) {
    const kept = retentionMs === undefined ? '' : `, keeps a message for ${Math.ceil(retentionMs / 86_400_000)} d at most`;
    Annotations.of(scope).addWarningV2(
      'sluice:queue-unseen',
      `queue '${name}' is imported: make sure that its visibility time-out is ${least} s or more${kept}, and that its redrive policy, if any, allows ${receiveCountMin} receives or more`,
    );
    return;
  }
  const visibility = made.visibilityTimeout ?? 30;
  if (visibility < least) {
    const why = `its messages are hidden for ${visibility} s, and an invocation may take ${timeoutSeconds} s`;
    throw unsafe(`queue '${name}': ${why}; set its visibilityTimeout to ${least} s or more`, name);
  }
  const receives = Number(
    (made.redrivePolicy as { readonly maxReceiveCount?: unknown } | undefined)?.maxReceiveCount ?? Number.POSITIVE_INFINITY,
  );
  if (receives < receiveCountMin) {
    const why = `it takes a message away after ${receives} receives, and a delivery that was throttled counts as one`;
    throw unsafe(`queue '${name}': ${why}; set its maxReceiveCount to ${receiveCountMin} or more`, name);
  }
  const keptMs = (made.messageRetentionPeriod ?? 345_600) * 1_000;
  if (retentionMs !== undefined && keptMs > retentionMs) {
    const why = `it keeps a message for ${keptMs / 1_000} s, and the job remembers one for ${retentionMs / 1_000} s`;
    throw unsafe(`queue '${name}': ${why}; give the source the retention of its queue`, name);
  }
  if (isFifo && made.redrivePolicy !== undefined) {
    Annotations.of(scope).addWarningV2(
      'sluice:queue-order',
      `queue '${name}' has a dead-letter queue, which takes a message out of the order of its group; the job parks records that fail by itself`,
    );
  }
}

function within(option: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw unsafe(`${option} is ${value}; it is a whole number from ${min} to ${max}`, option);
}

function unsafe(message: string, name: string): SluiceError {
  return new SluiceError('DEPLOYMENT_UNSAFE', { message, next: 'fix-the-job', name });
}
