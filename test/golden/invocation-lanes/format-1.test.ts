import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeHead, unpackEntry } from '../../../lib/invocation/entry-codec.ts';
import { decodeGroup } from '../../../lib/invocation/lane/group-state.ts';
import { decodeReplay, decodeSegment, decodeUnit } from '../../../lib/invocation/lane/kept-format.ts';
import { objectsOf } from '../../unit/invocation/support/objects.ts';
import * as stored from './stored.ts';

const frozen = (name: string): Uint8Array => Uint8Array.from(readFileSync(join(import.meta.dirname, 'format-1', name)));
const written = stored.written();

test.each(Object.keys(written))('what is written today as %s is what format 1 has always been', (name) => {
  expect(written[name]).toEqual(frozen(name));
  expect(written[name]![0]).toBe(1);
});

const readers: readonly (readonly [name: string, read: (bytes: Uint8Array) => unknown, value: unknown])[] = [
  ['unit', decodeUnit, stored.unit],
  ['redrive', decodeUnit, stored.redrive],
  ['segment', decodeSegment, stored.segment],
  ['segment-first', decodeSegment, stored.firstSegment],
  ['replay', decodeReplay, stored.replay],
  ['group', decodeGroup, stored.group],
  ['group-tried', decodeGroup, stored.triedGroup],
  ['head', decodeHead, stored.head],
  ['head-empty', decodeHead, stored.emptyLane],
  ['entry', (b) => unpackEntry(b, objectsOf({})), { head: stored.head, body: stored.body }],
];

test.each(readers)('%s of format 1 is read as it was written', async (name, read, value) => {
  expect(await read(frozen(name))).toEqual(value);
});

test.each(readers)('%s of a newer format is refused by name, one that is cut off is damaged', async (name, read) => {
  const newer = frozen(name);
  newer[0] = name.startsWith('head') ? 3 : 2;
  const asked = async (bytes: Uint8Array): Promise<unknown> => read(bytes);
  await expect(asked(newer)).rejects.toMatchObject({ code: 'FORMAT_NEWER' });
  await expect(asked(frozen(name).subarray(0, -1))).rejects.toMatchObject({ code: 'DATA_DAMAGED' });
});
