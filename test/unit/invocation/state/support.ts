// One operator over a subtask's state, on fake services, with the verbs of a unit of work.

import {
  type AppendingState,
  type ListState,
  listState,
  type MapState,
  mapState,
  reducingState,
  type StateShape,
  type ValueState,
  valueState,
} from '../../../../lib/api/state.ts';
import { normalizeKey } from '../../../../lib/core/key-codec.ts';
import type { StateDelta } from '../../../../lib/invocation/entry.ts';
import type { Patience } from '../../../../lib/invocation/patience.ts';
import type { SubtaskState, VersionTag, VersionView } from '../../../../lib/invocation/state/contract.ts';
import { StateNotResident } from '../../../../lib/invocation/state/not-resident.ts';
import { SnapshotBase } from '../../../../lib/invocation/state/snapshot-base.ts';
import { createSubtaskState, type StateBase } from '../../../../lib/invocation/state/subtask-state.ts';
import { TableBase } from '../../../../lib/invocation/state/table-base.ts';
import type { KeyedStateBackend } from '../../../../lib/state/backend.ts';
import { FakeService, fakePorts, seededRandom } from '../../../../lib/testing/index.ts';

export const maxParallelism = 8;

export const shape: StateShape = {
  value: valueState<unknown>(),
  list: listState<unknown>(),
  map: mapState<unknown, unknown>(),
  sum: reducingState<number>((a, b) => a + b),
};

export interface TestHandles {
  readonly value: ValueState<unknown>;
  readonly list: ListState<unknown>;
  readonly map: MapState<unknown, unknown>;
  readonly sum: AppendingState<number, number>;
}

/** A service whose calls are counted by method. */
export class CountedWorld {
  readonly service: FakeService;
  readonly calls = new Map<string, number>();
  nowMs = 1_000;
  /** Rejects calls of this method. */
  failing: string | undefined;

  constructor() {
    this.service = new FakeService({ now: () => this.nowMs });
  }

  readonly ports = (): ReturnType<typeof fakePorts> =>
    fakePorts(this.service, async (method, _place, effect) => {
      this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
      if (method === this.failing) throw new Error(`${method} failed`);
      return effect();
    });

  get patience(): Patience {
    return {
      clock: { now: () => this.nowMs, sleep: () => ({ done: Promise.resolve(), cancel: () => {} }) },
      random: seededRandom(1),
    };
  }

  tableBase(view: Pick<VersionView, 'generation' | 'restores'> = { generation: 0, restores: [] }): StateBase {
    const { table, objects } = this.ports();
    return new TableBase({ table, objects, view, patience: this.patience });
  }

  snapshotBase(snapshot?: string, limitBytes?: number): StateBase {
    return new SnapshotBase({ objects: this.ports().objects, snapshot, limitBytes, subtask: '1-0' });
  }

  /** Calls since the last time it was asked. */
  taken(): Record<string, number> {
    const taken = Object.fromEntries(this.calls);
    this.calls.clear();
    return taken;
  }
}

export class Unit {
  readonly state: SubtaskState;
  backend: KeyedStateBackend;
  readonly #shape: StateShape;
  readonly #hasTimers: boolean;
  generation: number;
  epoch = 1;
  n = 0;
  /** Runs of the last unit that had to be abandoned. */
  suspensions = 0;

  constructor(base: StateBase, o: { readonly shape?: StateShape; readonly hasTimers?: boolean; readonly generation?: number } = {}) {
    this.state = createSubtaskState({ subtask: '1-0', base, maxParallelism, groups: { first: 0, last: maxParallelism - 1 } });
    this.#shape = o.shape ?? shape;
    this.#hasTimers = o.hasTimers ?? false;
    this.generation = o.generation ?? 0;
    this.backend = this.#open();
  }

  #open(): KeyedStateBackend {
    return this.state.createKeyedState({ shape: this.#shape, operator: 'op', maxParallelism, hasTimers: this.#hasTimers });
  }

  /** As a host that is built anew does. */
  reopen(): void {
    this.backend = this.#open();
  }

  get view(): VersionView {
    return { generation: this.generation, restores: [], points: [], epoch: this.epoch };
  }

  get tag(): VersionTag {
    return { generation: this.generation, epoch: this.epoch, n: this.n };
  }

  /** One run over a batch of keys; what it throws is thrown, but for missing state. */
  runOnce(keys: readonly unknown[], each: (s: TestHandles, index: number) => void): void {
    const normal = keys.map(normalizeKey);
    const slots = new Int32Array(normal.length);
    this.state.beginUnit();
    const { backend } = this;
    try {
      backend.resolve(normal, normal.length, slots);
    } catch (error) {
      if (error instanceof StateNotResident) return;
      throw error;
    }
    for (let i = 0; i < normal.length; i++) {
      backend.select(slots[i] as number);
      try {
        each(backend.handles as unknown as TestHandles, i);
      } catch (error) {
        if (!this.state.isSuspended) throw error;
      }
    }
    backend.endBatch();
  }

  /** Runs until nothing is missing; the unit stays open. */
  async run(keys: readonly unknown[], each: (s: TestHandles, index: number) => void): Promise<StateDelta> {
    for (this.suspensions = 0; ; this.suspensions++) {
      this.runOnce(keys, each);
      if (!this.state.isSuspended) return this.state.takeDelta();
      this.state.abandonUnit();
      this.reopen();
      await this.state.loadMissing();
    }
  }

  commit(delta: StateDelta): VersionTag {
    this.n += 1;
    this.state.commitUnit(this.tag, delta);
    return this.tag;
  }

  async unit(keys: readonly unknown[], each: (s: TestHandles, index: number) => void): Promise<StateDelta> {
    const delta = await this.run(keys, each);
    this.commit(delta);
    return delta;
  }

  /** What one key reads, in a unit that changes nothing. */
  async read<R>(key: unknown, read: (s: TestHandles) => R): Promise<R> {
    let result: R | undefined;
    await this.run([key], (s) => {
      result = read(s);
    });
    this.state.abandonUnit();
    return result as R;
  }
}

/** Everything that is readable of a key. */
export function readAll(s: TestHandles): { value: unknown; list: unknown[]; map: unknown[]; sum: unknown } {
  return { value: s.value.value(), list: [...s.list.get()], map: [...s.map.entries()], sum: s.sum.get() };
}

export const empty: { value: unknown; list: unknown[]; map: unknown[]; sum: unknown } = {
  value: undefined,
  list: [],
  map: [],
  sum: undefined,
};
