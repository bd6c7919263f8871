// A map of which only some entries may be in memory, and the handle that user code reads and writes it by.
//   M1  An entry is known when it is in the tree, in `absent`, or when the map is whole. Reading one that is not known suspends the run.
//   M2  Writing an entry needs to know nothing. What was there before is noted at its first change in a unit, also that it is not known.
//   M3  Iterating, emptiness and clearing need the whole map. Becoming whole leaves the unit's own changes as they are, and what was not known
//       before them is known then.

import type { MapState } from '../../api/state.ts';
import { CowTree } from '../../core/cow-tree.ts';
import { decodeKey, encodeKey } from '../../core/key-codec.ts';
import { expose, own } from '../../core/owned.ts';
import { iterate } from '../../state/heap/handles.ts';
import type { Column } from '../../state/heap/heap-state.ts';

export type MapColumn = Pick<Column, 'info' | 'cells'>;

/** What the handle of a map asks of its store. */
export interface MapCells {
  readonly current: number;
  makeMap(slot: number, column: MapColumn): MapCell;
  /** @throws StateNotResident */
  learnEntry(cell: MapCell, column: MapColumn, key: string): void;
  /** @throws StateNotResident */
  learnAll(cell: MapCell, column: MapColumn): void;
  beforeMapChange(cell: MapCell, column: MapColumn): void;
}

/** What was there before the unit. */
const wasAbsent: unique symbol = Symbol('absent');
const wasUnknown: unique symbol = Symbol('unknown');

export class MapCell extends CowTree<unknown> {
  isWhole: boolean = false;
  /** Keys that are known not to be there. Empty when the map is whole. */
  readonly absent: Set<string> = new Set();
  /** By key, what was there before this unit: a value in stored form, or one of the two symbols. */
  readonly #before = new Map<string, unknown>();

  knows(key: string): boolean {
    return this.isWhole || this.absent.has(key) || this.has(key);
  }

  get isChanged(): boolean {
    return this.#before.size > 0;
  }

  /** A change by user code. @param value  in stored form */
  change(key: string, value: unknown): void {
    this.#note(key);
    this.learn(key, value);
  }

  changeToAbsent(key: string): void {
    this.#note(key);
    this.learnAbsent(key);
  }

  /** What is committed, or lies below. */
  learn(key: string, value: unknown): void {
    this.set(key, value);
    this.absent.delete(key);
  }

  learnAbsent(key: string): void {
    this.delete(key);
    if (!this.isWhole) this.absent.add(key);
  }

  /** @param entries  what lies below; in stored form */
  becomeWhole(entries: ReadonlyMap<string, unknown>): void {
    for (const [key, before] of this.#before) {
      if (before === wasUnknown) this.#before.set(key, entries.has(key) ? entries.get(key) : wasAbsent);
    }
    for (const [key, value] of entries) if (!this.#before.has(key)) this.set(key, value);
    this.absent.clear();
    this.isWhole = true;
  }

  /** Keys whose entries are not what they were before the unit. */
  *changes(): IterableIterator<string> {
    for (const [key, before] of this.#before) {
      const isThere = this.has(key);
      if (before === wasUnknown || isThere !== (before !== wasAbsent) || (isThere && this.get(key) !== before)) yield key;
    }
  }

  commit(): void {
    this.#before.clear();
  }

  undo(): void {
    for (const [key, before] of this.#before) {
      if (before === wasUnknown) {
        this.delete(key);
        this.absent.delete(key);
      } else if (before === wasAbsent) this.learnAbsent(key);
      else this.learn(key, before);
    }
    this.#before.clear();
  }

  #note(key: string): void {
    if (this.#before.has(key)) return;
    this.#before.set(key, this.has(key) ? this.get(key) : this.knows(key) ? wasAbsent : wasUnknown);
  }
}

export class CachedMapState implements MapState<unknown, unknown> {
  readonly #store: MapCells;
  readonly #column: Pick<Column, 'info' | 'cells'>;
  readonly #place: string;

  constructor(store: MapCells, column: Pick<Column, 'info' | 'cells'>, place: string) {
    this.#store = store;
    this.#column = column;
    this.#place = place;
  }

  get(key: unknown): unknown {
    const encoded = encodeKey(key);
    return expose(this.#knowing(encoded).get(encoded));
  }

  has(key: unknown): boolean {
    const encoded = encodeKey(key);
    return this.#knowing(encoded).has(encoded);
  }

  put(key: unknown, value: unknown): void {
    const encoded = encodeKey(key);
    const owned = own(value, this.#place);
    this.#changing(this.#cell()).change(encoded, owned);
  }

  putAll(entries: Iterable<readonly [unknown, unknown]>): void {
    for (const [key, value] of entries) this.put(key, value);
  }

  remove(key: unknown): void {
    const encoded = encodeKey(key);
    const cell = this.#cell();
    if (cell.knows(encoded) && !cell.has(encoded)) return;
    this.#changing(cell).changeToAbsent(encoded);
  }

  entries(): IterableIterator<[unknown, unknown]> {
    return iterate(this.#whole(), (key, value) => [decodeKey(key), expose(value)]);
  }

  keys(): IterableIterator<unknown> {
    return iterate(this.#whole(), decodeKey);
  }

  values(): IterableIterator<unknown> {
    return iterate(this.#whole(), (_, value) => expose(value));
  }

  isEmpty(): boolean {
    return this.#cell().size === 0 && this.#whole().size === 0;
  }

  clear(): void {
    const cell = this.#whole();
    if (cell.size === 0) return;
    this.#changing(cell);
    for (const [key] of cell.snapshot()) cell.changeToAbsent(key);
  }

  #cell(): MapCell {
    const { current } = this.#store;
    const cell = this.#column.cells[current] as MapCell | undefined;
    return cell ?? this.#store.makeMap(current, this.#column);
  }

  #knowing(key: string): MapCell {
    const cell = this.#cell();
    if (!cell.knows(key)) this.#store.learnEntry(cell, this.#column, key);
    return cell;
  }

  #whole(): MapCell {
    const cell = this.#cell();
    if (!cell.isWhole) this.#store.learnAll(cell, this.#column);
    return cell;
  }

  #changing(cell: MapCell): MapCell {
    this.#store.beforeMapChange(cell, this.#column);
    return cell;
  }
}
