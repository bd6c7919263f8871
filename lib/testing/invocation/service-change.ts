// What observers of the durable world are told. A change has happened when it is told, and nothing else has happened since; what it carries is
// what the service keeps, so nobody may write to it.

import type {
  JobItemContent,
  OutgoingMessage,
  RingAddress,
  StateItem,
  StatePut,
  StoredEntry,
  StoredJobItem,
} from '../../invocation/ports.ts';

/** A message that the queue holds. */
export interface QueuedMessage extends OutgoingMessage {
  /** Order of acceptance in the whole queue; a late duplicate has a number of its own. */
  readonly serial: number;
  /** Not handed out before this time. */
  readonly visibleAtMs: number;
  /** Of the latest delivery; `undefined` before the first. */
  readonly receipt: string | undefined;
  readonly receives: number;
}

export type ServiceChange =
  | {
      readonly kind: 'entry';
      readonly ring: RingAddress;
      readonly slot: number;
      readonly entry: StoredEntry;
      readonly was: StoredEntry | undefined;
      readonly how: 'put' | 'create' | 'overwrite';
    }
  | { readonly kind: 'ring-removed'; readonly ring: RingAddress; readonly was: readonly StoredEntry[] }
  | { readonly kind: 'state-item'; readonly item: StatePut; readonly was: StateItem | undefined }
  | { readonly kind: 'state-item-expired'; readonly was: StateItem }
  | {
      readonly kind: 'item';
      readonly name: string;
      readonly content: JobItemContent;
      readonly revision: number;
      readonly was: StoredJobItem | undefined;
    }
  | { readonly kind: 'item-removed'; readonly name: string; readonly was: StoredJobItem }
  | { readonly kind: 'object'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: 'object-removed'; readonly name: string; readonly was: Uint8Array }
  /** `repeat`: the queue remembers the id, and the message is dropped. */
  | { readonly kind: 'sent'; readonly message: OutgoingMessage; readonly how: 'accepted' | 'repeat' | 'late-duplicate' }
  | { readonly kind: 'received'; readonly message: QueuedMessage }
  | { readonly kind: 'settled'; readonly message: QueuedMessage; readonly how: 'in-time' | 'stale' }
  | { readonly kind: 'released'; readonly message: QueuedMessage };
