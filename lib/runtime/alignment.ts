// When a subtask has a checkpoint's barrier on all its inputs. Under alignment a channel whose barrier has arrived waits; without, records go on.
//   A1  Barriers arrive in number order on each channel, so at most one alignment is open.
//   A2  A higher barrier on any channel ends the alignment of a lower one: that checkpoint can no longer be taken here.
//   A3  An ended channel counts as having every later barrier.

export type BarrierOutcome =
  /** The barrier was noted; the channel waits when aligned. */
  | { readonly kind: 'waiting' }
  /** All inputs have it: take the snapshot, then let every channel go on. */
  | { readonly kind: 'complete'; readonly checkpoint: number }
  /** It belongs to a checkpoint that was given up. */
  | { readonly kind: 'stale' };

export class Alignment {
  readonly #channels: number;
  readonly #isAligned: boolean;
  readonly #arrived = new Set<number>();
  readonly #ended = new Set<number>();
  /** Checkpoint being aligned, 0 when none. */
  #open = 0;
  /** Highest checkpoint completed or given up here. */
  #passed = 0;

  constructor(channels: number, isAligned: boolean) {
    this.#channels = channels;
    this.#isAligned = isAligned;
  }

  /** Records of this channel wait for the barrier of another. */
  isBlocked(channel: number): boolean {
    return this.#isAligned && this.#open > 0 && this.#arrived.has(channel);
  }

  get open(): number {
    return this.#open;
  }

  /** @returns what to do, and the lower checkpoint whose alignment this barrier ended, if any */
  barrier(channel: number, checkpoint: number): { readonly outcome: BarrierOutcome; readonly gaveUp: number | undefined } {
    if (checkpoint <= this.#passed || checkpoint < this.#open) return { outcome: { kind: 'stale' }, gaveUp: undefined };
    const gaveUp = this.#open > 0 && this.#open < checkpoint ? this.#giveUp() : undefined;
    this.#open = checkpoint;
    this.#arrived.add(channel);
    return { outcome: this.#outcome(), gaveUp };
  }

  end(channel: number): BarrierOutcome {
    this.#ended.add(channel);
    return this.#open > 0 ? this.#outcome() : { kind: 'waiting' };
  }

  /** The coordinator gave the checkpoint up: whatever waits for its barrier goes on. */
  abort(checkpoint: number): void {
    if (this.#open > 0 && this.#open <= checkpoint) this.#giveUp();
    if (checkpoint > this.#passed) this.#passed = checkpoint;
  }

  #giveUp(): number {
    const given = this.#open;
    this.#passed = given;
    this.#open = 0;
    this.#arrived.clear();
    return given;
  }

  #outcome(): BarrierOutcome {
    for (let channel = 0; channel < this.#channels; channel++) {
      if (!this.#arrived.has(channel) && !this.#ended.has(channel)) return { kind: 'waiting' };
    }
    return { kind: 'complete', checkpoint: this.#giveUp() };
  }
}
