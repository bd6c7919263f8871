// The handles that user code holds. Each reads and writes the cell of the selected slot in its own column; `store.touch` is called before
// the first write to a slot that a running snapshot may still need.

import type { AggregateFunction } from '../../api/functions.ts';
import type { AppendingState, ListState, MapState, ValueState } from '../../api/state.ts';
import { CowTree } from '../../core/cow-tree.ts';
import { decodeKey, encodeKey } from '../../core/key-codec.ts';
import { expose, own } from '../../core/owned.ts';
import { ListCell, storedUndefined } from './cells.ts';

/** What a handle needs of its store: the selected slot and the versions of its slots. */
export interface SlotStore {
  current: number;
  /** A snapshot is running: writes have to be told. */
  isWatched: boolean;
  /** Raised when a snapshot begins. */
  version: number;
  /** Version of the last write that was told, per slot. */
  versions: Int32Array;
  /** Keeps the slot's image for the snapshots that need it, and marks the slot as written. */
  touch(slot: number): void;
  /** The slot may have become empty. */
  noteCleared(slot: number): void;
}

abstract class Handle {
  protected readonly store: SlotStore;
  protected readonly cells: unknown[];
  /** Named in errors of `own`. */
  protected readonly place: string;

  constructor(store: SlotStore, cells: unknown[], place: string) {
    this.store = store;
    this.cells = cells;
    this.place = place;
  }

  protected writable(): number {
    const { store } = this;
    const slot = store.current;
    if (store.isWatched && store.versions[slot] !== store.version) store.touch(slot);
    return slot;
  }

  clear(): void {
    if (this.cells[this.store.current] === undefined) return;
    const slot = this.writable();
    this.cells[slot] = undefined;
    this.store.noteCleared(slot);
  }
}

export class HeapValueState extends Handle implements ValueState<unknown, unknown> {
  readonly #makeDefault: (() => unknown) | undefined;

  constructor(store: SlotStore, cells: unknown[], place: string, makeDefault: (() => unknown) | undefined) {
    super(store, cells, place);
    this.#makeDefault = makeDefault;
  }

  value(): unknown {
    const cell = this.cells[this.store.current];
    if (typeof cell === 'object') return expose(cell);
    if (cell === undefined) return this.#makeDefault === undefined ? undefined : expose(own(this.#makeDefault(), this.place));
    return cell === storedUndefined ? undefined : cell;
  }

  update(value: unknown): void {
    const owned = value === undefined ? storedUndefined : own(value, this.place);
    this.cells[this.writable()] = owned;
  }
}

export class HeapListState extends Handle implements ListState<unknown> {
  get(): readonly unknown[] {
    const cell = this.cells[this.store.current] as ListCell | undefined;
    if (cell === undefined) return Object.freeze([]);
    if (cell.view === undefined) {
      let isShared = true;
      const view = cell.items.map((item) => {
        const exposed = expose(item);
        if (exposed !== item) isShared = false;
        return exposed;
      });
      Object.freeze(view);
      if (!isShared) return view;
      cell.view = view;
    }
    return cell.view;
  }

  add(value: unknown): void {
    this.#append([own(value, this.place)]);
  }

  addAll(values: Iterable<unknown>): void {
    const owned = this.#ownAll(values);
    if (owned.length > 0) this.#append(owned);
  }

  update(values: Iterable<unknown>): void {
    const owned = this.#ownAll(values);
    if (owned.length === 0) this.clear();
    else this.cells[this.writable()] = new ListCell(owned);
  }

  #ownAll(values: Iterable<unknown>): unknown[] {
    const owned: unknown[] = [];
    for (const value of values) owned.push(own(value, this.place));
    return owned;
  }

  #append(owned: readonly unknown[]): void {
    const slot = this.writable();
    const cell = this.cells[slot] as ListCell | undefined;
    if (cell === undefined) {
      this.cells[slot] = new ListCell([...owned]);
      return;
    }
    for (const value of owned) cell.items.push(value);
    cell.view = undefined;
  }
}

