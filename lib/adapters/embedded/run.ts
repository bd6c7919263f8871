// `runJob` runs a job in this process to its end: attempt after attempt, each restored from the last complete checkpoint.
//   R1  Every attempt has a generation of its own, whose directory it got by renaming the one before: what still runs of that one can do
//       no harm.
//   R2  The restored checkpoint's promises are kept (sinks settled) before the first record.
//   R3  The run ends well only when the last checkpoint is complete and every sink has confirmed it.
//   R4  Before R2 holds no checkpoint is removed and no new line begun, however the run ends: a start that was refused, or that could not be
//       made, changes nothing.

import type { JobSettings } from '../../api/options.ts';
import { ParamValues } from '../../api/params.ts';
import { CheckpointCoordinator, type CoordinatorMemory } from '../../checkpoint/coordinator.ts';
import { decideRestart, noFailures, type RestartHistory } from '../../checkpoint/decide/restart.ts';
import type { JobEnd } from '../../checkpoint/decide/retention.ts';
import type { KeyedStore } from '../../checkpoint/keyed-store.ts';
import { type CheckpointRef, type LoadedCheckpoint, readMetadata, resolveRef } from '../../checkpoint/reading.ts';
import { CheckpointStorage } from '../../checkpoint/storage.ts';
import { isSluiceError } from '../../core/errors.ts';
import { compile } from '../../graph/compile.ts';
import type { Plan } from '../../graph/plan.ts';
import { describe } from '../../operators/describe.ts';
import { Attempt, type AttemptEnd, type AttemptHooks } from './attempt.ts';
import type { Attempt as AttemptDirectory } from './attempt-directory.ts';
import { openAttempt } from './attempt-directory.ts';
import { checkpointRoot } from './checkpoint-directory.ts';
import { openKeyedStore } from './open-keyed-store.ts';
import { checkRestorable, type Preparation, prepareAttempt, settleFinished, startOver } from './prepare-attempt.ts';
import { ProgressMeter } from './progress-meter.ts';
import type { EmbeddedPorts, RunRequest, RunResult } from './run-types.ts';

/**
 * Runs a job until its input ends, it is cancelled, or its restart strategy gives up.
 * @throws SluiceError of what was wrong with the job, its input or its checkpoints, or of the last failure
 */
export async function runJob(ports: EmbeddedPorts, request: RunRequest): Promise<RunResult> {
  const startedMs = ports.clock.now();
  const plan = planOf(request);
  const root = checkpointRoot(plan.job, plan.settings.checkpointsDirectory, request.workingDirectory);
  const keyedStore = await openKeyedStore(ports, plan);
  const ref = request.from === undefined ? undefined : await resolveRef(ports.files, request.from, root);
  const above = await generationElsewhere(ports, ref);
  const directory = await openAttempt(ports.files, root, { owner: request.owner, takeOver: request.takeOver ?? false, above });
  return new JobRun(ports, request, { plan, ref, directory, startedMs, keyedStore }).run();
}

/** Runs that go on from copies of one checkpoint are few, and none may have the generation of another. */
const generationsElsewhere = 100_000_000;

/**
 * Below the generation of a run that restores a checkpoint from elsewhere; 0 where it is this directory's own. Whose it was may have gone on from it, and
 * so may others that were given a copy: what any of them wrote lies with sinks under their generations, of which nothing is known here.
 */
async function generationElsewhere({ files, random }: EmbeddedPorts, ref: CheckpointRef | undefined): Promise<number> {
  if (typeof ref !== 'object' || !('path' in ref)) return 0;
  const { generation } = await readMetadata(files, ref.path);
  return generation + (random.bits() % generationsElsewhere);
}

function planOf(request: RunRequest): Plan {
  const defaults = { ...request.global, forcedParallelism: request.parallelism };
  return compile(describe(request.job, new ParamValues(request.params), defaults));
}

interface Ended {
  readonly end: AttemptEnd;
  readonly attempt?: Attempt;
  /** The checkpoint with which the job had finished before: nothing was run. */
  readonly finishedBefore?: LoadedCheckpoint;
}

