// The knobs of a fake service. They may be turned while it lives; the defaults make a service that does all that it is asked at once, so that a
// test turns only what it is about.

import type { ServiceChange } from './service-change.ts';

export interface FakeHooks {
  /** ms; the service's own clock: visibility, the queue's memory, expiry. */
  now: () => number;
  /** Bytes after which a page ends, and which a batch of reads gives of one partition. */
  pageBytes: number;
  /** Indexes below `count` that a batch leaves undone. A message that is left takes the later ones of its group with it. */
  leave: (count: number, method: 'table.readMany' | 'table.putMany' | 'exchange.send') => readonly number[];
  /** Order in which a receive looks at the groups that have something for it; the fake has them by when their oldest message became visible. */
  groups: (names: readonly string[]) => readonly string[];
  /** How many of `max` messages a receive hands out at most. */
  handOut: (max: number) => number;
  /** How long a delivery stays in flight, ms. */
  visibilityMs: () => number;
  /** How long the queue remembers the id of a message, ms. */
  dedupMs: number;
  /** Whether messages in flight keep nothing back this time. */
  loose: () => boolean;
  /** Of `count` messages that were ever accepted, the one that turns up once more now; `undefined`: none. Asked once in a receive. */
  lateDuplicate: (count: number) => number | undefined;
  /** Whether a settle by the receipt of an earlier delivery takes the message out all the same. */
  staleReceiptWorks: () => boolean;
}

export const calmHooks: Omit<FakeHooks, 'now'> = {
  pageBytes: 1_048_576,
  leave: () => [],
  groups: (names) => names,
  handOut: (max) => max,
  visibilityMs: () => 30_000,
  dedupMs: 300_000,
  loose: () => false,
  lateDuplicate: () => undefined,
  staleReceiptWorks: () => false,
};

/** What each part of the fake asks of the whole. */
export interface FakeHost {
  readonly hooks: FakeHooks;
  tell(change: ServiceChange): void;
}

export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
