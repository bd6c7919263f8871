// Where the value of a version lies: in the item, or, when the item would grow too large, in an object that is named by address and tag.
//   V1  A name stands for one value, so a writer that finds the object there has nothing to do.
//   V2  Objects are stored before the item that points to them.

import { createHash } from 'node:crypto';
import { SluiceError } from '../../core/errors.ts';
import { inlineValueBytesMax } from '../limits.ts';
import type { ItemAddress, ObjectStore } from '../ports.ts';
import type { Version } from '../versions.ts';

/** @throws SluiceError `OBJECT_MISSING` */
export async function storedValueOf(version: Version, objects: ObjectStore): Promise<Uint8Array | undefined> {
  const { object } = version;
  if (object === undefined) return version.value;
  const bytes = await objects.get(object);
  if (bytes !== undefined) return bytes;
  throw new SluiceError('OBJECT_MISSING', {
    message: `a value of keyed state is gone: object ${object} does not exist`,
    next: 'repair-state',
    object,
  });
}

/** The versions with the largest values moved to objects, so that what stays together is not above `inlineValueBytesMax`. */
export async function withLargeOnesOut(
  address: ItemAddress,
  versions: readonly Version[],
  objects: ObjectStore,
): Promise<readonly Version[]> {
  let bytes = versions.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
  if (bytes <= inlineValueBytesMax) return versions;
  const out = new Map<Version, Version>();
  for (const version of [...versions].sort((a, b) => (b.value?.length ?? 0) - (a.value?.length ?? 0))) {
    if (bytes <= inlineValueBytesMax || version.value === undefined) break;
    const object = objectNameOf(address, version);
    await objects.putIfAbsent(object, version.value);
    bytes -= version.value.length;
    out.set(version, { ...version, value: undefined, object });
  }
  return versions.map((version) => out.get(version) ?? version);
}

function objectNameOf({ partition, sort }: ItemAddress, { generation, epoch, n }: Version): string {
  const hash = createHash('sha256').update(`${partition.length}:${partition}${sort}`, 'latin1').digest('hex');
  return `state/${hash}/${generation}.${epoch}.${n}`;
}
