// coordinator.ts drives the checkpoints of one attempt. It decides nothing: it gathers facts, asks `decide/`, and carries the answer out.
//   K1  Barriers go out in order of numbers, and only when the number is durable.
//   K2  Completions are in order of numbers; completing n gives up everything pending below n. `_metadata` first, then the sinks are told.
//   K3  What is over stays over: late acknowledgements, stored state and failures of a checkpoint that ended change nothing.
//   K4  No port failure escapes: it becomes a failed checkpoint, which the job tolerates or not, or is tried again.
//   K5  After `end` or `abandon` has resolved, nothing of this attempt touches the directory.

import type { CheckpointSettings } from '../api/options.ts';
import { isSluiceError, SluiceError } from '../core/errors.ts';
import type { Announcement } from './announcements.ts';
import { Confirmations } from './confirmations.ts';
import { type CoordinatorMemory, type CoordinatorOptions, type SubtaskName, settingsWhenOff } from './coordinator-options.ts';
import { decideCompletion } from './decide/completion.ts';
import { type AbortReason, decideFailure } from './decide/failure.ts';
import { decideRetention, type JobEnd } from './decide/retention.ts';
import { retryDelayMs } from './decide/retry.ts';
import { decideTimeout, patienceMs } from './decide/timeout.ts';
import { decideTrigger } from './decide/trigger.ts';
import type { CheckpointTrigger, SubtaskHandle } from './handles.ts';
import type { SubtaskSnapshot } from './snapshot.ts';

export type { CoordinatorEvent, CoordinatorMemory, CoordinatorOptions, Participants, SubtaskName } from './coordinator-options.ts';

interface Pending {
  readonly checkpoint: number;
  readonly trigger: CheckpointTrigger;
  readonly begunMs: number;
  readonly patienceMs: number;
  readonly acknowledged: Map<string, SubtaskHandle>;
  /** `news` when the barrier went out. */
  news: number;
  phase: 'beginning' | 'collecting' | 'completing';
  /** Why it was given up. */
  givenUp: string | undefined;
}

const nameOf = (s: SubtaskName): string => `${s.stage}/${s.subtask}`;

