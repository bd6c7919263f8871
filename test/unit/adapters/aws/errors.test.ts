// What each error of a service means, row by row: by name, and as the bytes that a service sends.
import { expect, test } from 'vitest';
import { afterPart, errorOf, type Meaning, meaningOf, meanings } from '../../../../lib/adapters/aws/errors.ts';
import { SluiceError } from '../../../../lib/core/errors.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { type Answer, jsonError, scripted, xmlError } from './scripted.ts';

const named: Readonly<Record<Meaning, readonly string[]>> = {
  condition: [
    'ConditionalCheckFailedException',
    'ConditionalCheckFailed',
    'DuplicateItemException',
    'DuplicateItem',
    'TransactionCanceledException',
    'PreconditionFailed',
  ],
  nothing: [
    'ProvisionedThroughputExceededException',
    'ProvisionedThroughputExceeded',
    'ThrottlingException',
    'ThrottlingError',
    'Throttling',
    'ThrottledException',
    'RequestThrottled',
    'RequestThrottledException',
    'RequestLimitExceeded',
    'TooManyRequestsException',
    'LimitExceededException',
    'KMSThrottlingException',
    'KMS.ThrottlingException',
    'KmsThrottled',
    'EC2ThrottledException',
    'OverLimit',
    'SlowDown',
    'TransactionConflictException',
    'TransactionConflict',
    'ReplicatedWriteConflictException',
    'ConditionalRequestConflict',
    'OperationAborted',
  ],
  unknown: [
    'TransactionInProgressException',
    'InternalServerError',
    'InternalServerErrorException',
    'InternalError',
    'InternalFailure',
    'ServiceUnavailable',
    'ServiceException',
    'RequestTimeout',
    'RequestTimeoutException',
    'TimeoutError',
  ],
  invalid: [
    'ValidationException',
    'ValidationError',
    'SerializationException',
    'ItemCollectionSizeLimitExceededException',
    'ItemCollectionSizeLimitExceeded',
    'IdempotentParameterMismatchException',
    'InvalidParameterValue',
    'InvalidMessageContents',
    'InvalidBatchEntryId',
    'BatchEntryIdsNotDistinct',
    'BatchRequestTooLong',
    'TooManyEntriesInBatchRequest',
    'EmptyBatchRequest',
    'UnsupportedOperation',
    'InvalidRequest',
    'InvalidArgument',
    'EntityTooLarge',
    'EntityTooSmall',
    'InvalidPart',
    'InvalidPartOrder',
    'InvalidArgumentException',
    'InvalidRequestContentException',
    'RequestTooLargeException',
    'KeyTooLongError',
  ],
  forbidden: [
    'AccessDenied',
    'AccessDeniedException',
    'UnrecognizedClientException',
    'InvalidClientTokenId',
    'InvalidAccessKeyId',
    'InvalidSignatureException',
    'SignatureDoesNotMatch',
    'ExpiredTokenException',
    'ExpiredToken',
    'CredentialsProviderError',
    'KMSAccessDeniedException',
    'KMSDisabledException',
    'KMSInvalidStateException',
    'KMSNotFoundException',
    'KMSOptInRequired',
    'KmsAccessDenied',
    'KmsDisabled',
    'KmsInvalidState',
    'KmsInvalidKeyUsage',
    'KmsNotFound',
    'KmsOptInRequired',
    'KMS.AccessDeniedException',
    'KMS.DisabledException',
    'KMS.NotFoundException',
    'KMS.KMSInvalidStateException',
  ],
  missing: [
    'ResourceNotFoundException',
    'ResourceNotFound',
    'NoSuchBucket',
    'QueueDoesNotExist',
    'AWS.SimpleQueueService.NonExistentQueue',
  ],
};

const told: Readonly<Record<Meaning, string>> = {
  condition: 'STORE_REQUEST_INVALID', // a port that did not ask for a condition cannot lose one
  nothing: 'STORE_THROTTLED',
  unknown: 'STORE_UNCERTAIN',
  invalid: 'STORE_REQUEST_INVALID',
  forbidden: 'STORE_FORBIDDEN',
  missing: 'STORE_MISSING',
};

