// The environments: worker processes that each do one invocation at a time. An invocation that was not answered in time, or whose worker died,
// may have happened or not, or may happen later; whoever asked asks again, and the changelog tells.
//   W1  As many workers as were asked for can take work. One that died or does not answer is replaced; one that answers late may stay when
//       there is room, else it leaves.
//   W2  Control invocations go before input, so that full queues cannot starve a checkpoint.
//   W3  A worker that cannot load the job ends the run: each other one would fail in the same way. One that could not reach its store just then, which
//       a worker that is stopped in the middle of a write keeps from all others, has died early.

import { SluiceError } from '../../core/errors.ts';
import type { Clock, Random } from '../../core/ports.ts';
import type { Answer, Invocation } from '../../invocation/invocation.ts';
import { type AccumulatorValues, type Counts, encodeInvocation, errorOf, type FromWorker, type LinePlace, type ToWorker } from './ipc.ts';

/** A worker as the pool sees it; worker-process.ts makes real ones. */
export interface WorkerHandle {
  readonly pid: number;
  send(message: ToWorker): void;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

export interface WorkerEvents {
  readonly message: (message: FromWorker) => void;
  readonly exit: (how: string) => void;
}

export interface PoolOptions {
  readonly size: number;
  /** An invocation not answered after this is given up, ms. */
  readonly redeliveryMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Starts a worker; it says `ready` or `unusable`. */
  readonly start: (events: WorkerEvents) => WorkerHandle;
  readonly counted: (counts: Counts) => void;
  readonly print: (line: string, place: LinePlace | undefined) => void;
  readonly notice: (message: string) => void;
  /** W3, or workers that die before they are ready. */
  readonly failed: (error: unknown) => void;
}

type AccumulatorResults = (FromWorker & { readonly kind: 'accumulated' })['results'];

/** Whether it happened is not known. */
export class Unanswered extends Error {}

const texts = { died: 'the worker', late: 'has not answered', nobodyFree: 'no worker was free', over: 'the run is over' } as const;
/** How messages of `Unanswered` are told. */
export const unansweredTexts: readonly string[] = Object.values(texts);

interface Task {
  readonly invocation: Invocation;
  readonly bytes: Uint8Array;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Worker {
  handle: WorkerHandle;
  isReady: boolean;
  /** `undefined`: idle. */
  task: { readonly id: number; readonly task: Task; readonly timer: { cancel(): void } } | undefined;
  /** It has not answered in time; nobody waits for it. */
  isOverdue: boolean;
  isGone: boolean;
}

/** What opening a store may meet and the next worker may not. */
const passing: ReadonlySet<string> = new Set(['STORE_THROTTLED', 'STORE_UNCERTAIN']);
const diedEarlyMax = 20; // workers in a row that died before they could say anything; some may be killed by who is short of memory
const overduePerWorkerMax = 2; // stopped workers that are kept beside their replacements; older ones are ended

export class WorkerPool {
  /** Workers that were forked beyond the first ones. */
  replaced = 0;
  readonly #o: PoolOptions;
  readonly #workers: Worker[] = [];
  readonly #control: Task[] = [];
  readonly #input: Task[] = [];
  /** Subtask → the worker that served it last: it may still hold the state. */
  readonly #served = new Map<string, Worker>();
  readonly #asked = new Map<number, (results: AccumulatorResults) => void>();
  #nextId = 1;
  #diedEarly = 0;
  #isClosed = false;

  constructor(o: PoolOptions) {
    this.#o = o;
    for (let i = 0; i < o.size; i++) this.#fork();
  }

  /** Workers that have loaded the job, whatever they do now. */
  get handles(): readonly WorkerHandle[] {
    return this.#workers.filter(({ isReady }) => isReady).map(({ handle }) => handle);
  }

  get waiting(): number {
    return this.#control.length + this.#input.length;
  }

  /** Workers that could take work now. */
  get idle(): number {
    return this.#workers.filter((worker) => isIdle(worker)).length;
  }

  /** Rejects with `Unanswered`, or with what the worker threw. */
  invoke(invocation: Invocation): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(new Unanswered(texts.over));
    return new Promise((resolve, reject) => {
      const isInput = invocation.kind === 'records' || invocation.kind === 'messages';
      const bytes = encodeInvocation(invocation);
      const queue = isInput ? this.#input : this.#control;
      const task = { invocation, bytes, resolve, reject };
      queue.push(task);
      this.#dispatch();
      if (!isInput) this.#forgetWhenLate(task);
    });
  }

