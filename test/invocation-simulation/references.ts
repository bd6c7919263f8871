// Who refers to a stored object or to a ring. Asked when one goes, so it may take its time.

import type { EntryHead, PendingTransaction } from '../../lib/invocation/entry.ts';
import type { JobItem, SubtaskHandle } from '../../lib/invocation/job-item.ts';
import type { StoredEntry } from '../../lib/invocation/ports.ts';
import type { FakeService } from '../../lib/testing/index.ts';
import { bodyObject, handlesOf, headOfEntry, headOfHandle, isStub, versionsOf } from './decoded.ts';

export class References {
  readonly #service: FakeService;
  /** Whether rows have become visible, or never will. */
  readonly #isSettled: (t: PendingTransaction) => boolean;
  /** Generations in which the job was cancelled: it goes on from a retained checkpoint, if ever, and never from their changelogs. */
  readonly #cancelled = new Set<number>();

  constructor(service: FakeService, isSettled: (t: PendingTransaction) => boolean) {
    this.#service = service;
    this.#isSettled = isSettled;
  }

  /** The job item has changed. */
  learn({ status, generation }: JobItem): void {
    if (status === 'cancelled') this.#cancelled.add(generation);
  }

  /** @returns who refers to the object that is just gone; `undefined`: nobody that counts */
  to(object: string, item: JobItem): string | undefined {
    for (const c of item.completed) {
      if (c.metadata === object) return `checkpoint ${c.checkpoint}`;
      for (const handle of this.#handlesOf(c.metadata)) {
        if (this.#objectsOfSnapshot(headOfHandle(handle)).includes(object)) return `checkpoint ${c.checkpoint}, ${handle.subtask}`;
        if (this.#bodiesOf(handle).includes(object)) return `an entry of checkpoint ${c.checkpoint}, ${handle.subtask}`;
      }
    }
    for (const { subtask } of this.#livingOwners(item)) {
      const entries = this.#entries(item.generation, subtask);
      const newest = entries.at(-1);
      if (newest === undefined) continue;
      const head = headOfEntry(newest.bytes);
      if (this.#objectsOfHead(head).includes(object)) return `the newest entry of ${subtask}`;
      for (const e of entries) if (e.n > head.flushedThrough && bodyObject(e.bytes) === object) return `entry ${e.n} of ${subtask}`;
    }
    for (const stored of this.#service.table.items())
      if (versionsOf(stored.bytes).some((v) => v.object === object)) return `item ${stored.address.partition} ${stored.address.sort}`;
    return undefined;
  }

  /** @returns who needs a ring that is just closed or removed */
  toRing(key: string, item: JobItem): string | undefined {
    if (this.#livingOwners(item).some((o) => `${item.generation}/${o.subtask}` === key)) return 'its owner';
    for (const c of item.completed) if (c.owners.some((o) => `${c.generation}/${o.subtask}` === key)) return `checkpoint ${c.checkpoint}`;
    if (item.restoring?.owners.some((o) => `${item.restoring?.generation}/${o.subtask}` === key)) return 'the restore under way';
    return undefined;
  }

  /** What an entry points to and nobody has. */
  missingOf(head: EntryHead, bytes: Uint8Array): string | undefined {
    const body = bodyObject(bytes);
    const named = [...this.#objectsOfHead(head), ...(body === undefined ? [] : [body])];
    return named.find((name) => this.#service.objects.peek(name) === undefined);
  }

  /** What these handles name and nobody has. */
  *missingFor(handles: readonly SubtaskHandle[]): Generator<string> {
    for (const handle of handles) {
      const where = `${handle.generation}/${handle.subtask}`;
      for (const name of this.#objectsOfSnapshot(headOfHandle(handle)))
        if (this.#service.objects.peek(name) === undefined) yield `object ${name}`;
      const entries = this.#entries(handle.generation, handle.subtask);
      const newest = entries.at(-1);
      if (newest === undefined) {
        yield `ring ${where}`;
        continue;
      }
      const flushed = headOfEntry(newest.bytes).flushedThrough;
      for (let n = Math.max(handle.flushedThrough, flushed) + 1; n <= handle.n; n++) {
        const entry = entries.find((e) => e.n === n);
        if (entry === undefined) yield `entry ${n} of ${where}`;
        else {
          const body = bodyObject(entry.bytes);
          if (body !== undefined && this.#service.objects.peek(body) === undefined) yield `object ${body}`;
        }
      }
    }
  }

  #livingOwners({ generation, owners }: JobItem): JobItem['owners'] {
    return this.#cancelled.has(generation) ? [] : owners;
  }

  #handlesOf(metadata: string): readonly SubtaskHandle[] {
    const bytes = this.#service.objects.peek(metadata);
    return bytes === undefined ? [] : handlesOf(bytes);
  }

  #bodiesOf(handle: SubtaskHandle): readonly string[] {
    return this.#entries(handle.generation, handle.subtask)
      .filter((e) => e.n > handle.flushedThrough && e.n <= handle.n)
      .flatMap((e) => bodyObject(e.bytes) ?? []);
  }

  #entries(generation: number, subtask: string): readonly StoredEntry[] {
    return [...this.#service.changelog.slotsOf({ generation, subtask }).values()].filter((e) => !isStub(e.bytes)).sort((a, b) => a.n - b.n);
  }

  #objectsOfHead(head: EntryHead): readonly string[] {
    return [...this.#objectsOfSnapshot(head), ...head.held.flatMap((h) => h.object ?? [])];
  }

  /** What waits behind a barrier is not in its snapshot, and rows of a transaction are needed until it is settled. */
  #objectsOfSnapshot(head: EntryHead): readonly string[] {
    const { operatorState, snapshot, transactions } = head;
    return [
      ...(operatorState?.object === undefined ? [] : [operatorState.object]),
      ...(snapshot === undefined ? [] : [snapshot]),
      ...transactions.filter((t) => !this.#isSettled(t)).map((t) => t.rows),
    ];
  }
}