const rows = Object.entries(named).flatMap(([meaning, names]) => names.map((name) => [name, meaning as Meaning] as const));

test.each(rows)('%s means: %s', (name, meaning) => {
  expect(meaningOf(name)).toBe(meaning);
  const error = errorOf(Object.assign(new Error('as the service says'), { name }), 'dynamodb:PutItem in table clicks');
  expect(error.code).toBe(told[meaning]);
  expect(error.message).toBe(`dynamodb:PutItem in table clicks: ${name}: as the service says`);
});

test('the table has no row that is not tested', () => {
  expect([...meanings.keys()].sort()).toEqual(rows.map(([name]) => name).sort());
});

test('what nobody has named is unknown, whatever it is called; a status says more only where it is the whole answer', () => {
  for (const name of ['Error', 'constructor', 'toString', 'SomethingNewException', '']) expect(meaningOf(name)).toBe('unknown');
  for (const status of [400, 408, 500, 502, 503, 504, undefined]) expect(meaningOf('SomethingNew', status)).toBe('unknown');
  expect(meaningOf('SomethingNew', 429)).toBe('nothing');
  expect(meaningOf('SomethingNew', 403)).toBe('forbidden');
  for (const thrown of [undefined, null, 'text', new Error('socket hang up')]) expect(errorOf(thrown, 'x').code).toBe('STORE_UNCERTAIN');
});

test('a refusal after part of a request was done says that it may have happened; every other error stays what it is', () => {
  const throttled = new SluiceError('STORE_THROTTLED', { message: 'not now', next: 'retry-invocation' });
  const forbidden = new SluiceError('STORE_FORBIDDEN', { message: 'not you', next: 'fix-the-command' });
  expect(afterPart(throttled)).toMatchObject({ code: 'STORE_UNCERTAIN', message: 'not now; part of it is done', cause: throttled });
  expect(afterPart(forbidden)).toBe(forbidden);
});

const put = ({ changelog }: InvocationPorts): Promise<unknown> =>
  changelog.put({
    ring: { generation: 0, subtask: '1-0' },
    slot: 0,
    entry: { n: 0, writer: 'w', bytes: new Uint8Array(1) },
    expects: 'absent',
  });
const readMany = ({ table }: InvocationPorts): Promise<unknown> => table.readMany([{ partition: 'p', sort: 's' }]);
const putObject = ({ objects }: InvocationPorts): Promise<unknown> => objects.putIfAbsent('chk/1', new Uint8Array(1));
const getObject = ({ objects }: InvocationPorts): Promise<unknown> => objects.get('chk/1');
const send = ({ exchange }: InvocationPorts): Promise<unknown> => exchange.send([{ group: '1-0', id: 'a', bytes: new Uint8Array(1) }]);

const dynamo = 'dynamodb.v20120810';
const denied =
  'User: arn:aws:sts::1:assumed-role/stage/f is not authorized to perform: dynamodb:PutItem on resource: arn:aws:dynamodb:us-east-1:1:table/clicks';