export class HeapMapState extends Handle implements MapState<unknown, unknown> {
  #tree(): CowTree<unknown> | undefined {
    return this.cells[this.store.current] as CowTree<unknown> | undefined;
  }

  get(key: unknown): unknown {
    return expose(this.#tree()?.get(encodeKey(key)));
  }

  put(key: unknown, value: unknown): void {
    const encoded = encodeKey(key);
    const owned = own(value, this.place);
    const slot = this.writable();
    let tree = this.cells[slot] as CowTree<unknown> | undefined;
    if (tree === undefined) {
      tree = new CowTree<unknown>();
      this.cells[slot] = tree;
    }
    tree.set(encoded, owned);
  }

  putAll(entries: Iterable<readonly [unknown, unknown]>): void {
    for (const [key, value] of entries) this.put(key, value);
  }

  has(key: unknown): boolean {
    return this.#tree()?.has(encodeKey(key)) ?? false;
  }

  remove(key: unknown): void {
    const encoded = encodeKey(key);
    const tree = this.#tree();
    if (tree === undefined || !tree.has(encoded)) return;
    const slot = this.writable();
    tree.delete(encoded);
    if (tree.size > 0) return;
    this.cells[slot] = undefined;
    this.store.noteCleared(slot);
  }

  // The snapshot is taken here and not at the first step of the iteration, where another key may be the current one.

  entries(): IterableIterator<[unknown, unknown]> {
    return iterate(this.#tree(), (key, value) => [decodeKey(key), expose(value)]);
  }

  keys(): IterableIterator<unknown> {
    return iterate(this.#tree(), decodeKey);
  }

  values(): IterableIterator<unknown> {
    return iterate(this.#tree(), (_, value) => expose(value));
  }

  isEmpty(): boolean {
    return this.#tree() === undefined;
  }
}

export function iterate<R>(tree: CowTree<unknown> | undefined, read: (key: string, value: unknown) => R): IterableIterator<R> {
  return reading(tree?.snapshot().entries() ?? [].values(), read);
}

function* reading<R>(entries: Iterable<readonly [string, unknown]>, read: (key: string, value: unknown) => R): IterableIterator<R> {
  for (const [key, value] of entries) yield read(key, value);
}

/** Reducing, aggregating and folding state: one accumulator, and three functions that tell them apart. */
export class HeapAppendingState extends Handle implements AppendingState<unknown, unknown> {
  readonly #first: (value: unknown) => unknown;
  readonly #add: (value: unknown, accumulator: unknown) => unknown;
  readonly #result: (accumulator: unknown) => unknown;

  constructor(store: SlotStore, cells: unknown[], place: string, f: AppendingFunctions) {
    super(store, cells, place);
    this.#first = f.first;
    this.#add = f.add;
    this.#result = f.result;
  }

  get(): unknown {
    const cell = this.cells[this.store.current];
    if (cell === undefined) return undefined;
    return this.#result(cell === storedUndefined ? undefined : expose(cell));
  }

  add(value: unknown): void {
    const cell = this.cells[this.store.current];
    const next = cell === undefined ? this.#first(value) : this.#add(value, cell === storedUndefined ? undefined : expose(cell));
    const owned = next === undefined ? storedUndefined : own(next, this.place);
    this.cells[this.writable()] = owned;
  }
}

export interface AppendingFunctions {
  /** The accumulator after the first value. */
  readonly first: (value: unknown) => unknown;
  readonly add: (value: unknown, accumulator: unknown) => unknown;
  readonly result: (accumulator: unknown) => unknown;
}

const same = (accumulator: unknown): unknown => accumulator;

export function reducing(reduce: (a: unknown, b: unknown) => unknown): AppendingFunctions {
  return { first: same, add: (value, accumulator) => reduce(accumulator, value), result: same };
}

export function aggregating(f: AggregateFunction<unknown, unknown, unknown>): AppendingFunctions {
  return {
    first: (value) => f.add(value, f.createAccumulator()),
    add: (value, accumulator) => f.add(value, accumulator),
    result: (accumulator) => f.getResult(accumulator),
  };
}

export function folding(initial: unknown, fold: (accumulator: unknown, value: unknown) => unknown): AppendingFunctions {
  // Owned, so that a fold that changes its first argument cannot change what other keys start from.
  const start = own(initial);
  return { first: (value) => fold(expose(start), value), add: (value, accumulator) => fold(accumulator, value), result: same };
}
