// The checkpoints of one subtask that are under way: requested of a source, being encoded, being stored.
//   Q1  A checkpoint is taken at most once, and never after a higher one.
//   Q2  The subtask acknowledges when state, positions and sink promises are all stored; a failure of any of them declines it.
//   Q3  A failed `prepare` fails the attempt: the sink may have lost rows that no later checkpoint would promise.

import type { OperatorSnapshot, SubtaskSnapshot } from '../../checkpoint/snapshot.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { HostSnapshot } from '../../runtime/host-snapshot.ts';
import type { SinkDriver } from './sink-driver.ts';

export type CheckpointEnd = { readonly kind: 'declined'; readonly reason: string; readonly error?: unknown };

/** State entries encoded between two batches: a few ms. Larger steps leave fewer entries to be captured by writes that overtake the walk. */
const entriesPerStep = 16_384;

interface CheckpointServices {
  readonly now: () => number;
  readonly wake: () => void;
  readonly store: (checkpoint: number, snapshot: SubtaskSnapshot) => Promise<void>;
  readonly announce: (checkpoint: number, sink: string, transactions: readonly Uint8Array[]) => Promise<void>;
  readonly checkpointEnded: (checkpoint: number, end: CheckpointEnd) => void;
  readonly isSnapshotAsynchronous: boolean;
  /** How many of so many state entries to encode now; all of them when absent. */
  readonly slice?: ((entries: number) => number) | undefined;
}

interface Running {
  readonly checkpoint: number;
  readonly snapshot: HostSnapshot;
  sinks: Map<string, NonNullable<OperatorSnapshot['sink']>> | undefined;
  isEncoded: boolean;
}

export class SubtaskCheckpoints {
  readonly #host: OperatorHost;
  readonly #sinks: ReadonlyMap<number, SinkDriver>;
  readonly #services: CheckpointServices;
  readonly #requested: number[] = [];
  #running: Running[] = [];
  #lastTaken = 0;

  constructor(host: OperatorHost, sinks: ReadonlyMap<number, SinkDriver>, services: CheckpointServices) {
    this.#host = host;
    this.#sinks = sinks;
    this.#services = services;
  }

  get isRequested(): boolean {
    return this.#requested.length > 0;
  }

  /** Something can be encoded. */
  get hasWork(): boolean {
    return this.#running.some((running) => !running.isEncoded);
  }

  request(checkpoint: number): void {
    this.#requested.push(checkpoint);
  }

  takeRequested(): number | undefined {
    return this.#requested.shift();
  }

  abort(checkpoint: number): void {
    const requested = this.#requested.indexOf(checkpoint);
    if (requested >= 0) this.#requested.splice(requested, 1);
    for (const running of this.#running) if (running.checkpoint === checkpoint) running.snapshot.cancel();
    this.#running = this.#running.filter((running) => running.checkpoint !== checkpoint);
  }

  /** Takes the snapshot now. @returns a promise while the subtask has to wait (its sinks prepare), else `undefined` */
  take(checkpoint: number): Promise<void> | undefined {
    if (checkpoint <= this.#lastTaken) return undefined;
    this.#lastTaken = checkpoint;
    this.#requested.splice(0, this.#requested.length, ...this.#requested.filter((requested) => requested > checkpoint));
    const snapshot = this.#snapshot(checkpoint);
    if (snapshot === undefined) return undefined;
    const running: Running = { checkpoint, snapshot, sinks: this.#sinks.size === 0 ? new Map() : undefined, isEncoded: false };
    this.#running.push(running);
    if (!this.#services.isSnapshotAsynchronous) running.isEncoded = snapshot.advance(Number.MAX_SAFE_INTEGER);
    if (running.sinks !== undefined) {
      this.#storeWhenReady(running);
      return undefined;
    }
    return this.#prepareSinks(running);
  }

  /** A function that cannot give its state costs the checkpoint, not the attempt. */
  #snapshot(checkpoint: number): HostSnapshot | undefined {
    try {
      return this.#host.snapshot({ checkpointId: checkpoint, timestamp: this.#services.now() });
    } catch (error) {
      this.#services.checkpointEnded(checkpoint, { kind: 'declined', reason: 'its state could not be taken', error });
      return undefined;
    }
  }

  /** Encodes a slice of each snapshot under way. */
  advance(): void {
    for (const running of this.#running) {
      if (running.isEncoded) continue;
      running.isEncoded = running.snapshot.advance(this.#services.slice?.(entriesPerStep) ?? entriesPerStep);
      this.#storeWhenReady(running);
    }
  }

  async #prepareSinks(running: Running): Promise<void> {
    const prepared = new Map<string, NonNullable<OperatorSnapshot['sink']>>();
    for (const sink of this.#sinks.values()) {
      const noted = await sink.prepare(running.checkpoint, (transactions) =>
        this.#services.announce(running.checkpoint, sink.uid, transactions),
      );
      if (noted.kind === 'not-noted') {
        this.#decline(running, noted.error);
        return;
      }
      prepared.set(sink.uid, noted.promise);
    }
    running.sinks = prepared;
    this.#storeWhenReady(running);
  }

  #storeWhenReady(running: Running): void {
    const { checkpoint, sinks, snapshot } = running;
    if (!running.isEncoded || sinks === undefined || !this.#running.includes(running)) return;
    this.#running = this.#running.filter((other) => other !== running);
    this.#services.store(checkpoint, snapshot.finish(sinks)).then(this.#services.wake, (error: unknown) => {
      this.#services.checkpointEnded(checkpoint, { kind: 'declined', reason: 'its state could not be stored', error });
    });
  }

  #decline({ checkpoint }: Running, error: unknown): void {
    this.abort(checkpoint);
    this.#services.checkpointEnded(checkpoint, { kind: 'declined', reason: 'its transactions could not be noted', error });
  }
}
