// Errors of a simulated service as the AWS clients throw them, told by the adapters' own table: whatever that table says of them is what the runtime
// acts on here. Which one a call meets depends on the call alone, so that a seed stays what it is.
import { errorOf } from '../../lib/adapters/aws/errors.ts';
import type { SluiceError } from '../../lib/index.ts';
import type { Call } from '../../lib/testing/index.ts';
import { mixText } from '../../lib/testing/seeded-random.ts';

/** `nothing`: the service refused, and nothing of the call happened. `unknown`: it may have happened, now or later. */
export type Said = 'nothing' | 'unknown';

interface Named {
  readonly name: string;
  readonly status?: number;
}

type Service = 'dynamodb' | 's3' | 'sqs';

const services: Readonly<Record<string, Service>> = {
  changelog: 'dynamodb',
  table: 'dynamodb',
  items: 'dynamodb',
  objects: 's3',
  exchange: 'sqs',
};

const lostReplies: readonly Named[] = [
  { name: 'TimeoutError' },
  { name: 'Error' }, // a connection that was reset
  { name: 'ServiceUnavailable', status: 503 },
  { name: 'UnknownError', status: 502 },
];

const errors: Readonly<Record<Service, Readonly<Record<Said, readonly Named[]>>>> = {
  dynamodb: {
    nothing: [
      { name: 'ProvisionedThroughputExceededException', status: 400 },
      { name: 'ThrottlingException', status: 400 },
      { name: 'RequestLimitExceeded', status: 400 },
      { name: 'TransactionConflictException', status: 400 },
    ],
    unknown: [...lostReplies, { name: 'InternalServerError', status: 500 }, { name: 'TransactionInProgressException', status: 400 }],
  },
  s3: {
    nothing: [
      { name: 'SlowDown', status: 503 },
      { name: 'ConditionalRequestConflict', status: 409 },
      { name: 'TooManyRequestsException', status: 429 },
    ],
    unknown: [...lostReplies, { name: 'InternalError', status: 500 }, { name: 'RequestTimeout', status: 400 }],
  },
  sqs: {
    nothing: [
      { name: 'RequestThrottled', status: 403 },
      { name: 'ThrottlingException', status: 400 },
      { name: 'KmsThrottled', status: 400 },
    ],
    unknown: [...lostReplies, { name: 'InternalError', status: 500 }, { name: 'InternalFailure', status: 500 }],
  },
};

/** What the port of this call rejects with. A call of another kind, such as one of a sink's target, meets the errors of a table. */
export function serviceError(call: Pick<Call, 'method' | 'place'>, said: Said): SluiceError {
  const [port = ''] = call.method.split('.');
  const named = errors[services[port] ?? 'dynamodb'][said];
  const { name, status } = named[mixText(17, `${call.method} ${call.place}`) % named.length]!;
  const thrown = Object.assign(new Error('said by the simulation'), { name, $metadata: { httpStatusCode: status } });
  return errorOf(thrown, `${call.method} ${call.place}`);
}