  /** Ends workers that did not answer in time: one that is stopped in the middle of a write keeps all others from writing. */
  endOverdue(): void {
    for (const { isOverdue, handle } of this.#workers) if (isOverdue) handle.kill('SIGKILL');
  }

  /** Ends every worker; what is under way is abandoned. */
  close(): void {
    this.#isClosed = true;
    for (const worker of [...this.#workers]) {
      this.#giveUp(worker, texts.over);
      worker.handle.kill('SIGKILL');
    }
    for (const task of [...this.#control.splice(0), ...this.#input.splice(0)]) task.reject(new Unanswered(texts.over));
  }

  /** One function for each worker that can work; it resolves with nothing when the worker dies. */
  accumulators(): readonly ((values: AccumulatorValues) => Promise<AccumulatorResults>)[] {
    return this.#workers
      .filter(({ isReady, isOverdue }) => isReady && !isOverdue)
      .map((worker) => (values) => this.#accumulated(worker, values));
  }

  #accumulated(worker: Worker, values: AccumulatorValues): Promise<AccumulatorResults> {
    const id = this.#nextId++;
    const sleep = this.#o.clock.sleep(this.#o.redeliveryMs);
    return new Promise<AccumulatorResults>((resolve) => {
      this.#asked.set(id, resolve);
      void sleep.done.then(() => resolve([]));
      worker.handle.send({ kind: 'accumulators', id, values });
    }).finally(() => {
      this.#asked.delete(id);
      sleep.cancel();
    });
  }

  #fork(): void {
    const worker: Worker = { handle: undefined as never, isReady: false, task: undefined, isOverdue: false, isGone: false };
    worker.handle = this.#o.start({
      message: (message) => this.#onMessage(worker, message),
      exit: (how) => this.#onExit(worker, how),
    });
    this.#workers.push(worker);
  }

  #onMessage(worker: Worker, message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        worker.isReady = true;
        this.#diedEarly = 0;
        this.#dispatch();
        return;
      case 'unusable':
        if (passing.has(message.error.code)) worker.handle.kill('SIGKILL');
        else this.#failForGood(errorOf(message.error));
        return;
      case 'print':
        this.#o.print(message.line, message.place);
        return;
      case 'notice':
        this.#o.notice(message.message);
        return;
      case 'accumulated':
        this.#asked.get(message.id)?.(message.results);
        return;
      case 'answer':
      case 'failed':
        this.#o.counted(message.counts);
        this.#onAnswer(worker, message);
    }
  }

  #onAnswer(worker: Worker, message: FromWorker & { readonly kind: 'answer' | 'failed' }): void {
    if (worker.isOverdue) {
      this.#comeBack(worker);
      return;
    }
    const { task } = worker;
    if (task === undefined || task.id !== message.id) return;
    task.timer.cancel();
    worker.task = undefined;
    if (message.kind === 'answer') task.task.resolve(message.answer);
    else task.task.reject(errorOf(message.error));
    this.#dispatch();
  }

  /** A worker that nobody waited for any more can work again. */
  #comeBack(worker: Worker): void {
    worker.isOverdue = false;
    if (this.#capacity() > this.#o.size) {
      worker.isReady = false; // nothing more for it
      worker.handle.send({ kind: 'leave' });
    }
    this.#dispatch();
  }

  /** A pulse must not hang on workers that are all stopped or dead. */
  #forgetWhenLate(task: Task): void {
    if (!this.#control.includes(task)) return;
    void this.#o.clock.sleep(this.#o.redeliveryMs).done.then(() => {
      const at = this.#control.indexOf(task);
      if (at < 0) return;
      this.#control.splice(at, 1);
      task.reject(new Unanswered(texts.nobodyFree));
    });
  }

  #capacity(): number {
    return this.#workers.filter(({ isOverdue }) => !isOverdue).length;
  }

  #onExit(worker: Worker, how: string): void {
    if (worker.isGone) return;
    worker.isGone = true;
    this.#workers.splice(this.#workers.indexOf(worker), 1);
    const early = !worker.isReady && worker.task === undefined && !worker.isOverdue;
    this.#giveUp(worker, `${texts.died} ${worker.handle.pid} ${how}`);
    if (this.#isClosed) return;
    if (early && ++this.#diedEarly > diedEarlyMax) {
      this.#failForGood(
        new SluiceError('WORKER_DIED', { message: `worker processes die before they can work; the last one ${how}`, next: 'try-again' }),
      );
      return;
    }
    if (this.#capacity() < this.#o.size) {
      this.replaced += 1;
      this.#fork();
    }
    this.#dispatch();
  }

  #failForGood(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#o.failed(error);
  }

  #giveUp(worker: Worker, why: string): void {
    const { task } = worker;
    worker.task = undefined;
    task?.timer.cancel();
    task?.task.reject(new Unanswered(why));
  }

  #onOverdue(worker: Worker): void {
    this.#giveUp(worker, `worker ${worker.handle.pid} ${texts.late}`);
    worker.isOverdue = true;
    const overdue = this.#workers.filter(({ isOverdue }) => isOverdue);
    if (overdue.length > this.#o.size * overduePerWorkerMax) overdue[0]!.handle.kill('SIGKILL');
    if (this.#capacity() < this.#o.size) {
      this.replaced += 1;
      this.#fork();
    }
  }

  #dispatch(): void {
    if (this.#isClosed) return;
    for (;;) {
      const queue = this.#control.length > 0 ? this.#control : this.#input;
      const [first] = queue;
      const worker = first === undefined ? undefined : this.#choose(first.invocation.subtask);
      if (first === undefined || worker === undefined) return;
      queue.shift();
      this.#hand(worker, first);
    }
  }

  #choose(subtask: string): Worker | undefined {
    const before = this.#served.get(subtask);
    if (before !== undefined && isIdle(before)) return before;
    const idle = this.#workers.filter((worker) => isIdle(worker));
    return idle.length === 0 ? undefined : idle[this.#o.random.bits() % idle.length];
  }

  #hand(worker: Worker, task: Task): void {
    const id = this.#nextId++;
    const sleep = this.#o.clock.sleep(this.#o.redeliveryMs);
    let isCancelled = false;
    const timer = {
      cancel: () => {
        isCancelled = true;
        sleep.cancel();
      },
    };
    void sleep.done.then(() => {
      if (!isCancelled) this.#onOverdue(worker);
    });
    worker.task = { id, task, timer };
    this.#served.set(task.invocation.subtask, worker);
    worker.handle.send({ kind: 'invoke', id, invocation: task.bytes, leftMs: this.#o.redeliveryMs });
  }
}

function isIdle({ isReady, task, isOverdue, isGone }: Worker): boolean {
  return isReady && task === undefined && !isOverdue && !isGone;
}
