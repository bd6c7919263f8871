// Gets past a message that came before the one it follows. A shard cannot be told to give another record first: what is refused comes again in the same
// order, for ever, so what is missing has to be found further behind.
//   A1  Messages of a channel are taken by their numbers, and one channel after the other: what the first of one follows may be the last of another.
//   A2  What lies behind the event is taken early, and dropped as a repeat when its own event comes.
//   A3  A gap stays one where what is missing is found nowhere: nothing is ever passed over.

import { decodeMessage } from '../invocation/message-codec.ts';

export interface Waiting {
  readonly bytes: Uint8Array;
  /** Its number in the shard; `undefined`: it lies behind the event. */
  readonly number: string | undefined;
}

export interface GapOptions {
  /** Messages of one subtask that are not committed, all read already. */
  readonly waiting: readonly Waiting[];
  readonly ahead: () => Promise<readonly Uint8Array[]>;
  /** @returns how many of these, from the first, are committed */
  readonly take: (messages: readonly Uint8Array[]) => Promise<number>;
}

/** @returns what of `waiting` is not committed all the same */
export async function takeAroundGap({ waiting, ahead, take }: GapOptions): Promise<readonly Waiting[]> {
  const left = await takeByChannel(waiting, take);
  if (!left.some(isOfEvent)) return [];
  const behind = (await ahead()).map((bytes): Waiting => ({ bytes, number: undefined }));
  return (behind.length === 0 ? left : await takeByChannel([...left, ...behind], take)).filter(isOfEvent);
}

function isOfEvent({ number }: Waiting): boolean {
  return number !== undefined;
}

async function takeByChannel(waiting: readonly Waiting[], take: GapOptions['take']): Promise<readonly Waiting[]> {
  const named = waiting.map((one) => ({ one, name: decodeMessage(one.bytes) }));
  const channels = [...Map.groupBy(named, ({ name }) => `${name.exchange} ${name.sender}`).values()].map((own) =>
    own.toSorted((a, b) => a.name.generation - b.name.generation || a.name.sequence - b.name.sequence).map(({ one }) => one),
  );
  for (let hasMoved = true; hasMoved; ) {
    hasMoved = false;
    for (const channel of channels) {
      if (channel.length === 0) continue;
      const count = await take(channel.map(({ bytes }) => bytes));
      channel.splice(0, count);
      hasMoved ||= count > 0;
    }
  }
  return channels.flat();
}
