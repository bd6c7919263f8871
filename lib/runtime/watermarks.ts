// The event time of a subtask: the minimum over its input channels.
//   W1  It never goes back.
//   W2  An idle channel is left out until it speaks again; an ended one for ever. When every channel is idle, it stays where it is.

import { finalWatermark, noWatermark } from '../core/batch.ts';

interface ChannelTime {
  watermark: number;
  isIdle: boolean;
  hasEnded: boolean;
}

export class WatermarkValve {
  readonly #channels: ChannelTime[];
  #current = noWatermark;

  constructor(channels: number) {
    this.#channels = Array.from({ length: channels }, () => ({ watermark: noWatermark, isIdle: false, hasEnded: false }));
  }

  get current(): number {
    return this.#current;
  }

  /** @returns the new watermark of the subtask, if it advanced */
  watermark(channel: number, timestamp: number): number | undefined {
    // Else the end of one input would end event time for the others while they are idle, and what they say later would be late.
    if (timestamp === finalWatermark) return this.end(channel);
    const time = this.#at(channel);
    time.isIdle = false;
    if (timestamp > time.watermark) time.watermark = timestamp;
    return this.#advance();
  }

  /** A record makes an idle channel count again. */
  active(channel: number): void {
    this.#at(channel).isIdle = false;
  }

  idle(channel: number): number | undefined {
    this.#at(channel).isIdle = true;
    return this.#advance();
  }

  end(channel: number): number | undefined {
    this.#at(channel).hasEnded = true;
    return this.#advance();
  }

  /** Whoever could move event time is silent. */
  get isIdle(): boolean {
    return this.#channels.every((time) => time.isIdle || time.hasEnded) && this.#channels.some((time) => !time.hasEnded);
  }

  #at(channel: number): ChannelTime {
    return this.#channels[channel] as ChannelTime;
  }

  #advance(): number | undefined {
    let minimum = Number.POSITIVE_INFINITY;
    let haveAllEnded = true;
    for (const time of this.#channels) {
      if (time.hasEnded) continue;
      haveAllEnded = false;
      if (!time.isIdle && time.watermark < minimum) minimum = time.watermark;
    }
    if (haveAllEnded) minimum = finalWatermark;
    if (minimum === Number.POSITIVE_INFINITY || minimum <= this.#current) return undefined;
    this.#current = minimum;
    return minimum;
  }
}