const wire: readonly (readonly [string, (ports: InvocationPorts) => Promise<unknown>, Answer, string, RegExp])[] = [
  [
    'a table that is throttled',
    put,
    jsonError(dynamo, 'ProvisionedThroughputExceededException'),
    'STORE_THROTTLED',
    /PutItem in table clicks/,
  ],
  [
    'a partition that is throttled',
    put,
    jsonError(dynamo, 'ThrottlingException', {
      throttlingReasons: [{ reason: 'KeyRangeMaxOnDemandThroughputExceeded', resource: 'arn:aws:dynamodb:us-east-1:1:table/clicks' }],
    }),
    'STORE_THROTTLED',
    /KeyRangeMaxOnDemandThroughputExceeded arn:aws:dynamodb/,
  ],
  ['an account that is throttled', readMany, jsonError('coral.availability', 'ThrottlingException'), 'STORE_THROTTLED', /BatchGetItem/],
  [
    'a plain write that met a transaction',
    put,
    jsonError(dynamo, 'TransactionConflictException'),
    'STORE_THROTTLED',
    /TransactionConflict/,
  ],
  ['a 500 of the table', put, jsonError(dynamo, 'InternalServerError', { status: 500 }), 'STORE_UNCERTAIN', /InternalServerError/],
  ['a 503 without a word', put, { status: 503, body: '' }, 'STORE_UNCERTAIN', /PutItem/],
  ['a 502 of something in between', readMany, { status: 502, body: '<html>Bad Gateway</html>' }, 'STORE_UNCERTAIN', /BatchGetItem/],
  ['a 200 that is cut off', readMany, { status: 200, body: '{"Responses": {"clicks": [' }, 'STORE_UNCERTAIN', /BatchGetItem/],
  [
    'an item that is too large',
    put,
    jsonError('coral.service', 'ValidationException', { message: 'Item size has exceeded the maximum allowed size' }),
    'STORE_REQUEST_INVALID',
    /Item size/,
  ],
  [
    'a permission that is missing',
    put,
    jsonError('coral.service', 'AccessDeniedException', { message: denied }),
    'STORE_FORBIDDEN',
    /dynamodb:PutItem on resource: arn:aws:dynamodb:us-east-1:1:table\/clicks/,
  ],
  ['a table that was deleted', put, jsonError(dynamo, 'ResourceNotFoundException'), 'STORE_MISSING', /table clicks/],
  [
    'a table whose key may not be used',
    put,
    jsonError(dynamo, 'AccessDeniedException', { message: 'KMS key access denied' }),
    'STORE_FORBIDDEN',
    /KMS/,
  ],
  ['S3 that asks for patience', putObject, xmlError(503, 'SlowDown'), 'STORE_THROTTLED', /PutObject of chk\/1 in bucket clicks-objects/],
  [
    'a delete that raced with a put',
    putObject,
    xmlError(409, 'ConditionalRequestConflict'),
    'STORE_THROTTLED',
    /ConditionalRequestConflict/,
  ],
  ['a 500 of S3', putObject, xmlError(500, 'InternalError'), 'STORE_UNCERTAIN', /InternalError/],
  ['a 503 of S3', getObject, xmlError(503, 'ServiceUnavailable'), 'STORE_UNCERTAIN', /GetObject/],
  ['a body that came too slowly', putObject, xmlError(400, 'RequestTimeout'), 'STORE_UNCERTAIN', /RequestTimeout/],
  ['a bucket that was deleted', getObject, xmlError(404, 'NoSuchBucket'), 'STORE_MISSING', /bucket clicks-objects/],
  ['a bucket that is not allowed', getObject, xmlError(403, 'AccessDenied'), 'STORE_FORBIDDEN', /s3:GetObject of chk\/1/],
  ['a key of a bucket that may not be used', putObject, xmlError(400, 'KMS.DisabledException'), 'STORE_FORBIDDEN', /KMS.DisabledException/],
  [
    'a queue that is throttled',
    send,
    jsonError('sqs', 'RequestThrottled', { query: 'RequestThrottled' }),
    'STORE_THROTTLED',
    /SendMessage/,
  ],
  [
    'a queue that was deleted',
    send,
    jsonError('sqs', 'QueueDoesNotExist', { query: 'AWS.SimpleQueueService.NonExistentQueue' }),
    'STORE_MISSING',
    /one\.fifo, which does not exist/,
  ],
  [
    'a queue that is not allowed',
    send,
    jsonError('sqs', 'AccessDeniedException', { query: 'AccessDenied', status: 403 }),
    'STORE_FORBIDDEN',
    /one\.fifo/,
  ],
  [
    'a key of a queue that may not be used',
    send,
    jsonError('sqs', 'KmsAccessDenied', { query: 'KMS.AccessDeniedException' }),
    'STORE_FORBIDDEN',
    /Kms|KMS/,
  ],
  ['a 500 of SQS', send, jsonError('sqs', 'InternalError', { status: 500 }), 'STORE_UNCERTAIN', /InternalError/],
];

test.each(wire)('%s', async (_, request, answer, code, says) => {
  const { ports, asked } = scripted(answer);
  const error = await request(ports).then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
  expect(asked.length, 'the client itself asks once').toBe(1);
});
