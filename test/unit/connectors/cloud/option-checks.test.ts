// What is wrong with the options of sinks and backends of services is told when the job is built, with the option and its limit.
import { describe, expect, test } from 'vitest';
import { DynamoDbStateBackend, dynamoDbSink } from '../../../../lib/index.ts';

describe('dynamoDbSink in transactional mode', () => {
  test.each([
    [{ write: 'merge' }, /write: 'merge' is not possible/],
    [{ isKeyed: true }, /isKeyed has no meaning/],
    [{ isKeyed: false }, /isKeyed has no meaning/],
    [{ isDelete: 'gone' }, /isDelete/],
    [{ mode: 'transaction' }, /mode is idempotent or transactional/],
    [{ write: 'replac' }, /write is replace or merge/],
    [{ modes: 'transactional' }, /modes/],
  ] as const)('%j is refused', (o, message) => {
    const make = (): unknown => dynamoDbSink('totals', { key: 'user', mode: 'transactional', ...o } as never);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: expect.stringMatching(/^OPTION_(INVALID|UNKNOWN)$/), next: 'fix-the-job' }));
  });

  test.each([
    [{ user: 7, clicks: 1 }, 'VALUE_NOT_ENCODABLE', /user is the partition key and number; in transactional mode it is a text/],
    [{ clicks: 1 }, 'VALUE_NOT_ENCODABLE', /user is part of the key, and the row does not have it/],
    [{ user: 'a', sluice_next: 1 }, 'VALUE_NOT_ENCODABLE', /sluice_next is the name of an attribute of ours/],
    [{ user: 'a', text: 'x'.repeat(200 * 1_024) }, 'ROW_TOO_LARGE', /may have/],
  ])('a row that its table can never take fails where the job makes it (%#)', (row, code, message) => {
    const sink = dynamoDbSink<object>('totals', { key: 'user', mode: 'transactional' });
    expect(() => sink.check?.(row)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });
});

describe('DynamoDbStateBackend', () => {
  test.each([
    [undefined, /table is missing/],
    [null, /table is missing/],
    [{}, /table is missing/],
    [{ table: '' }, /table is no name/],
    [{ table: 'ab' }, /3 to 255/],
    [{ table: 'a b c' }, /3 to 255/],
    [{ table: 7 }, /table is no name/],
    ['states', /options are an object, not a string/],
    [{ table: 'states', tabel: 'x' }, /tabel/],
  ])('%j is refused', (o, message) => {
    expect(() => new DynamoDbStateBackend(o as never)).toThrow(message);
  });

  test('without a table says what to write', () => {
    expect(() => new DynamoDbStateBackend(undefined as never)).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        next: 'fix-the-job',
        details: expect.objectContaining({ advice: expect.stringMatching(/^write new DynamoDbStateBackend\(\{ table: '/) }),
      }),
    );
  });

  test('takes the name of a table', () => {
    expect(() => new DynamoDbStateBackend({ table: 'my-states.v2' })).not.toThrow();
  });
});