export class CheckpointCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #settings: Omit<CheckpointSettings, 'intervalMs'>;
  readonly #memory: CoordinatorMemory;
  readonly #expected: readonly string[];
  readonly #confirmations: Confirmations;
  readonly #pending: Map<number, Pending> = new Map();
  /** Work on the storage that has to be over before the attempt is. */
  readonly #background: Set<Promise<void>> = new Set();
  #chain: Promise<void> = Promise.resolve();
  #lastBegunMs: number;
  #lastEndedMs: number | undefined;
  #lastCompleted = 0;
  #newsCompleted = -1;
  #failuresInARow = 0;
  #phase: 'running' | 'finishing' | 'over' = 'running';
  /** When to ask again for the last checkpoint. */
  #finishAgainMs: number | undefined;
  #finish: { readonly resolve: (checkpoint: number) => void; readonly reject: (error: unknown) => void } | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#settings = options.settings ?? settingsWhenOff;
    this.#memory = options.memory ?? { expiredInARow: 0 };
    this.#expected = options.participants.subtasks.map(nameOf);
    this.#lastBegunMs = options.clock.now();
    this.#confirmations = new Confirmations({
      clock: options.clock,
      notifyCompleted: (n) => options.participants.notifyCompleted(n),
      onFailure: (n, error, retryMs) =>
        this.#notice(`a sink could not yet make checkpoint ${n} visible and tries again in ${retryMs} ms: ${textOf(error)}`),
    });
  }

  /** The last complete checkpoint of this attempt. */
  get lastCompleted(): number | undefined {
    return this.#lastCompleted === 0 ? undefined : this.#lastCompleted;
  }

  /** Something of a checkpoint is under way. */
  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#background.size > 0;
  }

  /** Starts and aborts what is due. @returns ms until it wants to be called again; `undefined`: only after something else happened */
  tick(): number | undefined {
    if (this.#phase === 'over') return undefined;
    const nowMs = this.#options.clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const p of [...this.#pending.values()]) {
      if (p.phase === 'completing' || p.givenUp !== undefined) continue;
      const timeout = decideTimeout({ nowMs, ...p });
      if (timeout.kind === 'wait') nextMs = Math.min(nextMs, timeout.ms);
      else this.#fail(p, 'expired', new Error(`it was not complete after ${p.patienceMs} ms`));
    }
    if (this.#finishAgainMs !== undefined) {
      if (this.#finishAgainMs <= nowMs) this.#begin('end-of-input');
      else nextMs = Math.min(nextMs, this.#finishAgainMs - nowMs);
    }
    const trigger = decideTrigger({
      nowMs,
      intervalMs: this.#options.settings?.intervalMs,
      minPauseMs: this.#settings.minPauseMs,
      maxConcurrent: this.#settings.maxConcurrent,
      lastBegunMs: this.#lastBegunMs,
      lastEndedMs: this.#lastEndedMs,
      pending: this.#pending.size,
      hasNews: this.#news() !== this.#newsCompleted,
      isEnding: this.#isEnding(),
    });
    if (trigger.kind === 'begin') {
      const p = this.#begin('interval');
      nextMs = Math.min(nextMs, p.patienceMs, this.#options.settings!.intervalMs);
    } else if (trigger.ms !== undefined) nextMs = Math.min(nextMs, trigger.ms);
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  }

  /** Stores what a subtask contributes and acknowledges it; a failure declines it. Never rejects. */
  async store(checkpoint: number, snapshot: SubtaskSnapshot): Promise<void> {
    try {
      this.acknowledge(checkpoint, await this.#options.storage.storeSubtask(checkpoint, snapshot));
    } catch (e) {
      this.decline(checkpoint, snapshot, e);
    }
  }

  /** Notes transactions before they are prepared. Rejects when they could not be noted: then they must not be prepared. */
  announce(checkpoint: number, note: Announcement): Promise<void> {
    return this.#options.storage.announce(checkpoint, note);
  }

  /** Ignored when the checkpoint is over or the subtask has acknowledged before. */
  acknowledge(checkpoint: number, handle: SubtaskHandle): void {
    const p = this.#pending.get(checkpoint);
    if (p === undefined || p.phase !== 'collecting' || p.givenUp !== undefined) return;
    if (!p.acknowledged.has(nameOf(handle))) p.acknowledged.set(nameOf(handle), handle);
    const decision = this.#completion(p);
    if (decision.kind === 'complete') {
      p.phase = 'completing';
      this.#inOrder(() => this.#complete(p));
    }
  }

  /** A subtask cannot take part: the checkpoint fails. Ignored when it is over. */
  decline(checkpoint: number, subtask: SubtaskName, error: unknown): void {
    const p = this.#pending.get(checkpoint);
    if (p === undefined || p.givenUp !== undefined || p.phase === 'completing') return;
    this.#fail(p, 'declined', error, subtask);
  }

  /**
   * The one last checkpoint, outside interval, pause and limit, when the input has ended. Asked for again when it fails and that is
   * tolerated.
   * @returns its number, once every sink has confirmed it. Rejects when the job is to fail, or is cancelled meanwhile.
   */
  finish(): Promise<number> {
    if (this.#phase === 'over') return Promise.reject(this.#stopped());
    this.#phase = 'finishing';
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#finish = { resolve, reject };
    this.#begin('end-of-input');
    return promise;
  }

  /** The job was cancelled: gives up what is pending and applies the retention. */
  cancel(): Promise<void> {
    return this.end('cancelled');
  }

  /** The job has ended so. Gives up what is pending, waits for what is under way, and applies the retention. Never rejects. */
  async end(how: JobEnd): Promise<void> {
    await this.abandon();
    const { storage } = this.#options;
    try {
      const completed = await storage.completed();
      const { externalizedCleanup: cleanup, numRetained } = this.#settings;
      const isNewestConfirmed = this.#confirmations.isIdle;
      const kept = decideRetention({ end: how, cleanup, completed, numRetained, isNewestConfirmed });
      if (kept.why === 'unconfirmed') {
        this.#notice(
          `checkpoint ${kept.checkpoints[0]} is kept although the job was ${how}: a sink has not made its output visible yet; run the job with --from latest to do so`,
        );
      }
      await storage.retain(kept.checkpoints);
    } catch (e) {
      this.#notice(`checkpoints of the ${how} job could not be cleaned up: ${textOf(e)}`);
    }
  }

  /** The attempt is over and another may follow: gives up what is pending and waits until nothing of it touches the directory. Never rejects. */
  async abandon(): Promise<void> {
    this.#phase = 'over';
    this.#finish?.reject(this.#stopped());
    this.#finish = undefined;
    for (const p of this.#pending.values()) if (p.phase !== 'completing') this.#giveUp(p, 'stopped', 'the job was stopped');
    await this.#confirmations.stop(); // first: the last checkpoint may be waiting for a sink that never confirms
    await this.#quiet();
    await this.#confirmations.stop(); // what completed meanwhile
  }

  #stopped(): SluiceError {
    return new SluiceError('JOB_STOPPED', {
      message: 'the job was stopped before its last checkpoint was complete',
      next: 'try-again',
      job: this.#options.job,
    });
  }

  async #quiet(): Promise<void> {
    while (this.#background.size > 0) await Promise.allSettled(this.#background);
  }

  #begin(trigger: CheckpointTrigger): Pending {
    const begunMs = this.#options.clock.now();
    const p: Pending = {
      checkpoint: this.#options.storage.nextNumber(),
      trigger,
      begunMs,
      patienceMs: patienceMs(this.#settings.timeoutMs, this.#memory.expiredInARow),
      acknowledged: new Map(),
      news: -1,
      phase: 'beginning',
      givenUp: undefined,
    };
    this.#lastBegunMs = begunMs;
    if (trigger === 'end-of-input') this.#finishAgainMs = undefined;
    this.#pending.set(p.checkpoint, p);
    this.#inOrder(async () => {
      if (p.givenUp !== undefined) return;
      try {
        await this.#options.storage.begin(p.checkpoint);
      } catch (e) {
        this.#fail(p, isSluiceError(e) && e.code === 'OWNER_LOST' ? 'owner-lost' : 'not-begun', e);
        return;
      }
      if (p.givenUp !== undefined) return;
      p.phase = 'collecting';
      p.news = this.#news();
      this.#options.participants.injectBarrier(p.checkpoint, trigger);
      this.#options.wake?.();
    });
    return p;
  }

  /** In the order of calls, one at a time: beginnings and completions never overtake one another (K1, K2). */
  #inOrder(work: () => Promise<void>): void {
    this.#chain = this.#chain.then(work).catch((cause: unknown) => {
      this.#failAttempt(
        new SluiceError('CHECKPOINT_FAILED', {
          message: `the coordinator met an error it did not expect: ${textOf(cause)}`,
          next: 'report-a-bug',
          cause,
        }),
      );
    });
    this.#track(this.#chain);
  }

  #track(work: Promise<void>): void {
    this.#background.add(work);
    void work.finally(() => this.#background.delete(work));
  }

  async #complete(p: Pending): Promise<void> {
    const { storage, clock, onEvent, planHash, operators } = this.#options;
    const decision = this.#completion(p);
    if (decision.kind !== 'complete') {
      this.#giveUp(p, 'subsumed', 'a later checkpoint completed before it');
      return;
    }
    const durationMs = Math.max(0, clock.now() - p.begunMs);
    const isFinished = p.trigger === 'end-of-input';
    let bytes: number;
    try {
      const info = { timestamp: p.begunMs, trigger: p.trigger, durationMs, mode: this.#settings.mode, planHash, isFinished, operators };
      bytes = (await storage.complete(p.checkpoint, decision.handles, info)).bytes;
    } catch (e) {
      this.#fail(p, 'not-completed', e);
      return;
    }
    this.#pending.delete(p.checkpoint);
    this.#lastCompleted = p.checkpoint;
    this.#lastEndedMs = clock.now();
    this.#newsCompleted = p.news;
    this.#failuresInARow = 0;
    this.#memory.expiredInARow = 0;
    for (const lower of [...this.#pending.values()]) {
      if (lower.checkpoint < p.checkpoint) this.#giveUp(lower, 'subsumed', `checkpoint ${p.checkpoint} completed before it`);
    }
    onEvent({ kind: 'checkpoint-completed', checkpoint: p.checkpoint, durationMs, bytes });
    this.#confirmations.add(p.checkpoint);
    if (isFinished) this.#track(this.#confirmFinish(p.checkpoint));
    await this.#cleanUp(() => storage.subsume(this.#settings.numRetained));
    this.#options.wake?.();
  }

  async #confirmFinish(checkpoint: number): Promise<void> {
    await this.#confirmations.settled();
    if (this.#confirmations.isIdle) this.#finish?.resolve(checkpoint);
    this.#options.wake?.();
  }

  #completion(p: Pending): ReturnType<typeof decideCompletion<SubtaskHandle>> {
    return decideCompletion({ ...p, lastCompleted: this.#lastCompleted, expected: this.#expected });
  }

  /** A checkpoint has failed: it is given up, and the job goes by its tolerance. */
  #fail(p: Pending, reason: AbortReason, error: unknown, subtask?: SubtaskName): void {
    if (p.givenUp !== undefined) return;
    const text = textOf(error);
    if (reason === 'expired') this.#memory.expiredInARow++;
    this.#giveUp(p, reason, text);
    if (this.#phase === 'over') return;
    const outcome = decideFailure({ reason, failuresInARow: this.#failuresInARow, tolerable: this.#settings.tolerableFailures });
    if (outcome.kind === 'ignored') return;
    this.#failuresInARow = outcome.failuresInARow;
    if (outcome.kind === 'tolerated') {
      if (p.trigger === 'end-of-input') this.#finishAgainMs = this.#options.clock.now() + retryDelayMs(outcome.failuresInARow);
      return;
    }
    const failure = new SluiceError(isSluiceError(error) ? error.code : 'CHECKPOINT_FAILED', {
      ...(isSluiceError(error) ? error.details : {}),
      message: `checkpoint ${p.checkpoint} failed (${outcome.failuresInARow} in a row, ${this.#settings.tolerableFailures} are tolerated): ${text}`,
      next: isSluiceError(error) ? error.next : 'try-again',
      cause: error,
      job: this.#options.job,
      checkpoint: p.checkpoint,
      ...subtask,
    });
    this.#failAttempt(failure);
  }

  #failAttempt(error: SluiceError): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#finish?.reject(error);
    this.#finish = undefined;
    this.#options.failJob(error);
  }

  /** Ends a checkpoint without completing it; everyone is told, and nothing of it is left on disk (in the background). */
  #giveUp(p: Pending, reason: AbortReason, text: string): void {
    if (p.givenUp !== undefined) return;
    p.givenUp = text;
    this.#pending.delete(p.checkpoint);
    this.#lastEndedMs = this.#options.clock.now();
    this.#options.participants.notifyAborted(p.checkpoint);
    if (reason !== 'stopped') this.#options.onEvent({ kind: 'checkpoint-failed', checkpoint: p.checkpoint, reason: text });
    this.#track(this.#cleanUp(() => this.#options.storage.discard(p.checkpoint)));
  }

  /** Cleaning up may fail: what is left goes with the next sweep, or at the next start. */
  async #cleanUp(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (e) {
      this.#notice(`files of old checkpoints could not be removed yet: ${textOf(e)}`);
    }
  }

  #isEnding(): boolean {
    return this.#phase !== 'running';
  }

  #news(): number {
    return this.#options.participants.news?.() ?? Number.NaN;
  }

  #notice(message: string): void {
    this.#options.onEvent({ kind: 'notice', message });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
