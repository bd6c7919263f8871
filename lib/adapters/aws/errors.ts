// What an error of an AWS client means for the port that asked. One table, since everything depends on it:
//   M1  `nothing`: the service refused before it did anything. `unknown`: nobody knows, now or later. Whatever the table does not name, and every
//       5xx and broken connection, is `unknown`.
//   M2  `condition`: the service looked and said no. What it found is read from the error by whoever asked.
//   M3  Wrong requests, missing permissions and missing resources are never asked again: the text names what to change.
// Sources: the API references of DynamoDB, S3, SQS, Kinesis and Lambda, and the retry classes of the SDK for JavaScript v3.

import { isSluiceError, SluiceError } from '../../core/errors.ts';

export type Meaning = 'nothing' | 'unknown' | 'condition' | 'invalid' | 'forbidden' | 'missing';

/** By name, as the SDK gives it to an exception and as services spell it in the body of an answer. */
export const meanings: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  // Conditions
  ['ConditionalCheckFailedException', 'condition'],
  ['ConditionalCheckFailed', 'condition'],
  ['DuplicateItemException', 'condition'],
  ['DuplicateItem', 'condition'],
  ['TransactionCanceledException', 'condition'],
  ['PreconditionFailed', 'condition'],
  // Refused for now
  ['ProvisionedThroughputExceededException', 'nothing'],
  ['ProvisionedThroughputExceeded', 'nothing'],
  ['ThrottlingException', 'nothing'],
  ['ThrottlingError', 'nothing'],
  ['Throttling', 'nothing'],
  ['ThrottledException', 'nothing'],
  ['RequestThrottled', 'nothing'],
  ['RequestThrottledException', 'nothing'],
  ['RequestLimitExceeded', 'nothing'],
  ['TooManyRequestsException', 'nothing'],
  ['LimitExceededException', 'nothing'],
  ['KMSThrottlingException', 'nothing'],
  ['KMS.ThrottlingException', 'nothing'],
  ['KmsThrottled', 'nothing'],
  ['EC2ThrottledException', 'nothing'],
  ['OverLimit', 'nothing'],
  ['SlowDown', 'nothing'],
  ['TransactionConflictException', 'nothing'],
  ['TransactionConflict', 'nothing'],
  ['ReplicatedWriteConflictException', 'nothing'],
  ['ConditionalRequestConflict', 'nothing'],
  ['OperationAborted', 'nothing'],
  // Nobody knows
  ['TransactionInProgressException', 'unknown'], // an earlier try with the same token is still at work
  ['InternalServerError', 'unknown'],
  ['InternalServerErrorException', 'unknown'],
  ['InternalError', 'unknown'],
  ['InternalFailure', 'unknown'],
  ['ServiceUnavailable', 'unknown'],
  ['ServiceException', 'unknown'],
  ['RequestTimeout', 'unknown'],
  ['RequestTimeoutException', 'unknown'],
  ['TimeoutError', 'unknown'],
  // Ours to mend
  ['ValidationException', 'invalid'],
  ['ValidationError', 'invalid'],
  ['SerializationException', 'invalid'],
  ['ItemCollectionSizeLimitExceededException', 'invalid'],
  ['ItemCollectionSizeLimitExceeded', 'invalid'],
  ['IdempotentParameterMismatchException', 'invalid'],
  ['InvalidParameterValue', 'invalid'],
  ['InvalidMessageContents', 'invalid'],
  ['InvalidBatchEntryId', 'invalid'],
  ['BatchEntryIdsNotDistinct', 'invalid'],
  ['BatchRequestTooLong', 'invalid'],
  ['TooManyEntriesInBatchRequest', 'invalid'],
  ['EmptyBatchRequest', 'invalid'],
  ['UnsupportedOperation', 'invalid'],
  ['InvalidRequest', 'invalid'],
  ['InvalidArgument', 'invalid'],
  ['EntityTooLarge', 'invalid'],
  ['EntityTooSmall', 'invalid'],
  ['InvalidPart', 'invalid'],
  ['InvalidPartOrder', 'invalid'],
  ['InvalidArgumentException', 'invalid'],
  ['InvalidRequestContentException', 'invalid'],
  ['RequestTooLargeException', 'invalid'],
  ['KeyTooLongError', 'invalid'],
  // The user's to mend
  ['AccessDenied', 'forbidden'],
  ['AccessDeniedException', 'forbidden'],
  ['UnrecognizedClientException', 'forbidden'],
  ['InvalidClientTokenId', 'forbidden'],
  ['InvalidAccessKeyId', 'forbidden'],
  ['InvalidSignatureException', 'forbidden'],
  ['SignatureDoesNotMatch', 'forbidden'],
  ['ExpiredTokenException', 'forbidden'],
  ['ExpiredToken', 'forbidden'],
  ['CredentialsProviderError', 'forbidden'], // the client found none, so that nothing was asked
  ['KMSAccessDeniedException', 'forbidden'],
  ['KMSDisabledException', 'forbidden'],
  ['KMSInvalidStateException', 'forbidden'],
  ['KMSNotFoundException', 'forbidden'],
  ['KMSOptInRequired', 'forbidden'],
  ['KmsAccessDenied', 'forbidden'],
  ['KmsDisabled', 'forbidden'],
  ['KmsInvalidState', 'forbidden'],
  ['KmsInvalidKeyUsage', 'forbidden'],
  ['KmsNotFound', 'forbidden'],
  ['KmsOptInRequired', 'forbidden'],
  ['KMS.AccessDeniedException', 'forbidden'],
  ['KMS.DisabledException', 'forbidden'],
  ['KMS.NotFoundException', 'forbidden'],
  ['KMS.KMSInvalidStateException', 'forbidden'],
  ['ResourceNotFoundException', 'missing'],
  ['ResourceNotFound', 'missing'],
  ['NoSuchBucket', 'missing'],
  ['QueueDoesNotExist', 'missing'],
  ['AWS.SimpleQueueService.NonExistentQueue', 'missing'],
]);

