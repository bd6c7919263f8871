// The inputs of a subtask as one sequence: channels take turns, and those that wait for a barrier are passed over.

import type { StreamElement } from '../../core/batch.ts';
import type { Alignment } from '../../runtime/alignment.ts';
import type { Channel } from './channel.ts';

export class InputGate {
  readonly channels: readonly Channel[];
  readonly #alignment: Alignment;
  #turn = 0;

  constructor(channels: readonly Channel[], alignment: Alignment) {
    this.channels = channels;
    this.#alignment = alignment;
  }

  get hasElement(): boolean {
    return this.#next() !== undefined;
  }

  take(): { readonly channel: number; readonly element: StreamElement } | undefined {
    const channel = this.#next();
    if (channel === undefined) return undefined;
    this.#turn = (channel + 1) % this.channels.length;
    return { channel, element: (this.channels[channel] as Channel).shift() };
  }

  #next(): number | undefined {
    const { length } = this.channels;
    for (let i = 0; i < length; i++) {
      const channel = (this.#turn + i) % length;
      if (!(this.channels[channel] as Channel).isEmpty && !this.#alignment.isBlocked(channel)) return channel;
    }
    return undefined;
  }
}
