// When a subtask has a checkpoint's barrier on all its inputs. Under alignment a channel whose barrier has arrived waits; without, records go on.
//   A1  Barriers arrive in number order on each channel, so at most one alignment is open.
//   A2  A higher barrier on any channel ends the alignment of a lower one: that checkpoint can no longer be taken here. Without alignment
//       several may be awaited at once, and a completed one ends the lower ones.
//   A3  An ended channel counts as having every later barrier.
//   A4  The barriers of a checkpoint that the coordinator gave up are passed over, whether they come before or after it said so.

export type BarrierOutcome =
  /** The barrier was noted; the channel waits when aligned. */
  | { readonly kind: 'waiting' }
  /** All inputs have it: take the snapshot, then let every channel go on. */
  | { readonly kind: 'complete'; readonly checkpoint: number }
  /** It belongs to a checkpoint that was given up. */
  | { readonly kind: 'stale' };

export interface BarrierDecision {
  readonly outcome: BarrierOutcome;
  /** Lower checkpoints that this subtask can no longer take. */
  readonly gaveUp: readonly number[];
}

const stillWaiting: BarrierDecision = { outcome: { kind: 'waiting' }, gaveUp: [] };

export class Alignment {
  readonly #channels: number;
  readonly #isAligned: boolean;
  /** Channels that delivered the barrier, per awaited checkpoint. */
  readonly #awaited = new Map<number, Set<number>>();
  readonly #ended = new Set<number>();
  /** Highest checkpoint completed or given up here. */
  #passed = 0;
  /** Given up by the coordinator, above `#passed`: their barriers may still come, on some channels. */
  readonly #aborted = new Set<number>();

  constructor(channels: number, isAligned: boolean) {
    this.#channels = channels;
    this.#isAligned = isAligned;
  }

  /** Records of this channel wait for the barrier of another. */
  isBlocked(channel: number): boolean {
    if (!this.#isAligned) return false;
    for (const arrived of this.#awaited.values()) if (arrived.has(channel)) return true;
    return false;
  }

  get isOpen(): boolean {
    return this.#awaited.size > 0;
  }

  barrier(channel: number, checkpoint: number): BarrierDecision {
    if (checkpoint <= this.#passed || this.#aborted.has(checkpoint)) return { outcome: { kind: 'stale' }, gaveUp: [] };
    const gaveUp = this.#isAligned ? this.#giveUpBelow(checkpoint) : [];
    const arrived = this.#awaited.get(checkpoint) ?? new Set<number>();
    this.#awaited.set(checkpoint, arrived.add(channel));
    const decision = this.#decide(checkpoint);
    return { outcome: decision.outcome, gaveUp: [...gaveUp, ...decision.gaveUp] };
  }

  /** @returns the awaited checkpoints that this completes, in order; without alignment there may be several */
  end(channel: number): readonly number[] {
    this.#ended.add(channel);
    const awaited = [...this.#awaited.keys()].sort((a, b) => a - b);
    return awaited.filter((checkpoint) => this.#decide(checkpoint).outcome.kind === 'complete');
  }

  /** The coordinator gave the checkpoint up: whatever waits for its barrier goes on. */
  abort(checkpoint: number): void {
    this.#awaited.delete(checkpoint);
    if (checkpoint > this.#passed) this.#aborted.add(checkpoint);
  }

  #decide(checkpoint: number): BarrierDecision {
    const arrived = this.#awaited.get(checkpoint);
    for (let channel = 0; channel < this.#channels; channel++) {
      if (!arrived?.has(channel) && !this.#ended.has(channel)) return stillWaiting;
    }
    const gaveUp = this.#giveUpBelow(checkpoint);
    this.#awaited.delete(checkpoint);
    this.#pass(checkpoint);
    return { outcome: { kind: 'complete', checkpoint }, gaveUp };
  }

  #giveUpBelow(checkpoint: number): number[] {
    const lower = [...this.#awaited.keys()].filter((awaited) => awaited < checkpoint);
    for (const awaited of lower) this.#awaited.delete(awaited);
    this.#pass(Math.max(this.#passed, ...lower));
    return lower;
  }

  #pass(checkpoint: number): void {
    this.#passed = checkpoint;
    for (const aborted of this.#aborted) if (aborted <= checkpoint) this.#aborted.delete(aborted);
  }
}
