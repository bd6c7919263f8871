// What the auditors read, decoded once for each run of bytes: they are asked at every durable change, about things that hardly one of these changes
// has touched. What a service keeps is never written to (service-change.ts), so that the same bytes say the same for ever.

import type { EntryHead } from '../../lib/invocation/entry.ts';
import { bodyObjectOf, decodeHead, isClosedStub, unpackHead } from '../../lib/invocation/entry-codec.ts';
import type { JobItem, SubtaskHandle } from '../../lib/invocation/job-item.ts';
import { decodeHandle, decodeHandles, decodeJobItem } from '../../lib/invocation/job-item-codec.ts';
import { decodeMessage } from '../../lib/invocation/message-codec.ts';
import { decodeItem, type Version } from '../../lib/invocation/versions.ts';

/** The head of a stored entry. */
export const headOfEntry: (bytes: Uint8Array) => EntryHead = once(unpackHead);
export const bodyObject: (bytes: Uint8Array) => string | undefined = once(bodyObjectOf);
export const isStub: (bytes: Uint8Array) => boolean = once(isClosedStub);
export const jobItemOf: (bytes: Uint8Array) => JobItem = once(decodeJobItem);
export const handleOf: (bytes: Uint8Array) => SubtaskHandle = once(decodeHandle);
export const handlesOf: (bytes: Uint8Array) => readonly SubtaskHandle[] = once(decodeHandles);
export const messageOf: (bytes: Uint8Array) => ReturnType<typeof decodeMessage> = once(decodeMessage);
/** The versions of a stored item of the state table. */
export const versionsOf: (bytes: Uint8Array) => readonly Version[] = once(decodeItem);

const headOf = once(decodeHead);

export function headOfHandle(handle: SubtaskHandle): EntryHead {
  return headOf(handle.head);
}

function once<T>(decode: (bytes: Uint8Array) => T): (bytes: Uint8Array) => T {
  const known = new WeakMap<Uint8Array, { readonly value: T }>();
  return (bytes) => {
    const held = known.get(bytes);
    if (held !== undefined) return held.value;
    const value = decode(bytes);
    known.set(bytes, { value });
    return value;
  };
}
