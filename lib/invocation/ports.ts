// What the invocation runtime asks of the outside. Every method is one request to a service that may answer late, twice or not at all, so each
// guarantee says what holds whatever the caller saw.
//   P1  A rejection with `STORE_THROTTLED` means that nothing happened. Any other rejection means that it may have happened, now or later.
//   P2  Reads are strong, each by itself: two reads are two moments.
//   P3  Conditions are the only fence. No port has leases, sessions or clocks that correctness could rest on.
//   P4  Bytes that are handed to a port stay as they are until it has answered. Bytes of an answer are the caller's own.
//   P5  A request outside the bounds of request-limits.ts is rejected with `STORE_REQUEST_INVALID`, and nothing of it happens.

/** The log of one subtask in one generation of its job. */
export interface RingAddress {
  readonly generation: number;
  readonly subtask: string;
}

/** An entry as the changelog stores it: what it means is entry-codec.ts. */
export interface StoredEntry {
  readonly n: number;
  /** Unique for each try to append; tells a writer whose reply was lost that the entry is its own. */
  readonly writer: string;
  readonly bytes: Uint8Array;
}

export type PutOutcome =
  | { readonly kind: 'stored' }
  /** The slot does not hold what was expected. `held` is what it holds. */
  | { readonly kind: 'conflict'; readonly held: { readonly n: number; readonly writer: string } | undefined };

/**
 * The rings of one job. A ring is a fixed number of slots; which entry belongs into which slot, and when a slot may be used again, is ring.ts.
 *
 * Guarantees: of several `put`s that expect the same content of a slot at most one is stored. What `get` and `readPage` give was stored at
 * some moment between request and reply.
 */
export interface Changelog {
  /** @param p.expects  number of the entry that the slot holds, or that it holds none */
  put(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
  }): Promise<PutOutcome>;
  /** A `put` in one transaction with the check that the job item's `change` is the one given. `refused`: it says something else by now. */
  putDuring(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
    readonly change: string;
  }): Promise<PutOutcome | { readonly kind: 'refused' }>;
  get(p: { readonly ring: RingAddress; readonly slot: number }): Promise<StoredEntry | undefined>;
  /**
   * Entries of the slots from `from` to `to` (both included), in order of slot, empty ones left out; a page is about 1 MB.
   * @returns `next`: where the next page begins, `undefined` when this was the last
   */
  readPage(p: {
    readonly ring: RingAddress;
    readonly from: number;
    readonly to: number;
  }): Promise<{ readonly entries: readonly StoredEntry[]; readonly next: number | undefined }>;
  /**
   * Puts the first entry of a ring, in one transaction with the check that the job item's `change` is the one given.
   * `exists`: that slot holds an entry already. `refused`: the job item says something else by now, or there is none; said first when both hold.
   */
  create(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly change: string;
  }): Promise<'created' | 'exists' | 'refused'>;
  /** Puts the entry whatever the slot holds: closed stubs over the slots of a ring that nobody needs. */
  overwrite(p: { readonly ring: RingAddress; readonly slot: number; readonly entry: StoredEntry }): Promise<void>;
  /** Removes all slots of a ring. Only when no writer of its generation can live any more. */
  remove(ring: RingAddress): Promise<void>;
}

export interface ItemAddress {
  readonly partition: string;
  readonly sort: string;
}

/** An item of the state table. `tags` names the versions inside `bytes` in a canonical text; see versions.ts. */
export interface StateItem {
  readonly address: ItemAddress;
  readonly tags: string;
  readonly bytes: Uint8Array;
}

export interface StatePut extends StateItem {
  /** Tags that the stored item has. */
  readonly expects: string | 'absent';
  /** The store may remove the item after this time (ms since the epoch); absent: never. */
  readonly expiresAtMs?: number | undefined;
}

/**
 * Versioned items. Guarantees: a put is stored only while the item has the tags that were expected; each item of a call stands for itself, and
 * a call may do any part of its work.
 */
