// The event time of a subtask: the minimum over its input channels.
//   W1  It never goes back.
//   W2  An idle channel is left out until it speaks again; an ended one for ever. When every channel is idle, it stays where it is.

import { finalWatermark, noWatermark } from '../core/batch.ts';

/** What one channel contributes. */
export interface ChannelTime {
  watermark: number;
  isIdle: boolean;
  hasEnded: boolean;
}

export class WatermarkValve {
  #channels: ChannelTime[];
  #current: number;

  constructor(channels: number) {
    this.#channels = Array.from({ length: channels }, () => ({ watermark: noWatermark, isIdle: false, hasEnded: false }));
    this.#current = noWatermark;
  }

  /**
   * A valve over channels that are kept elsewhere: it reads and changes the caller's own array and items, so channels that are added count at once.
   * @param current  the watermark that it stands at
   */
  static over(channels: ChannelTime[], current: number): WatermarkValve {
    const valve = new WatermarkValve(0);
    valve.#channels = channels;
    valve.#current = current;
    return valve;
  }

  get current(): number {
    return this.#current;
  }

  /** @returns the new watermark of the subtask, if it advanced */
  watermark(channel: number, timestamp: number): number | undefined {
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
    return this.#channels.every((time) => time.isIdle || isOver(time)) && this.#channels.some((time) => !isOver(time));
  }

  #at(channel: number): ChannelTime {
    return this.#channels[channel] as ChannelTime;
  }

  #advance(): number | undefined {
    let minimum = Number.POSITIVE_INFINITY;
    let haveAllEnded = true;
    for (const time of this.#channels) {
      if (isOver(time)) continue;
      haveAllEnded = false;
      if (!time.isIdle && time.watermark < minimum) minimum = time.watermark;
    }
    if (haveAllEnded) minimum = finalWatermark;
    if (minimum === Number.POSITIVE_INFINITY || minimum <= this.#current) return undefined;
    this.#current = minimum;
    return minimum;
  }
}

/** The final watermark counts as the end; else that of one input would end event time for the others while they are idle, and what they say later would be late. */
function isOver(time: ChannelTime): boolean {
  return time.hasEnded || time.watermark === finalWatermark;
}
