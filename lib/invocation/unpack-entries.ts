// Reading many entries at once. Bodies that lie in the object store are fetched some at a time: one after the other, the tail of a ring that holds
// nothing but large entries would take longer than an invocation may.

import { concurrently } from './coordinator/concurrently.ts';
import type { Entry } from './entry.ts';
import { unpackEntry } from './entry-codec.ts';
import type { ObjectStore, StoredEntry } from './ports.ts';

/** Bodies under way, and in memory, at once. */
const bodiesMax = 32;

/** The entries in order, each as soon as those before it have been given. Errors as `unpackEntry`. */
export async function* unpackEntries(stored: readonly StoredEntry[], objects: ObjectStore): AsyncGenerator<Entry> {
  for (let from = 0; from < stored.length; from += bodiesMax) {
    yield* await concurrently(stored.slice(from, from + bodiesMax), bodiesMax, ({ bytes }) => unpackEntry(bytes, objects));
  }
}
