// Drives one operator host: takes what its inputs hold, one element a step, and carries out the effects.
//   T1  A step is synchronous. What must be awaited (a sink that needs time, prepare at a barrier) blocks the subtask, not the job.
//   T2  A step begins only when every output has room, so back-pressure reaches the sources.
//   T3  The snapshot of checkpoint n is taken in the step in which n is complete on all inputs; the barrier leaves in the same step.
//       What is encoded and written afterwards goes on beside the records.
//   T4  A finished subtask answers every later checkpoint with the state in which it ended.

import type { SubtaskSnapshot } from '../../checkpoint/snapshot.ts';
import { finalWatermark, type StreamElement } from '../../core/batch.ts';
import type { Alignment } from '../../runtime/alignment.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { SubtaskMetrics } from '../../runtime/metrics.ts';
import type { WatermarkValve } from '../../runtime/watermarks.ts';
import type { Channel } from './channel.ts';
import type { InputGate } from './input-gate.ts';
import type { SinkDriver } from './sink-driver.ts';
import type { SourceDriver } from './source-driver.ts';
import { type CheckpointEnd, SubtaskCheckpoints } from './subtask-checkpoints.ts';

export interface SubtaskServices {
  readonly now: () => number;
  /** Called when the subtask may be able to go on after it was blocked. */
  readonly wake: () => void;
  readonly fail: (error: unknown) => void;
  readonly store: (checkpoint: number, snapshot: SubtaskSnapshot) => Promise<void>;
  readonly announce: (checkpoint: number, sink: string, transactions: readonly Uint8Array[]) => Promise<void>;
  readonly checkpointEnded: (checkpoint: number, end: CheckpointEnd) => void;
  readonly isSnapshotAsynchronous: boolean;
  readonly slice?: (entries: number) => number;
  readonly idleAfterMs: number | undefined;
}

export interface SubtaskParts {
  readonly host: OperatorHost;
  readonly metrics: SubtaskMetrics;
  readonly source: SourceDriver | undefined;
  readonly gate: InputGate;
  readonly alignment: Alignment;
  readonly valve: WatermarkValve;
  /** By outlet, then by target. */
  readonly outputs: readonly ReadonlyMap<number, Channel>[];
  /** By index of the operator in the stage. */
  readonly sinks: ReadonlyMap<number, SinkDriver>;
}

export class Subtask {
  readonly host: OperatorHost;
  readonly metrics: SubtaskMetrics;
  readonly source: SourceDriver | undefined;
  readonly sinks: ReadonlyMap<number, SinkDriver>;
  readonly checkpoints: SubtaskCheckpoints;
  hasFinished = false;
  /** Grows with everything but barriers: without growth a checkpoint would hold nothing new. */
  news = 0;
  readonly #parts: SubtaskParts;
  readonly #services: SubtaskServices;
  #isBlocked = false;
  #waitsForSource = false;
  #endedChannels = 0;
  /** A watermark whose timers are still firing. */
  #pendingWatermark: number | undefined;
  #isEnding = false;
  #isIdle = false;
  /** When the source first had nothing since its last record. Back-pressure does not count: a source that may not hand out is not silent. */
  #silentSince: number | undefined;

  constructor(parts: SubtaskParts, services: SubtaskServices) {
    this.#parts = parts;
    this.#services = services;
    this.host = parts.host;
    this.metrics = parts.metrics;
    this.source = parts.source;
    this.sinks = parts.sinks;
    this.checkpoints = new SubtaskCheckpoints(parts.host, parts.sinks, services);
    this.#pendingWatermark = parts.source?.restoredWatermark();
  }

