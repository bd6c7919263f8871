import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RecordBatch } from '../../../lib/core/batch.ts';
import { bodyObjectOf, decodeHead, encodeHead, isClosedStub, unpackEntry, unpackHead } from '../../../lib/invocation/entry-codec.ts';
import { decodeHandle, decodeHandles, decodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import { decodeMessage } from '../../../lib/invocation/message-codec.ts';
import { decodeRows } from '../../../lib/invocation/rows-codec.ts';
import { decodeItem } from '../../../lib/invocation/versions.ts';
import { objectsOf } from '../../unit/invocation/support/objects.ts';
import * as stored from './stored.ts';

const frozen = (name: string, format = 1): Uint8Array => Uint8Array.from(readFileSync(join(import.meta.dirname, `format-${format}`, name)));
const written = stored.written();

/** A batch with its origins as texts and nothing from `count` on. */
function told(batch: RecordBatch): unknown {
  const origins = batch.origins === undefined ? undefined : Array.from({ length: batch.count }, (_, i) => batch.origins!.at(i));
  return { ...batch, values: batch.values.slice(0, batch.count), origins };
}

const none = objectsOf({});

/** How each file is read. */
const readers: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  entry: (b) => unpackEntry(b, none),
  'entry-bare': (b) => unpackEntry(b, none),
  'entry-deflated': (b) => unpackEntry(b, none),
  'entry-outside': (b) => unpackEntry(b, objectsOf({ [stored.largeObject]: frozen('entry-outside-body') })),
  'entry-outside-body': (b) => unpackEntry(frozen('entry-outside'), objectsOf({ [stored.largeObject]: b })),
  head: decodeHead,
  'head-added': decodeHead,
  'state-item': decodeItem,
  message: decodeMessage,
  'message-joint': decodeMessage,
  claim: decodeMessage,
  rows: decodeRows,
  handle: decodeHandle,
  metadata: decodeHandles,
  'job-item': decodeJobItem,
  'job-item-ranges': decodeJobItem,
  'job-item-places': decodeJobItem,
  'job-item-begins': decodeJobItem,
};
const read = async (name: string, bytes: Uint8Array): Promise<unknown> => await readers[name]!(bytes);

test.each(Object.keys(written))('what is written today as %s is what format 1 has always been', (name) => {
  expect(written[name]).toEqual(frozen(name));
  expect(written[name]![0]).toBe(1);
});

describe('what format 1 holds is read as it was written', () => {
  test.each([
    ['entry', stored.entry],
    ['entry-bare', { head: stored.bareHead, body: { delta: { writes: [], timers: [] }, messages: [], rows: [] } }],
    ['entry-deflated', stored.repetitive],
    ['entry-outside', stored.large],
    ['head', stored.head],
    ['head-added', stored.addedHead],
    ['state-item', stored.versions],
    ['message-joint', stored.jointMessage],
    ['claim', stored.claim],
    ['handle', stored.handle],
    ['metadata', stored.handles],
    ['job-item', stored.jobItem],
    ['job-item-ranges', stored.rangedJobItem],
    ['job-item-places', stored.placedJobItem],
    ['job-item-begins', stored.begunJobItem],
  ])('%s', async (name, value) => {
    expect(await read(name, frozen(name))).toEqual(value);
  });

  test('rows and message, with the causes of their records', () => {
    expect(told(decodeRows(frozen('rows')))).toEqual(told(stored.batch));
    const { elements, ...names } = decodeMessage(frozen('message')) as typeof stored.message;
    const toldOf = (list: typeof elements): unknown[] => list.map((e) => (e.kind === 'records' ? told(e.batch) : e));
    expect(names).toEqual({ generation: 2, exchange: 1, sender: '0-3', target: '1-0', sequence: 813 });
    expect(toldOf(elements)).toEqual(toldOf(stored.message.elements));
  });

  test('the head without the body, the name of the body’s object, and a stub', () => {
    expect(unpackHead(frozen('entry'))).toEqual(stored.head);
    expect(bodyObjectOf(frozen('entry-outside'))).toBe(stored.largeObject);
    expect(isClosedStub(frozen('stub'))).toBe(true);
    expect(isClosedStub(frozen('entry'))).toBe(false);
  });
});

test('a head whose operator state is in parts has format 2, and is what it has always been', () => {
  const bytes = encodeHead(stored.headInParts);
  expect(bytes[0]).toBe(2);
  expect(bytes).toEqual(frozen('head', 2));
  expect(decodeHead(frozen('head', 2))).toEqual(stored.headInParts);
});

describe('a later format is refused by name', () => {
  test.each(Object.keys(readers))('%s', async (name) => {
    const later = frozen(name);
    const newest = name.startsWith('head') ? 2 : 1;
    later[0] = newest + 1;
    await expect(read(name, later)).rejects.toMatchObject({ code: 'FORMAT_NEWER', details: { found: newest + 1, newest } });
  });

  test('the error says what the bytes are', async () => {
    const later = (name: string): Uint8Array => Uint8Array.from([9, ...frozen(name).subarray(1)]);
    expect(() => isClosedStub(later('stub'))).toThrow(/^entry has format 9/);
    await expect(read('state-item', later('state-item'))).rejects.toThrow(/^state item has format 9/);
    await expect(read('job-item', later('job-item'))).rejects.toThrow(/^job item has format 9/);
    await expect(read('entry-outside-body', later('entry-outside-body'))).rejects.toThrow(/^body of an entry has format 9/);
  });
});

describe('damaged bytes are refused', () => {
  test.each(Object.keys(readers))('%s, cut short, lengthened, of format 0 and empty', async (name) => {
    const bytes = frozen(name);
    const damaged = { code: 'DATA_DAMAGED' };
    await expect(read(name, bytes.subarray(0, -1))).rejects.toMatchObject(damaged);
    await expect(read(name, bytes.subarray(0, bytes.length >> 1))).rejects.toMatchObject(damaged);
    await expect(read(name, Uint8Array.from([...bytes, 0]))).rejects.toMatchObject(damaged);
    await expect(read(name, Uint8Array.from([0, ...bytes.subarray(1)]))).rejects.toMatchObject(damaged);
    await expect(read(name, new Uint8Array())).rejects.toMatchObject(damaged);
  });
});
