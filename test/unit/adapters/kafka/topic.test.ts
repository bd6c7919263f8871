import { describe, expect, test } from 'vitest';
import { iamToken } from '../../../../lib/adapters/kafka/iam-token.ts';
import { loginOf, tlsOf, userOf } from '../../../../lib/adapters/kafka/login.ts';
import { openTopic } from '../../../../lib/adapters/kafka/open-topic.ts';
import { recordsOf } from '../../../../lib/adapters/kafka/topic.ts';
import { topicError, topicMeanings } from '../../../../lib/adapters/kafka/topic-errors.ts';
import { SluiceError } from '../../../../lib/core/errors.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('records of a page', () => {
  const record = (offsetDelta: number, value: string | null) => ({
    offsetDelta,
    key: bytes('k'),
    value: value === null ? null : bytes(value),
  });
  const batches = [
    { firstOffset: 5n, attributes: 0, lastOffsetDelta: 3, records: [record(0, 'a'), record(2, 'b'), record(3, null)] },
    { firstOffset: 9n, attributes: 0x20, lastOffsetDelta: 0, records: [record(0, 'a mark of a transaction')] },
    { firstOffset: 10n, attributes: 0, lastOffsetDelta: 4, records: [record(1, 'c')] },
  ];
  const told = (from: bigint, max: number) => {
    const { records, next } = recordsOf(batches, from, max);
    return [records.map(({ sequence, data }) => `${sequence} ${data === undefined ? 'gone' : Buffer.from(data).toString()}`), next];
  };

  test('begin at the offset that was asked for, leave out marks, and know where the next page begins', () => {
    expect(told(5n, 10)).toEqual([['5 a', '7 b', '8 gone', '11 c'], 15n]);
    expect(told(6n, 10)).toEqual([['7 b', '8 gone', '11 c'], 15n]);
    expect(told(5n, 2)).toEqual([['5 a', '7 b'], 8n]);
    expect(told(9n, 1)).toEqual([['11 c'], 15n]);
    expect(told(15n, 1)).toEqual([[], 15n]);
  });
});

describe('what an error of a topic means', () => {
  test.each([...topicMeanings])('%s: %s', (name, meaning) => {
    const code = meaning === 'forbidden' ? 'STORE_FORBIDDEN' : 'STORE_MISSING';
    const inner = Object.assign(new Error('as the broker says'), { apiId: name });
    expect(topicError(inner, 'kafka:Fetch of topic clicks')).toMatchObject({ code, message: expect.stringContaining(name) });
    const outer = Object.assign(new Error('Listing offsets failed.'), {
      code: 'PLT_KFK_MULTIPLE',
      errors: [new Error('x', { cause: inner })],
    });
    expect(topicError(outer, 'kafka:Fetch of topic clicks').code).toBe(code);
  });

  test('a topic that the client itself does not find is missing; what else it says of its user is asked again', () => {
    const own = (message: string): unknown => Object.assign(new Error(message), { code: 'PLT_KFK_USER' });
    expect(topicError(own('Unknown topic clicks.'), 'x').code).toBe('STORE_MISSING');
    expect(topicError(own('Client is closed.'), 'x').code).toBe('STORE_UNCERTAIN');
  });

  test('everything else is asked again, and what is ours already stays as it is', () => {
    for (const error of [
      new Error('socket hang up'),
      undefined,
      'text',
      Object.assign(new Error('x'), { apiId: 'NOT_LEADER_OR_FOLLOWER' }),
    ])
      expect(topicError(error, 'x')).toMatchObject({ code: 'STORE_UNCERTAIN', next: 'retry-invocation' });
    const ours = new SluiceError('PACKAGE_MISSING', { message: 'no client', next: 'fix-the-command' });
    expect(topicError(ours, 'x')).toBe(ours);
  });
});

describe('logging in', () => {
  const login = (auth: Parameters<typeof loginOf>[0]) =>
    loginOf(auth, { readSecret: () => Promise.resolve('{"username":"sluice","password":"pw"}'), token: () => Promise.resolve('token') });

  test('each way is what brokers know it as, and all but one are over TLS', async () => {
    const user = { username: 'sluice', password: 'pw' };
    expect(await login('none').sasl()).toBeUndefined();
    expect(await login('tls').sasl()).toBeUndefined();
    expect(await login('scram-512').sasl()).toEqual({ mechanism: 'SCRAM-SHA-512', ...user });
    expect(await login('scram-256').sasl()).toEqual({ mechanism: 'SCRAM-SHA-256', ...user });
    expect(await login('plain').sasl()).toEqual({ mechanism: 'PLAIN', ...user });
    expect(await login('iam').sasl()).toEqual({ mechanism: 'OAUTHBEARER', token: 'token' });
    expect((['none', 'tls', 'scram-512', 'scram-256', 'plain', 'iam'] as const).filter((auth) => tlsOf(auth) === undefined)).toEqual([
      'none',
    ]);
  });

  test('a secret without a user is refused, and not shown', () => {
    for (const secret of ['hunter2', '{"password":"hunter2"}', 'null', '["hunter2"]']) {
      expect(() => userOf(secret)).toThrow(/username and password/);
      expect(() => userOf(secret)).not.toThrow(/hunter2/);
    }
  });

  test('a role is proved by a signed request to connect', () => {
    // The signature is that of the SDK's own signer for the same request.
    const credentials = {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      sessionToken: 'token/with+signs==',
    };
    const url = Buffer.from(iamToken({ region: 'eu-west-1', credentials, nowMs: 1_700_000_000_000 }), 'base64url').toString();
    expect(url).toContain('https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect&');
    expect(url).toContain('&X-Amz-Security-Token=token%2Fwith%2Bsigns%3D%3D&');
    expect(url).toContain('&X-Amz-Signature=90d29894499212dccadd28c05dcc3dac6810f2286197282c844f3447c141e331&');
  });

  test('what the function was not told is named', async () => {
    const o = { variables: {}, clock: { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) } };
    const place = { kind: 'kafka', topic: 'clicks', bootstrap: 'b1:9092' };
    expect(() => openTopic('clicks', { ...place, auth: 'kerberos' }, o)).toThrow(
      /'clicks' \(kafka\) has auth 'kerberos', which is none of none, tls/,
    );
    expect(() => openTopic('clicks', { ...place, topic: '' }, o)).toThrow(/'clicks' \(kafka\) has no topic/);
    await expect(openTopic('clicks', { ...place, auth: 'scram-512' }, o).partitions()).rejects.toThrow(/'clicks' \(kafka\) has no secret/);
    await expect(openTopic('clicks', { ...place, auth: 'iam' }, o).partitions()).rejects.toThrow(/has no AWS_REGION/);
  });
});
