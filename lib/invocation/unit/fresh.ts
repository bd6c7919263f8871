// What each run of a unit is given. User functions may change the records that they are given, and what an abandoned run did to them must be nothing to
// the next one, so that one is given records that were decoded anew. A run that is not followed by another costs nothing for it,
// but in a replay, whose source is not asked again: its records are encoded before (replay.ts).

import type { ChannelMessage } from '../message.ts';
import { decodeMessage } from '../message-codec.ts';

/**
 * @param again  the same, decoded anew; absent: it cannot be
 * @returns to be called by each run
 */
export function givenToRuns<T>(first: T, again: (() => T) | undefined): () => T {
  let isUsed = false;
  return () => {
    if (isUsed && again !== undefined) return again();
    isUsed = true;
    return first;
  };
}

/** A message in memory, and what it was decoded from; without that, nothing of it is ever run. */
export interface DecodedMessage {
  readonly message: ChannelMessage;
  readonly raw?: Uint8Array | undefined;
}

export function decodedAnew<M extends DecodedMessage>(messages: readonly M[]): readonly M[] {
  return messages.map((one) => (one.raw === undefined ? one : { ...one, message: decodeMessage(one.raw) as ChannelMessage }));
}
