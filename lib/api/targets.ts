// targets.ts is what sources and sinks of services ask of the service behind a name. A connector knows what it wants of it, an adapter how a
// service is asked for that; they meet here, so that a job file loads no client of any service.

import type { ItemTable, RowTable } from './row-table.ts';

/** One shard of a stream. */
export interface StreamShard {
  readonly id: string;
  /** Shards that it goes on from; those that the stream has forgotten too. */
  readonly parents: readonly string[];
  /** The hash keys that it takes, both ends included: whole numbers of 128 bits. */
  readonly hashes: { readonly from: bigint; readonly to: bigint };
  /** It takes no more records. */
  readonly isClosed: boolean;
}

export interface StreamRecord {
  /** Decimal text of up to 129 digits. */
  readonly sequence: string;
  /** `undefined`: a record that is a key alone. */
  readonly data: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
}

export interface StreamPage {
  readonly records: readonly StreamRecord[];
  /** Where the next page begins. `undefined`: the shard is closed, and this was its last one. */
  readonly next: string | undefined;
}

/** A row that is appended to a stream or sent to a queue. */
export interface AppendedRow {
  /** What the row is known by: the same each time it is sent. At most 128 letters, digits and dashes. */
  readonly id: string;
  /** Rows of one key keep their order. */
  readonly key: string;
  readonly body: string;
}

/** What became of a call that sends several rows: those that were not taken, by their place in the call, and why. */
export interface NotTaken {
  readonly at: number;
  readonly reason: string;
  /** Sending it again is of no use. */
  readonly isFinal: boolean;
}

export interface StreamTarget {
  /** Every shard that the stream still knows, those that are closed too. */
  shards(): Promise<readonly StreamShard[]>;
  /** Where reading begins: at the record of a number, itself included; at the oldest record when there is no `at`. */
  begin(shard: string, at: string | undefined): Promise<string>;
  /** @param cursor  what `begin` or a page gave  @returns `expired`: the cursor is too old, and `begin` gives another */
  read(cursor: string, recordsMax: number): Promise<StreamPage | 'expired'>;
  /** @param rows  at most 500 and 10 MiB */
  append(rows: readonly AppendedRow[]): Promise<readonly NotTaken[]>;
}

/** Records of a partition, oldest first; their numbers are its offsets. */
export interface TopicPage {
  readonly records: readonly StreamRecord[];
  /** Offset at which the next page begins. */
  readonly next: bigint;
  /** Of the oldest record that the partition still has. */
  readonly oldest: bigint;
  /** Behind its newest record. */
  readonly end: bigint;
}

export interface TopicTarget {
  /** How many there are; they are numbered from 0. */
  partitions(): Promise<number>;
  /** @param from  offset; `undefined`: the oldest. One that the partition no longer has gives no records, and `oldest` tells. */
  read(partition: number, from: bigint | undefined, recordsMax: number): Promise<TopicPage>;
}

export interface QueueTarget {
  readonly isFifo: boolean;
  /** @param rows  at most 10, and 1 MiB */
  send(rows: readonly AppendedRow[]): Promise<readonly NotTaken[]>;
}

/** One request about an object, as the service answered it. */
export type ObjectAnswer =
  | { readonly kind: 'done' }
  /** It exists already (412). */
  | { readonly kind: 'exists' }
  /** Somebody else's request was under way (409). */
  | { readonly kind: 'conflict' }
  /** There is no such upload: it was completed, aborted, or has expired (404). */
  | { readonly kind: 'no-upload' }
  /** Nobody can tell whether it happened: no answer, or an error within an answer that began well. */
  | { readonly kind: 'unknown'; readonly reason: string };

export interface BucketTarget {
  /** For messages, such as `s3://bucket/prefix/`. */
  readonly name: string;
  /** Puts an object that is not there yet. */
  putAbsent(object: string, bytes: Uint8Array, mark: string): Promise<ObjectAnswer>;
  /** Begins an upload in parts. @returns its id */
  beginUpload(object: string, mark: string): Promise<string>;
  /** @param part  from 1 @returns what `completeUpload` wants to be told of it */
  uploadPart(object: string, upload: string, part: number, bytes: Uint8Array): Promise<string>;
  /** Makes the object of the parts, if it is not there yet. */
  completeUpload(object: string, upload: string, parts: readonly string[]): Promise<ObjectAnswer>;
  abortUpload(object: string, upload: string): Promise<void>;
  /** The mark that an object was made with; `absent` when there is no such object. */
  markOf(object: string): Promise<{ readonly kind: 'absent' } | { readonly kind: 'there'; readonly mark: string | undefined }>;
}

/**
 * The services that the names of a job are bound to.
 *
 * Every method throws `BIND_MISSING` for a name that is bound to nothing, and `BIND_UNFIT` for one that is bound to something else.
 */
export interface Targets {
  table(name: string): RowTable;
  /** The same tables, for sinks that commit. */
  items(name: string): ItemTable;
  stream(name: string): StreamTarget;
  topic(name: string): TopicTarget;
  queue(name: string): QueueTarget;
  bucket(name: string): BucketTarget;
}