export interface StateTable {
  /** At most `readManyMax` addresses. `left`: not looked at, ask again. Items that do not exist are in neither list; no order. */
  readMany(addresses: readonly ItemAddress[]): Promise<{ readonly items: readonly StateItem[]; readonly left: readonly ItemAddress[] }>;
  /** Items of a partition in order of `sort` (by its UTF-8 bytes), from the first one above `after`; a page is about 1 MB. */
  readPartition(p: {
    readonly partition: string;
    readonly after: string | undefined;
  }): Promise<{ readonly items: readonly StateItem[]; readonly next: string | undefined }>;
  /** At most `putManyMax` puts of different addresses; one outcome each, in order. `left`: not tried. */
  putMany(puts: readonly StatePut[]): Promise<readonly ('stored' | 'conflict' | 'left')[]>;
}

export const readManyMax = 100;
export const putManyMax = 25;

export interface JobItemContent {
  readonly bytes: Uint8Array;
  /** Names the change under way (restore, change of owners), which `Changelog.create` checks; empty when there is none. */
  readonly change: string;
}

export interface StoredJobItem extends JobItemContent {
  readonly name: string;
  /** Raised by every put. */
  readonly revision: number;
}

/**
 * Small items of one job: the job item itself (`job`), acknowledgements, markers. Guarantee: a put that expects a revision is stored only
 * while the item has it; revisions of a name are never used twice, also not after `remove`.
 */
export interface JobItems {
  get(name: string): Promise<StoredJobItem | undefined>;
  /** @param p.expects  revision of the stored item; `absent`: there is none; `any`: no condition */
  put(p: {
    readonly name: string;
    readonly content: JobItemContent;
    readonly expects: number | 'absent' | 'any';
  }): Promise<{ readonly kind: 'stored'; readonly revision: number } | { readonly kind: 'conflict' }>;
  /** Every item whose name begins with `prefix`, in order of name. */
  list(prefix: string): Promise<readonly StoredJobItem[]>;
  /** @param p.expects  as in `put`; `conflict` when there is another or none */
  remove(p: { readonly name: string; readonly expects: number | 'any' }): Promise<'removed' | 'conflict'>;
}

/** Bytes under names. Guarantee: a name gets its bytes once and keeps them until it is removed. */
export interface ObjectStore {
  putIfAbsent(name: string, bytes: Uint8Array): Promise<'stored' | 'exists'>;
  get(name: string): Promise<Uint8Array | undefined>;
  remove(name: string): Promise<void>;
  /** Names that begin with `prefix`, in order. For clean-up and tools; nothing on the way of a record lists. */
  list(prefix: string): Promise<readonly string[]>;
}

export interface OutgoingMessage {
  /** Target subtask. Messages of one group arrive in the order in which they were accepted. */
  readonly group: string;
  /** Two messages of one id within the queue's memory (minutes) are one message. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

export interface Delivery {
  readonly group: string;
  readonly bytes: Uint8Array;
  /** Stands for this delivery, not for the message: after a redelivery the old receipt may do nothing. */
  readonly receipt: string;
  /** How often the message has been handed out, this time included. */
  readonly receives: number;
}

/**
 * The queue between stages. Guarantees: at least once; a message in flight keeps the later ones of its group back, but not for ever (it comes
 * again when its time is over, and then two receivers hold it).
 */
export interface Exchange {
  /** At most `sendMax` messages. `left`: indexes of those that were not accepted; messages of one group are accepted in order or not at all. */
  send(messages: readonly OutgoingMessage[]): Promise<{ readonly left: readonly number[] }>;
  /** Oldest first in each group, at most `max`; may mix groups. */
  receive(p: { readonly max: number }): Promise<readonly Delivery[]>;
  /** Takes messages out for good. A receipt that is too old may do nothing. */
  settle(receipts: readonly string[]): Promise<void>;
  /** Hands the messages out again after `delayMs`, which a queue may round up to whole seconds. */
  release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): Promise<void>;
}

export const sendMax = 10;
/** Bytes of one `send`, all messages together. A queue counts text, so that a third more is left for base64 within 1 MiB. */
export const sendBytesMax: number = 720 * 1024;

/** Everything that one job's subtasks and its coordinator ask of the outside. */
export interface InvocationPorts {
  readonly changelog: Changelog;
  readonly table: StateTable;
  readonly items: JobItems;
  readonly objects: ObjectStore;
  readonly exchange: Exchange;
}
