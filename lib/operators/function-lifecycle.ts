// The life of a user function outside its records: open, restore, snapshot, close. One of two forms of operator state, by what it has:
// `initializeState` (CheckpointedFunction) or `restoreState` (ListCheckpointed).

import type { InitializeContext, RuntimeContext, SnapshotContext } from '../api/functions.ts';
import type { OperatorListSnapshot, OperatorRestore } from '../checkpoint/snapshot.ts';
import { SluiceError } from '../core/errors.ts';
import type { CheckpointMoment, OperatorEnvironment } from './operator.ts';
import { OperatorState } from './operator-state.ts';

interface LifecycleFunction {
  open?(ctx: RuntimeContext): void | Promise<void>;
  close?(): void | Promise<void>;
  initializeState?(ctx: InitializeContext): void;
  restoreState?(list: unknown[]): void;
  snapshotState?(first: unknown, timestamp: number): unknown;
}

/** Name of the list that a `ListCheckpointed` function lives in. */
const listCheckpointedName = 'list-checkpointed';

export class FunctionLifecycle {
  readonly #function: LifecycleFunction;
  readonly #environment: OperatorEnvironment;
  #state: OperatorState | undefined;
  #isOpen = false;

  constructor(f: object, environment: OperatorEnvironment) {
    this.#function = f as LifecycleFunction;
    this.#environment = environment;
  }

  get state(): OperatorState {
    if (this.#state === undefined) throw new Error('operator state is there once the operator is open');
    return this.#state;
  }

  async open(restore: OperatorRestore | undefined): Promise<void> {
    const { uid, subtask, metrics, accumulator } = this.#environment;
    const state = new OperatorState(uid, subtask.index, restore);
    this.#state = state;
    const context: RuntimeContext = { subtask, metrics, accumulator: accumulator as RuntimeContext['accumulator'] };
    const isRestored = restore !== undefined;
    const f = this.#function;
    this.#isOpen = true; // also when opening fails half way: then there is something to close
    if (f.initializeState !== undefined) {
      const operatorState = {
        getListState: (name: string) => state.list(name, 'split'),
        getUnionListState: (name: string) => state.list(name, 'union'),
        getBroadcastState: (name: string) => state.broadcast(name),
      } as unknown as InitializeContext['operatorState'];
      this.#call('initializeState', () => f.initializeState?.({ ...context, isRestored, operatorState }));
    } else if (f.restoreState !== undefined) {
      const list = state.list(listCheckpointedName, 'split');
      if (isRestored) this.#call('restoreState', () => f.restoreState?.([...list.get()]));
    }
    await this.#callAsync('open', () => f.open?.(context));
  }

  snapshot({ checkpointId, timestamp }: CheckpointMoment): readonly OperatorListSnapshot[] {
    const f = this.#function;
    if (f.restoreState !== undefined) {
      const list = this.#call('snapshotState', () => f.snapshotState?.(checkpointId, timestamp));
      this.state.list(listCheckpointedName, 'split').update((list as readonly unknown[] | undefined) ?? []);
    } else if (f.snapshotState !== undefined) {
      this.#call('snapshotState', () => f.snapshotState?.({ checkpointId, timestamp } satisfies SnapshotContext, timestamp));
    }
    return this.state.snapshot();
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#callAsync('close', () => this.#function.close?.());
  }

  #call<R>(method: string, f: () => R): R {
    try {
      return f();
    } catch (error) {
      throw this.#failed(method, error);
    }
  }

  async #callAsync(method: string, f: () => void | Promise<void>): Promise<void> {
    try {
      await f();
    } catch (error) {
      throw this.#failed(method, error);
    }
  }

  #failed(method: string, cause: unknown): unknown {
    if (cause instanceof SluiceError) return cause;
    const { uid, name } = this.#environment;
    const message = `${method} of ${name} (${uid}) failed: ${cause instanceof Error ? cause.message : String(cause)}`;
    return new SluiceError('USER_FUNCTION_FAILED', { message, next: 'fix-the-job', cause, operator: uid });
  }
}
