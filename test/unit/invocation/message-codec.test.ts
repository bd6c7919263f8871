import { describe, expect, test } from 'vitest';
import type { ChannelMessage } from '../../../lib/invocation/message.ts';
import {
  decodeMessage,
  encodeClaim,
  encodeMessage,
  isClaim,
  type MessageClaim,
  readMessage,
} from '../../../lib/invocation/message-codec.ts';
import { objectsOf } from './support/objects.ts';

const names = { generation: 1, exchange: 0, sender: '0-0', target: '1-2', sequence: 9 };
const message: ChannelMessage = { ...names, elements: [{ kind: 'barrier', checkpoint: 4 }] };
const claim: MessageClaim = { ...names, object: 'message/9' };

test('a message that is a barrier has a dozen bytes or two', () => {
  expect(encodeMessage(message).length).toBeLessThan(24);
});

test('a message without elements is one', () => {
  expect(decodeMessage(encodeMessage({ ...names, elements: [] }))).toEqual({ ...names, elements: [] });
});

test('a large message is deflated', () => {
  const values = Array.from({ length: 2_000 }, (_, i) => ({ name: 'the same for all of them', i }));
  const batch = { values, count: values.length, keys: undefined, timestamps: undefined, origins: undefined };
  const large: ChannelMessage = { ...names, elements: [{ kind: 'records', batch }] };
  const bytes = encodeMessage(large);
  expect(bytes.length).toBeLessThan(20_000);
  expect(decodeMessage(bytes)).toEqual(large);
});

describe('a claim', () => {
  test('tells whose message it is without its object', () => {
    const read = decodeMessage(encodeClaim(claim));
    expect(read).toEqual(claim);
    expect(isClaim(read)).toBe(true);
    expect(isClaim(message)).toBe(false);
  });

  test('is redeemed for the message', async () => {
    const whole = { message, raw: encodeMessage(message) };
    expect(await readMessage(encodeClaim(claim), objectsOf({ 'message/9': encodeMessage(message) }))).toEqual(whole);
    expect(await readMessage(encodeMessage(message), objectsOf({}))).toEqual(whole);
  });

  test('whose object is gone has expired', async () => {
    await expect(readMessage(encodeClaim(claim), objectsOf({}))).rejects.toMatchObject({
      code: 'CLAIM_EXPIRED',
      details: { object: 'message/9', sender: '0-0', target: '1-2', sequence: 9 },
    });
  });

  test.each([
    ['another sequence number', encodeMessage({ ...message, sequence: 10 })],
    ['another generation', encodeMessage({ ...message, generation: 2 })],
    ['another exchange', encodeMessage({ ...message, exchange: 1 })],
    ['another sender', encodeMessage({ ...message, sender: '0-1' })],
    ['another target', encodeMessage({ ...message, target: '1-3' })],
    ['a claim', encodeClaim(claim)],
  ])('is not redeemed for %s', async (_, bytes) => {
    await expect(readMessage(encodeClaim(claim), objectsOf({ 'message/9': bytes }))).rejects.toMatchObject({ code: 'DATA_DAMAGED' });
  });
});