  get isRunnable(): boolean {
    if (this.#isBlocked) return false;
    if (this.checkpoints.hasWork) return true;
    if (this.hasFinished || !this.#outputsHaveRoom()) return false;
    if (this.#pendingWatermark !== undefined || this.#isEnding || this.#timerIsDue() || this.#idlenessIsDue()) return true;
    if (this.source !== undefined) return !this.#waitsForSource || this.checkpoints.isRequested;
    return this.#parts.gate.hasElement;
  }

  /** The clock time at which the subtask wants to run though nothing arrives, ms. */
  nextWakeAt(): number | undefined {
    // Blocked or without room it is woken by whoever changes that; to wake it for a timer would only spin.
    if (this.hasFinished || this.#isBlocked || !this.#outputsHaveRoom()) return undefined;
    const timer = this.host.nextProcessingTimer();
    const { idleAfterMs } = this.#services;
    const idle = idleAfterMs === undefined || this.#silentSince === undefined || this.#isIdle ? undefined : this.#silentSince + idleAfterMs;
    return timer === undefined ? idle : Math.min(timer, idle ?? timer);
  }

  step(): void {
    this.checkpoints.advance();
    if (this.hasFinished || !this.#outputsHaveRoom()) return;
    if (this.#timerIsDue()) this.#fireProcessingTimers();
    else if (this.#pendingWatermark !== undefined) this.#advanceWatermark(this.#pendingWatermark);
    else if (this.#isEnding) this.#finish();
    else if (this.#idlenessIsDue()) this.#goIdle();
    else if (this.source !== undefined) this.#stepSource(this.source);
    else this.#stepInput();
    this.#carryOut();
  }

  /** The barrier of a checkpoint at a source; taken in its next step, between two batches. */
  injectBarrier(checkpoint: number): void {
    this.checkpoints.request(checkpoint);
    if (this.hasFinished) this.#blockWhile(this.checkpoints.take(checkpoint));
  }

  /** The coordinator gave the checkpoint up. */
  abortCheckpoint(checkpoint: number): void {
    this.#parts.alignment.abort(checkpoint);
    this.checkpoints.abort(checkpoint);
  }

  /** A source that was silent for long enough holds nobody back. */
  #goIdle(): void {
    this.#isIdle = true;
    this.host.broadcast({ kind: 'idle' });
  }

  #idlenessIsDue(): boolean {
    const { idleAfterMs, now } = this.#services;
    return (
      idleAfterMs !== undefined &&
      this.#silentSince !== undefined &&
      this.#waitsForSource &&
      !this.#isIdle &&
      now() >= this.#silentSince + idleAfterMs
    );
  }

  #fireProcessingTimers(): void {
    this.news += 1;
    this.host.fireProcessingTimers(this.#services.now());
  }

  #stepSource(source: SourceDriver): void {
    const requested = this.checkpoints.takeRequested();
    if (requested !== undefined) {
      this.#passBarrier(requested);
      return;
    }
    const reserving = source.reserve();
    if (reserving !== undefined) {
      this.#blockWhile(reserving);
      return;
    }
    const polled = source.poll();
    if (polled.kind === 'ended') {
      this.#pendingWatermark = finalWatermark;
      this.#isEnding = true;
    } else if (polled.kind === 'nothing') {
      this.#awaitSource(source);
    } else {
      if (polled.kind === 'records') {
        this.#isIdle = false;
        this.#silentSince = undefined;
        this.news += 1;
        this.host.process(polled.batch, 0);
      }
      this.#pendingWatermark = polled.watermark;
    }
  }

  #awaitSource(source: SourceDriver): void {
    const ready = source.ready();
    if (ready === undefined) return;
    this.#waitsForSource = true;
    if (this.#services.idleAfterMs !== undefined) this.#silentSince ??= this.#services.now();
    ready.then(
      () => {
        this.#waitsForSource = false;
        this.#services.wake();
      },
      (error: unknown) => this.#services.fail(error),
    );
  }

  #stepInput(): void {
    const taken = this.#parts.gate.take();
    if (taken === undefined) return;
    const { channel, element } = taken;
    switch (element.kind) {
      case 'records':
        this.news += 1;
        this.#parts.valve.active(channel);
        this.host.process(element.batch, (this.#parts.gate.channels[channel] as Channel).input);
        break;
      case 'watermark':
        this.#pendingWatermark = this.#parts.valve.watermark(channel, element.timestamp);
        this.#passIdleness();
        break;
      case 'idle':
        this.#pendingWatermark = this.#parts.valve.idle(channel);
        this.#passIdleness();
        break;
      case 'barrier':
        this.#onBarrier(channel, element);
        break;
      case 'end':
        this.#onEnd(channel);
        break;
    }
  }

  /** Silent inputs make their receivers idle too, also when it was the last input with something to say that ended. */
  #passIdleness(): void {
    if (this.#parts.valve.isIdle) this.host.broadcast({ kind: 'idle' });
  }

  #onBarrier(channel: number, element: StreamElement & { readonly kind: 'barrier' }): void {
    const { outcome, gaveUp } = this.#parts.alignment.barrier(channel, element.checkpoint);
    for (const lower of gaveUp)
      this.#services.checkpointEnded(lower, { kind: 'declined', reason: `the barrier of ${element.checkpoint} overtook it` });
    if (outcome.kind === 'complete') this.#passBarrier(outcome.checkpoint);
  }

  #onEnd(channel: number): void {
    this.#endedChannels += 1;
    for (const checkpoint of this.#parts.alignment.end(channel)) this.#passBarrier(checkpoint);
    this.#pendingWatermark = this.#parts.valve.end(channel);
    this.#passIdleness();
    if (this.#endedChannels === this.#parts.gate.channels.length) this.#isEnding = true;
  }

  #passBarrier(checkpoint: number): void {
    const prepared = this.checkpoints.take(checkpoint);
    this.host.broadcast({ kind: 'barrier', checkpoint });
    this.#blockWhile(prepared);
  }

  #advanceWatermark(timestamp: number): void {
    this.news += 1;
    if (this.host.advanceWatermark(timestamp)) this.#pendingWatermark = undefined;
  }

  #finish(): void {
    this.news += 1;
    this.hasFinished = true;
    this.host.broadcast({ kind: 'end' });
  }

  #carryOut(): void {
    const { emissions, sinkRows } = this.host.takeEffects();
    // Neither may be missing: what has nowhere to go would be lost without a word.
    for (const { outlet, target, element } of emissions) this.#parts.outputs[outlet]!.get(target)!.push(element);
    for (const { operator, rows } of sinkRows) this.#blockWhile(this.#parts.sinks.get(operator)!.write(rows));
  }

  #blockWhile(work: void | Promise<void> | undefined): void {
    if (work === undefined) return;
    this.#isBlocked = true;
    this.#blockers += 1;
    work.then(
      () => {
        this.#blockers -= 1;
        if (this.#blockers > 0) return;
        this.#isBlocked = false;
        this.#services.wake();
      },
      (error: unknown) => this.#services.fail(error),
    );
  }

  #blockers = 0;

  #outputsHaveRoom(): boolean {
    for (const targets of this.#parts.outputs) for (const channel of targets.values()) if (!channel.hasRoom) return false;
    return true;
  }

  #timerIsDue(): boolean {
    const next = this.host.nextProcessingTimer();
    return next !== undefined && next <= this.#services.now();
  }
}