interface RunStart {
  readonly plan: Plan;
  readonly ref: CheckpointRef | undefined;
  readonly directory: AttemptDirectory;
  readonly startedMs: number;
  readonly keyedStore: KeyedStore | undefined;
}

class JobRun {
  readonly #ports: EmbeddedPorts;
  readonly #request: RunRequest;
  readonly #plan: Plan;
  readonly #settings: JobSettings;
  readonly #ref: CheckpointRef | undefined;
  readonly #startedMs: number;
  readonly #keyedStore: KeyedStore | undefined;
  readonly #memory: CoordinatorMemory = { expiredInARow: 0 };
  readonly #meter: ProgressMeter;
  /** Of the present attempt. */
  #directory: AttemptDirectory;
  #history: RestartHistory = noFailures;
  #hasStartedOver = false;
  #lastCompleted: number | undefined;
  #coordinator: CheckpointCoordinator | undefined;
  /** The sinks have kept what the checkpoint promises that the present attempt began with. */
  #areSinksSettled = false;

  constructor(ports: EmbeddedPorts, request: RunRequest, start: RunStart) {
    this.#ports = ports;
    this.#request = request;
    this.#plan = start.plan;
    this.#settings = start.plan.settings;
    this.#ref = start.ref;
    this.#directory = start.directory;
    this.#startedMs = start.startedMs;
    this.#keyedStore = start.keyedStore;
    this.#meter = new ProgressMeter(ports.clock, (progress) => request.report({ kind: 'progress', progress }));
  }

  async run(): Promise<RunResult> {
    try {
      for (let isFirst = true; ; isFirst = false) {
        const attemptStartedMs = this.#ports.clock.now();
        const { end, attempt, finishedBefore } = await this.#runAttempt(isFirst);
        if (finishedBefore !== undefined) {
          await this.#end('finished');
          return this.#alreadyFinished(finishedBefore);
        }
        if (end.kind !== 'failed') return await this.#finished(end.kind, attempt);
        const delayMs = await this.#delayAfter(end.error, attemptStartedMs, attempt);
        if (await this.#isCancelledDuring(delayMs)) return await this.#finished('cancelled', attempt);
      }
    } finally {
      this.#keyedStore?.close();
      await this.#directory.release();
    }
  }

  /** Where the next attempt goes on from; `undefined`: it begins a new line. */
  get #from(): CheckpointRef | undefined {
    if (this.#lastCompleted !== undefined) return 'latest';
    // Before the first complete checkpoint of this run the one it was started from is still the place.
    return this.#ref ?? (this.#hasStartedOver ? 'latest' : undefined);
  }

  async #openStorage(): Promise<CheckpointStorage> {
    const { path, generation } = this.#directory;
    const { backend, checkpoints } = this.#settings;
    // Without checkpoints there is only the last one, which nobody asked for: it must not fail the job for the size of its state.
    const isLimited = backend.kind === 'memory' && checkpoints !== undefined;
    const storage = new CheckpointStorage({
      files: this.#ports.files,
      path,
      job: this.#plan.job,
      generation,
      backend: isLimited
        ? { kind: 'memory', stateBytesMax: backend.stateBytesMax }
        : { kind: backend.kind === 'dynamodb' ? backend.kind : 'filesystem' },
      keyedStore: this.#keyedStore,
    });
    await storage.open();
    return storage;
  }

