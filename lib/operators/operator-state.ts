// Operator state: list, union-list and broadcast state of one operator of one subtask (CheckpointedFunction), by name.
//   O1  A name has one redistribution for ever; asking for it under another is an error.
//   O2  What a checkpoint held and the code did not ask for is carried over to the next checkpoint, not dropped. Lists that every subtask
//       got whole are carried by the first one only, or a union would grow with each restore.

import type { ListState, MapState } from '../api/state.ts';
import type { OperatorListSnapshot, OperatorRestore, Redistribution } from '../checkpoint/snapshot.ts';
import { CowTree } from '../core/cow-tree.ts';
import { SluiceError } from '../core/errors.ts';
import { decodeKey, encodeKey } from '../core/key-codec.ts';
import { expose, own } from '../core/owned.ts';
import { decodeStored, decodeValue, encodeValue } from '../core/value-codec.ts';

interface Snapshotting {
  elements(): readonly Uint8Array[];
}

export class OperatorListState implements ListState<unknown>, Snapshotting {
  #items: unknown[];
  readonly #place: string;

  constructor(place: string, items: unknown[]) {
    this.#place = place;
    this.#items = items;
  }

  get(): readonly unknown[] {
    return Object.freeze(this.#items.map(expose));
  }

  add(value: unknown): void {
    this.#items.push(own(value, this.#place));
  }

  addAll(values: Iterable<unknown>): void {
    const owned = Array.from(values, (value) => own(value, this.#place));
    for (const value of owned) this.#items.push(value);
  }

  update(values: Iterable<unknown>): void {
    this.#items = Array.from(values, (value) => own(value, this.#place));
  }

  clear(): void {
    this.#items = [];
  }

  elements(): readonly Uint8Array[] {
    return this.#items.map((item) => encodeValue(expose(item)));
  }
}

/** Broadcast state: the same map on every subtask, in order of encoded keys. */
export class BroadcastMapState implements MapState<unknown, unknown>, Snapshotting {
  readonly #tree = new CowTree<unknown>();
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  get(key: unknown): unknown {
    return expose(this.#tree.get(encodeKey(key)));
  }

  put(key: unknown, value: unknown): void {
    this.#tree.set(encodeKey(key), own(value, this.#place));
  }

  putAll(entries: Iterable<readonly [unknown, unknown]>): void {
    for (const [key, value] of entries) this.put(key, value);
  }

  has(key: unknown): boolean {
    return this.#tree.has(encodeKey(key));
  }

  remove(key: unknown): void {
    this.#tree.delete(encodeKey(key));
  }

  clear(): void {
    for (const [key] of this.#tree.snapshot().entries()) this.#tree.delete(key);
  }

  // The snapshot is taken here and not at the first step of the iteration.

  entries(): IterableIterator<[unknown, unknown]> {
    return reading(this.#tree.snapshot().entries(), (key, value) => [decodeKey(key), expose(value)]);
  }

  keys(): IterableIterator<unknown> {
    return reading(this.#tree.snapshot().entries(), decodeKey);
  }

  values(): IterableIterator<unknown> {
    return reading(this.#tree.snapshot().entries(), (_, value) => expose(value));
  }

  isEmpty(): boolean {
    return this.#tree.size === 0;
  }

  elements(): readonly Uint8Array[] {
    return Array.from(this.#tree.entries(), ([key, value]) => encodeValue([key, expose(value)]));
  }

  restore(elements: readonly Uint8Array[]): void {
    for (const element of elements) {
      const [key, value] = decodeValue(element) as [string, unknown];
      this.#tree.set(key, own(value, this.#place));
    }
  }
}

function* reading<R>(entries: Iterable<readonly [string, unknown]>, read: (key: string, value: unknown) => R): IterableIterator<R> {
  for (const [key, value] of entries) yield read(key, value);
}

export class OperatorState {
  readonly #operator: string;
  readonly #restored: Map<string, OperatorListSnapshot>;
  readonly #states = new Map<string, { readonly redistribution: Redistribution; readonly state: OperatorListState | BroadcastMapState }>();

  readonly #isFirst: boolean;

  constructor(operator: string, subtask: number, restore: OperatorRestore | undefined) {
    this.#operator = operator;
    this.#isFirst = subtask === 0;
    this.#restored = new Map(restore?.lists.map((list) => [list.name, list]));
  }

  list(name: string, redistribution: 'split' | 'union'): OperatorListState {
    return this.#state(name, redistribution, (place, elements) => new OperatorListState(place, elements.map(decodeStored)));
  }

  broadcast(name: string): BroadcastMapState {
    return this.#state(name, 'broadcast', (place, elements) => {
      const state = new BroadcastMapState(place);
      state.restore(elements);
      return state;
    });
  }

  snapshot(): readonly OperatorListSnapshot[] {
    const lists = Array.from(this.#states, ([name, { redistribution, state }]) => ({ name, redistribution, elements: state.elements() }));
    const carried = [...this.#restored.values()].filter((list) => list.redistribution === 'split' || this.#isFirst);
    return [...lists, ...carried];
  }

  #state<S extends OperatorListState | BroadcastMapState>(
    name: string,
    redistribution: Redistribution,
    make: (place: string, elements: readonly Uint8Array[]) => S,
  ): S {
    const known = this.#states.get(name) ?? this.#restored.get(name);
    if (known !== undefined && known.redistribution !== redistribution) {
      throw new SluiceError('STATE_KIND_CHANGED', {
        message: `operator state ${name} of ${this.#operator} is ${known.redistribution} state and was asked for as ${redistribution} state`,
        next: 'fix-the-job',
        operator: this.#operator,
        state: name,
      });
    }
    const existing = this.#states.get(name);
    if (existing !== undefined) return existing.state as S;
    const restored = this.#restored.get(name);
    this.#restored.delete(name);
    const state = make(`state ${name} of ${this.#operator}`, restored?.elements ?? []);
    this.#states.set(name, { redistribution, state });
    return state;
  }
}
