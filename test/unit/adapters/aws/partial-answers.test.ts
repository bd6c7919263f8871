// What the ports make of answers that are neither a success nor an error: parts that were left, parts that failed inside a 200, transactions that
// were cancelled for several reasons, and requests of which a later part was refused.
import { describe, expect, test } from 'vitest';
import type { OutgoingMessage, StatePut } from '../../../../lib/invocation/ports.ts';
import { jsonError, ok, scripted, taken, xmlError } from './scripted.ts';

const ring = { generation: 0, subtask: '1-0' };
const entry = { n: 8, writer: 'mine', bytes: new Uint8Array(1) };
const held = { p: { S: 'r0/1-0' }, s: { S: '000000' }, n: { N: '8' }, w: { S: 'other' }, b: { B: 'AA==' } };
const other = { kind: 'conflict', held: { n: 8, writer: 'other' } };

describe('a conditional put', () => {
  test('that lost tells what the slot holds, without another request', async () => {
    const { ports, asked } = scripted(jsonError('dynamodb.v20120810', 'ConditionalCheckFailedException', { Item: held }));
    expect(await ports.changelog.put({ ring, slot: 0, entry, expects: 0 })).toEqual(other);
    expect(asked).toMatchObject([{ action: 'PutItem', body: { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }]);
  });

  test('of an item that is gone tells that the slot holds nothing', async () => {
    const { ports } = scripted(jsonError('dynamodb.v20120810', 'ConditionalCheckFailedException'));
    expect(await ports.changelog.put({ ring, slot: 0, entry, expects: 0 })).toEqual({ kind: 'conflict', held: undefined });
  });

  test('whose first try took effect without a reply finds its own writer at the second', async () => {
    const own = jsonError('dynamodb.v20120810', 'ConditionalCheckFailedException', { Item: { ...held, w: { S: 'mine' } } });
    const { ports } = scripted(jsonError('dynamodb.v20120810', 'InternalServerError', { status: 500 }), own);
    const put = (): Promise<unknown> => ports.changelog.put({ ring, slot: 0, entry, expects: 0 });
    await expect(put()).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
    expect(await put()).toEqual({ kind: 'conflict', held: { n: 8, writer: 'mine' } });
  });
});

describe('a transaction that was cancelled', () => {
  type Reason = { readonly Code: string; readonly Message?: string; readonly Item?: unknown };
  const none: Reason = { Code: 'None' };
  const failed: Reason = { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' };
  const conflict: Reason = { Code: 'TransactionConflict' };
  const throttled: Reason = { Code: 'ThrottlingError' };
  const cancelled = (...reasons: readonly Reason[]): ReturnType<typeof jsonError> =>
    jsonError('dynamodb.v20120810', 'TransactionCanceledException', { CancellationReasons: reasons });

  test.each([
    ['the job item says something else', [failed, none]],
    ['so does the slot, and the job item comes first', [failed, { ...failed, Item: held }]],
    ['whatever became of the put', [failed, conflict]],
  ] as const)('is refused when %s', async (_, reasons) => {
    const { ports } = scripted(cancelled(...reasons), cancelled(...reasons));
    expect(await ports.changelog.putDuring({ ring, slot: 0, entry, expects: 0, change: 'stop 0' })).toEqual({ kind: 'refused' });
    expect(await ports.changelog.create({ ring, slot: 0, entry, change: 'stop 0' })).toBe('refused');
  });

  test('is a conflict when only the slot says something else', async () => {
    const answer = cancelled(none, { ...failed, Item: held });
    const { ports } = scripted(answer, answer);
    expect(await ports.changelog.putDuring({ ring, slot: 0, entry, expects: 0, change: 'stop 0' })).toEqual(other);
    expect(await ports.changelog.create({ ring, slot: 0, entry, change: 'stop 0' })).toBe('exists');
  });

  test.each([
    ['it met another transaction', [conflict, none]],
    ['a part was throttled', [none, throttled]],
    ['nobody looked at the job item, whatever the slot holds', [conflict, { ...failed, Item: held }]],
    ['a part failed for no reason of ours', [none, { Code: 'InternalServerError' }]],
  ] as const)('may be asked again when %s', async (_, reasons) => {
    const { ports } = scripted(cancelled(...reasons));
    const request = ports.changelog.putDuring({ ring, slot: 0, entry, expects: 0, change: 'stop 0' });
    await expect(request).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
  });

  test.each([
    [
      'STORE_REQUEST_INVALID',
      [none, { Code: 'ValidationError', Message: 'Item size has exceeded' }],
      /PutItem in a transaction in table clicks.*Item size/,
    ],
    [
      'STORE_FORBIDDEN',
      [{ Code: 'AccessDenied', Message: 'not you' }, conflict],
      /ConditionCheckItem in a transaction in table clicks.*not you/,
    ],
  ] as const)('for a reason that stays is %s, with the part that is to blame', async (code, reasons, says) => {
    const { ports } = scripted(cancelled(...reasons));
    const request = ports.changelog.create({ ring, slot: 0, entry, change: 'stop 0' });
    await expect(request).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
  });
});

describe('a batch', () => {
  const put = (sort: string, expects = 'absent'): StatePut => ({
    address: { partition: 'p', sort },
    tags: 't',
    bytes: new Uint8Array(1),
    expects,
  });

  test('of reads gives back what the table left', async () => {
    const found = { p: { S: 'sp' }, s: { S: 'a' }, t: { S: 't1' }, b: { B: 'AA==' } };
    const left = { clicks: { Keys: [{ p: { S: 'sp' }, s: { S: 'b' } }], ConsistentRead: true } };
    const { ports, asked } = scripted(ok({ Responses: { clicks: [found] }, UnprocessedKeys: left }));
    const { items, left: again } = await ports.table.readMany(['a', 'b', 'c'].map((sort) => ({ partition: 'p', sort })));
    expect(items).toMatchObject([{ address: { partition: 'p', sort: 'a' }, tags: 't1' }]);
    expect(again).toEqual([{ partition: 'p', sort: 'b' }]);
    expect(asked[0]?.body).toMatchObject({ RequestItems: { clicks: { ConsistentRead: true } } });
  });

  test('of puts has one outcome for each, whatever the status of the whole', async () => {
    const codes = [
      undefined,
      'ConditionalCheckFailed',
      'DuplicateItem',
      'ThrottlingError',
      'ProvisionedThroughputExceeded',
      'RequestLimitExceeded',
      'TransactionConflict',
      'InternalServerError',
    ];
    const { ports } = scripted(ok({ Responses: codes.map((Code) => (Code === undefined ? {} : { Error: { Code, Message: 'said' } })) }));
    const outcomes = await ports.table.putMany(codes.map((_, i) => put(`${i}`, i === 1 ? 't0' : 'absent')));
    // Nobody knows what became of the last one: whoever reads the item finds out.
    expect(outcomes).toEqual(['stored', 'conflict', 'conflict', 'left', 'left', 'left', 'left', 'conflict']);
  });

  test.each([
    ['AccessDenied', 'STORE_FORBIDDEN', /dynamodb:PartiQLUpdate in table clicks: AccessDenied/],
    ['ResourceNotFound', 'STORE_MISSING', /ResourceNotFound/],
    ['ValidationError', 'STORE_REQUEST_INVALID', /ValidationError/],
    ['ItemCollectionSizeLimitExceeded', 'STORE_REQUEST_INVALID', /ItemCollectionSizeLimitExceeded/],
  ])('of puts with one that is %s is %s, whatever became of the others', async (Code, code, says) => {
    const { ports } = scripted(ok({ Responses: [{}, { Error: { Code, Message: 'said' } }] }));
    const request = ports.table.putMany([put('a'), put('b', 't0')]);
    await expect(request).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
  });

  test('of deletes is asked again for what was left, and says so when nothing moves', async () => {
    const keys = [0, 1].map((slot) => ({ p: { S: 'r0/1-0' }, s: { S: `00000${slot}` } }));
    const left = { UnprocessedItems: { clicks: [{ DeleteRequest: { Key: keys[1] } }] } };
    const good = scripted(ok({ Items: keys }), ok(left), ok());
    await good.ports.changelog.remove(ring);
    expect(good.asked.map(({ action }) => action)).toEqual(['Query', 'BatchWriteItem', 'BatchWriteItem']);
    expect(good.asked[2]?.body).toEqual({ RequestItems: { clicks: [{ DeleteRequest: { Key: keys[1] } }] } });
    const nothing = scripted(ok({ Items: [keys[1]] }), ok(left));
    await expect(nothing.ports.changelog.remove(ring)).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    const part = scripted(ok({ Items: keys }), ok(left), ok(left));
    await expect(part.ports.changelog.remove(ring)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  });
});

describe('an object', () => {
  const stored = { status: 200, body: '', headers: { etag: '"1"' } };

  test('that is there already exists, and one whose put raced with a delete is put again by whoever asks again', async () => {
    const { ports } = scripted(xmlError(412, 'PreconditionFailed'), xmlError(409, 'ConditionalRequestConflict'), stored);
    const put = (): Promise<unknown> => ports.objects.putIfAbsent('a', new Uint8Array(1));
    expect(await put()).toBe('exists');
    await expect(put()).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    expect(await put()).toBe('stored');
  });

  test('that is not there is none, and one that may not be read is an error', async () => {
    const { ports } = scripted(xmlError(404, 'NoSuchKey'), xmlError(403, 'AccessDenied'));
    expect(await ports.objects.get('a')).toBeUndefined();
    await expect(ports.objects.get('a')).rejects.toMatchObject({ code: 'STORE_FORBIDDEN' });
  });
});

describe('the exchange', () => {
  const message = (group: string, id: string): OutgoingMessage => ({ group, id, bytes: new Uint8Array(1) });
  const failed = (Id: string, Code: string): unknown => ({ Id, Code, SenderFault: false, Message: 'said' });
  const idsOf = (body: Readonly<Record<string, unknown>>): readonly unknown[] =>
    (body.Entries as readonly { readonly MessageDeduplicationId?: string }[]).map((e) => e.MessageDeduplicationId);

  const body = 'AA=='; // of the one byte

  test('leaves a message of which nothing was said', async () => {
    const { ports, asked } = scripted(taken(['1'], body), ok());
    await expect(ports.exchange.send([message('1-0', 'a'), message('1-1', 'b')])).resolves.toEqual({ left: [0] });
    expect(asked).toHaveLength(1);
  });

  test('sends one message of a group in a request, and nothing of a group behind one that failed', async () => {
    const { ports, asked } = scripted(taken(['2'], body, { Failed: [failed('0', 'InternalError')] }), taken(['3'], body));
    const sent = await ports.exchange.send([message('1-0', 'a'), message('1-0', 'b'), message('1-1', 'c'), message('1-1', 'd')]);
    expect(sent).toEqual({ left: [0, 1] });
    expect(asked.map(({ body }) => idsOf(body))).toEqual([['a', 'c'], ['d']]);
  });

  test('leaves what was throttled after a part was sent, and is throttled only when nothing was', async () => {
    const throttled = jsonError('sqs', 'RequestThrottled', { query: 'RequestThrottled' });
    const messages = [message('1-0', 'a'), message('2-0', 'b'), message('1-0', 'c')];
    const part = scripted(taken(['0'], body), throttled, taken(['2'], body));
    expect(await part.ports.exchange.send(messages)).toEqual({ left: [1] });
    const nothing = scripted(throttled);
    await expect(nothing.ports.exchange.send(messages)).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    const lost = scripted(taken(['0'], body), jsonError('sqs', 'InternalError', { status: 500 }));
    await expect(lost.ports.exchange.send(messages)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  });

  test.each([
    ['KMS.AccessDeniedException', 'STORE_FORBIDDEN'],
    ['InvalidMessageContents', 'STORE_REQUEST_INVALID'],
  ])('does not leave a message that never goes: %s', async (code, told) => {
    const { ports } = scripted(ok({ Failed: [failed('0', code)] }));
    await expect(ports.exchange.send([message('1-0', 'a')])).rejects.toMatchObject({ code: told });
  });

  test('settles what it can; an old receipt does nothing, and anything else that was not taken out is an error', async () => {
    const old = scripted(ok({ Failed: [failed('0', 'ReceiptHandleIsInvalid'), failed('1', 'InvalidParameterValue')] }));
    await old.ports.exchange.settle(['1 a', '1 b', '1 c']);
    const none = scripted(ok({ Failed: [failed('0', 'RequestThrottled')] }));
    await expect(none.ports.exchange.settle(['1 a'])).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
    const some = scripted(ok({ Failed: [failed('0', 'RequestThrottled')] }));
    await expect(some.ports.exchange.settle(['1 a', '1 b'])).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
    const later = scripted(ok(), jsonError('sqs', 'RequestThrottled', { query: 'RequestThrottled' }));
    await expect(later.ports.exchange.settle(['1 a', '2 b'])).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  });

  test('has no queue of a stage that the deployment does not know', async () => {
    const { ports } = scripted();
    await expect(ports.exchange.send([message('7-0', 'a')])).rejects.toMatchObject({ code: 'SUBTASK_UNKNOWN' });
  });
});
