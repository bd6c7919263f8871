// Errors of a simulated service as the AWS clients throw them, told by the adapters' own table: whatever that table says of them is what the runtime
// acts on here. Which one a call meets depends on the call alone, so that a seed stays what it is. That the clients do throw them like this is
// held by test/unit/adapters/aws/simulated-errors.test.ts, row by row.
import { afterPart, errorOf, errorOfPart } from '../../lib/adapters/aws/errors.ts';
import type { SluiceError } from '../../lib/index.ts';
import type { Call } from '../../lib/testing/index.ts';
import { mixText } from '../../lib/testing/seeded-random.ts';

/** `nothing`: the service refused, and nothing of the call happened. `unknown`: it may have happened, now or later. */
export type Said = 'nothing' | 'unknown';

/** Sorts of errors, each of which has to have come through the table in a long range of seeds. */
export const errorKinds = [
  'error: throttle',
  'error: conflict',
  'error: 5xx',
  'error: inside an answer',
  'error: time-out',
  'error: socket closed',
] as const;
export type ErrorKind = (typeof errorKinds)[number];

export interface SimulatedError {
  readonly kind: ErrorKind;
  readonly name: string;
  /** Of the answer; absent where none came. */
  readonly status?: number;
  /**
   * Where the adapter finds it. `part`: an answer that is a success says it of one part. `after part`: an earlier request of the same call was answered.
   * Default: it is what the client throws.
   */
  readonly at?: 'part' | 'after part';
}

export type Service = 'dynamodb' | 's3' | 'sqs';

const services: Readonly<Record<string, Service>> = {
  changelog: 'dynamodb',
  table: 'dynamodb',
  items: 'dynamodb',
  objects: 's3',
  exchange: 'sqs',
};

const lostReplies: readonly SimulatedError[] = [
  { kind: 'error: time-out', name: 'TimeoutError' },
  { kind: 'error: socket closed', name: 'Error' },
  { kind: 'error: 5xx', name: 'ServiceUnavailable', status: 503 },
  { kind: 'error: 5xx', name: 'UnknownError', status: 502 },
];

export const simulatedErrors: Readonly<Record<Service, Readonly<Record<Said, readonly SimulatedError[]>>>> = {
  dynamodb: {
    nothing: [
      { kind: 'error: throttle', name: 'ProvisionedThroughputExceededException', status: 400 },
      { kind: 'error: throttle', name: 'ThrottlingException', status: 400 },
      { kind: 'error: throttle', name: 'RequestLimitExceeded', status: 400 },
      { kind: 'error: conflict', name: 'TransactionConflictException', status: 400 },
      { kind: 'error: conflict', name: 'TransactionConflict', at: 'part' }, // a reason of a transaction that was cancelled
      { kind: 'error: inside an answer', name: 'ThrottlingError', at: 'part' }, // of one statement of a batch
    ],
    unknown: [
      ...lostReplies,
      { kind: 'error: 5xx', name: 'InternalServerError', status: 500 },
      { kind: 'error: conflict', name: 'TransactionInProgressException', status: 400 },
      { kind: 'error: inside an answer', name: 'SyntaxError', status: 200 }, // an answer that was cut off
      { kind: 'error: inside an answer', name: 'InternalServerError', at: 'part' },
    ],
  },
  s3: {
    nothing: [
      { kind: 'error: throttle', name: 'SlowDown', status: 503 },
      { kind: 'error: conflict', name: 'ConditionalRequestConflict', status: 409 },
      { kind: 'error: throttle', name: 'TooManyRequestsException', status: 429 },
      { kind: 'error: conflict', name: 'OperationAborted', status: 409 },
    ],
    unknown: [
      ...lostReplies,
      { kind: 'error: 5xx', name: 'InternalError', status: 500 },
      { kind: 'error: time-out', name: 'RequestTimeout', status: 400 },
    ],
  },
  sqs: {
    nothing: [
      { kind: 'error: throttle', name: 'RequestThrottled', status: 403 },
      { kind: 'error: throttle', name: 'ThrottlingException', status: 400 },
      { kind: 'error: throttle', name: 'KmsThrottled', status: 400 },
    ],
    unknown: [
      ...lostReplies,
      { kind: 'error: 5xx', name: 'InternalError', status: 500 },
      { kind: 'error: 5xx', name: 'InternalFailure', status: 500 },
      { kind: 'error: inside an answer', name: 'InternalError', at: 'part' }, // of one message of a batch
      { kind: 'error: throttle', name: 'ThrottlingException', at: 'after part' },
    ],
  },
};

type Place = Pick<Call, 'method' | 'place'>;

/** A call of another kind, such as one of a sink's target, meets the errors of a table. */
function drawn({ method, place }: Place, said: Said): SimulatedError {
  const [port = ''] = method.split('.');
  const errors = simulatedErrors[services[port] ?? 'dynamodb'][said];
  return errors[mixText(17, `${method} ${place}`) % errors.length]!;
}

export function kindOfError(call: Place, said: Said): ErrorKind {
  return drawn(call, said).kind;
}

/** What the port of this call rejects with. */
export function serviceError(call: Place, said: Said): SluiceError {
  return translated(drawn(call, said), `${call.method} ${call.place}`);
}

/** By the adapters' own functions. */
export function translated({ name, status, at }: SimulatedError, what: string): SluiceError {
  if (at === 'part') return errorOfPart({ code: name, message: 'said by the simulation' }, what);
  const error = errorOf(Object.assign(new Error('said by the simulation'), { name, $metadata: { httpStatusCode: status } }), what);
  return at === 'after part' ? (afterPart(error) as SluiceError) : error;
}
