// What travels from one subtask to another. A channel is (generation, exchange, sender → target); its messages are numbered from 1.

import type { StreamElement } from '../core/batch.ts';

export interface ChannelMessage {
  readonly generation: number;
  readonly exchange: number;
  readonly sender: string;
  readonly target: string;
  readonly sequence: number;
  /** In order. A barrier is alone in its message; after `end` nothing follows. */
  readonly elements: readonly ChannelElement[];
}

export type ChannelElement =
  | StreamElement
  /** The sender is no more: these send from here on in its place. `parents`: all that they follow, where these are several, the sender included. */
  | { readonly kind: 'successors'; readonly senders: readonly string[]; readonly parents?: readonly string[] | undefined };