/** Pure. A name in the body of an answer (a reason of a transaction, an error of one statement) has the same meaning as that of an exception. */
export function meaningOf(name: string, status?: number | undefined): Meaning {
  const known = meanings.get(name);
  if (known !== undefined) return known;
  if (status === 403) return 'forbidden';
  if (status === 429) return 'nothing';
  return 'unknown';
}

interface ServiceError {
  readonly name?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  /** DynamoDB says which of its limits it was: that of a key range, of the table or of the account. */
  readonly ThrottlingReasons?: readonly LimitReached[];
  readonly throttlingReasons?: readonly LimitReached[]; // two of its exceptions, two spellings
}

interface LimitReached {
  readonly reason?: string;
  readonly resource?: string;
}

export function nameOf(error: unknown): string {
  return (error as ServiceError | undefined)?.name ?? 'Error';
}

/** Pure: what the port rejects with. @param what  the request in the user's words, such as `PutItem in table clicks` */
export function errorOf(error: unknown, what: string): SluiceError {
  const { message = '', $metadata: metadata, ThrottlingReasons, throttlingReasons } = (error ?? {}) as ServiceError;
  const limits = ThrottlingReasons ?? throttlingReasons ?? [];
  const name = nameOf(error);
  const limit = limits.map(({ reason = '', resource = '' }) => ` (${reason} ${resource})`).join('');
  const said = `${what}: ${name}${message === '' ? '' : `: ${message}`}${limit}`;
  switch (meaningOf(name, metadata?.httpStatusCode)) {
    case 'nothing':
      return new SluiceError('STORE_THROTTLED', { message: said, next: 'retry-invocation', cause: error });
    case 'condition':
    case 'invalid':
      return new SluiceError('STORE_REQUEST_INVALID', { message: said, next: 'report-a-bug', cause: error });
    case 'forbidden':
      return new SluiceError('STORE_FORBIDDEN', {
        message: said,
        next: 'fix-the-command',
        advice: 'grant the role what the text names; nothing is lost, the input stays where it is until then',
        cause: error,
      });
    case 'missing':
      return new SluiceError('STORE_MISSING', {
        message: said,
        next: 'repair-state',
        advice: 'deploy the stack again; a table that was restored under another name has to be bound by hand',
        cause: error,
      });
    case 'unknown':
      return new SluiceError('STORE_UNCERTAIN', { message: said, next: 'retry-invocation', cause: error });
  }
}

/** Pure. As `errorOf`, for what an answer says of one part of its request. */
export function errorOfPart(p: { readonly code: string; readonly message: string | undefined }, what: string): SluiceError {
  return errorOf(Object.assign(new Error(p.message ?? ''), { name: p.code }), what);
}

/**
 * Pure. What a port rejects with when the first of its requests were answered and a later one was refused: together they did something, so that
 * `STORE_THROTTLED` would be a lie.
 */
export function afterPart(error: unknown): unknown {
  if (!isSluiceError(error) || error.code !== 'STORE_THROTTLED') return error;
  return new SluiceError('STORE_UNCERTAIN', { message: `${error.message}; part of it is done`, next: 'retry-invocation', cause: error });
}