  async #load(storage: CheckpointStorage, ref: CheckpointRef): Promise<LoadedCheckpoint | undefined> {
    const { checkpoint, notices } = await storage.load(ref);
    for (const message of notices) this.#notice(message);
    if (checkpoint === undefined) {
      this.#notice(`${this.#plan.job} has no completed checkpoint yet; it starts from the beginning`);
      return undefined;
    }
    for (const message of checkRestorable(checkpoint, this.#plan, this.#request)) this.#notice(message);
    const number = checkpoint.metadata.checkpoint;
    const undone = await storage.adopt(checkpoint);
    if (undone.length > 0)
      this.#notice(`checkpoints ${undone.join(', ')} are undone by going on from ${number}; what they made visible stays visible`);
    return checkpoint;
  }

  /** Whatever fails on the way to the first record fails the attempt, as it would later. */
  async #runAttempt(isFirst: boolean): Promise<Ended> {
    this.#areSinksSettled = false;
    const attempt = new Attempt(this.#plan, this.#ports);
    try {
      if (!isFirst) this.#directory = await this.#directory.next();
      const from = this.#from;
      const storage = await this.#openStorage();
      const loaded = from === undefined ? undefined : await this.#load(storage, from);
      const coordinator = this.#newCoordinator(attempt, storage);
      this.#coordinator = coordinator;
      const preparation = {
        attempt,
        coordinator,
        storage,
        loaded,
        generation: this.#directory.generation,
        isFromStart: from === undefined,
        ports: this.#ports,
        request: this.#request,
        meter: this.#meter,
        keyedStore: this.#keyedStore,
      };
      if (loaded?.metadata.isFinished === true && from === 'latest') {
        await settleFinished(preparation);
        this.#areSinksSettled = true;
        return { end: { kind: 'ended' }, finishedBefore: loaded };
      }
      return { end: await this.#runPrepared(preparation), attempt };
    } catch (error) {
      return { end: { kind: 'failed', error }, attempt };
    }
  }

  async #runPrepared(preparation: Preparation): Promise<AttemptEnd> {
    const { attempt, coordinator, loaded, isFromStart } = preparation;
    const { generation, path } = this.#directory;
    const restored = loaded?.metadata.checkpoint;
    this.#request.report({ kind: 'started', job: this.#plan.job, generation, restored, directory: path });
    const assembled = await prepareAttempt(preparation);
    this.#areSinksSettled = true;
    attempt.start(assembled);
    this.#meter.watch(assembled.subtasks);
    if (isFromStart) await startOver(preparation);
    this.#hasStartedOver ||= isFromStart;
    const hooks = {
      tick: () => this.#tick(coordinator),
      isCancelled: () => this.#request.cancel?.aborted ?? false,
      isAwaitingIo: () => coordinator.isBusy,
    };
    const stopListening = onAbort(this.#request.cancel, () => attempt.bell.ring());
    try {
      const end = await attempt.run(hooks);
      return end.kind === 'ended' ? await this.#takeLastCheckpoint(coordinator, attempt, hooks) : end;
    } finally {
      stopListening();
    }
  }

  #newCoordinator(attempt: Attempt, storage: CheckpointStorage): CheckpointCoordinator {
    const operators = this.#plan.stages.flatMap((stage) =>
      stage.operators.map(({ uid, name }) => ({ uid, name, parallelism: stage.parallelism, maxParallelism: stage.maxParallelism })),
    );
    return new CheckpointCoordinator({
      clock: this.#ports.clock,
      storage,
      job: this.#plan.job,
      settings: this.#settings.checkpoints,
      planHash: this.#plan.hash,
      operators,
      participants: {
        subtasks: this.#plan.stages.flatMap((stage) =>
          Array.from({ length: stage.parallelism }, (_, subtask) => ({ stage: stage.id, subtask })),
        ),
        injectBarrier: (checkpoint) => attempt.injectBarrier(checkpoint),
        notifyCompleted: (checkpoint) => attempt.completeCheckpoint(checkpoint),
        notifyAborted: (checkpoint) => attempt.abortCheckpoint(checkpoint),
        news: () => attempt.news,
      },
      memory: this.#memory,
      onEvent: (event) => {
        if (event.kind === 'checkpoint-completed') {
          this.#lastCompleted = event.checkpoint;
          this.#meter.lastCheckpoint = event.checkpoint;
        }
        this.#request.report(event);
      },
      failJob: (error) => attempt.fail(error),
      wake: () => attempt.bell.ring(),
    });
  }

  #tick(coordinator: CheckpointCoordinator): number | undefined {
    const next = coordinator.tick();
    return Math.min(next ?? Number.POSITIVE_INFINITY, this.#meter.tick());
  }

  /** The subtasks have ended, but their last snapshots are still to be encoded and stored, and the sinks to confirm. */
  async #takeLastCheckpoint(coordinator: CheckpointCoordinator, attempt: Attempt, hooks: AttemptHooks): Promise<AttemptEnd> {
    let isOver = false;
    const finished = coordinator.finish().finally(() => {
      isOver = true;
      attempt.bell.ring();
    });
    finished.catch(() => {});
    const end = await attempt.run({ ...hooks, isOver: () => isOver });
    if (end.kind === 'ended') await finished;
    return end;
  }

  async #finished(kind: 'ended' | 'cancelled', attempt: Attempt | undefined): Promise<RunResult> {
    const isCancelled = kind === 'cancelled';
    await this.#end(isCancelled ? 'cancelled' : 'finished');
    if (isCancelled) await attempt?.discard();
    else await attempt?.close();
    return {
      state: isCancelled ? 'cancelled' : 'finished',
      ...this.#meter.totals(),
      seconds: (this.#ports.clock.now() - this.#startedMs) / 1000,
      lastCheckpoint: this.#lastCompleted,
      accumulators: attempt?.accumulators() ?? {},
      counters: this.#meter.counters(),
    };
  }

  #alreadyFinished(loaded: LoadedCheckpoint): RunResult {
    const { checkpoint } = loaded.metadata;
    this.#notice(`${this.#plan.job} had finished with checkpoint ${checkpoint}; nothing is run`);
    return {
      state: 'already-finished',
      recordsIn: 0,
      recordsOut: 0,
      seconds: 0,
      lastCheckpoint: checkpoint,
      accumulators: {},
      counters: {},
    };
  }

  /** @returns ms until the next attempt. @throws the failure when there is none */
  async #delayAfter(error: unknown, startedMs: number, attempt: Attempt | undefined): Promise<number> {
    // First: a checkpoint that completed now would promise rows which the sinks are about to discard.
    await this.#coordinator?.abandon();
    await attempt?.discard();
    const decision = decideRestart({
      strategy: this.#settings.restart,
      history: this.#history,
      nowMs: this.#ports.clock.now(),
      startedMs,
      isFatal: isFatal(error),
      bits: this.#ports.random.bits(),
    });
    if (decision.kind === 'fail') {
      await this.#end('failed');
      throw error;
    }
    this.#history = decision.history;
    this.#request.report({ kind: 'restarting', attempt: decision.history.restarts, delayMs: decision.delayMs, error });
    return decision.delayMs;
  }

  async #isCancelledDuring(delayMs: number): Promise<boolean> {
    const { cancel } = this.#request;
    if (cancel?.aborted === true) return true;
    const sleep = this.#ports.clock.sleep(delayMs);
    const stopListening = onAbort(cancel, sleep.cancel);
    await sleep.done;
    stopListening();
    return cancel?.aborted ?? false;
  }

  /** What becomes of the checkpoints of a job that has ended so (R4). */
  async #end(how: JobEnd): Promise<void> {
    if (this.#areSinksSettled) await this.#coordinator?.end(how);
    else await this.#coordinator?.abandon();
  }

  #notice(message: string): void {
    this.#request.report({ kind: 'notice', message });
  }
}

/** Errors that a restart would meet again before the first record. */
const fatalCodes: ReadonlySet<string> = new Set([
  'BIND_UNFIT',
  'INPUT_NOT_FOUND',
  'OUTPUT_NOT_WRITABLE',
  'CHECKPOINT_NOT_FOUND',
  'CHECKPOINT_DAMAGED',
  'CHECKPOINT_OF_ANOTHER_JOB',
  'MAX_PARALLELISM_CHANGED',
  'STATE_WITHOUT_OPERATOR',
  'STATE_INCOMPATIBLE',
  'STATE_KIND_CHANGED',
  'FORMAT_NEWER',
  'OWNER_LOST',
]);

function isFatal(error: unknown): boolean {
  return isSluiceError(error) && fatalCodes.has(error.code);
}

function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  signal?.addEventListener('abort', listener);
  return () => signal?.removeEventListener('abort', listener);
}
