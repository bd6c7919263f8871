// What one unit does to the cells of an operator: captured before the first write to a slot, so that it can be told as a delta, and undone. Values never
// change in place, so that a reference tells.

import { ListCell } from '../../state/heap/cells.ts';
import type { Column } from '../../state/heap/heap-state.ts';
import type { StateAddress, StateWrite } from '../entry.ts';
import type { MapCell, MapColumn } from './map-cell.ts';
import { chunkSub, emptyListLayout, encodeCell, encodeList, type ListLayout } from './value-format.ts';

/** A value or list that was captured before its first write. Of a list, only the first `length` items: others were appended since. */
interface ListBefore {
  readonly items: unknown[];
  readonly length: number;
}

interface NewLayout {
  readonly column: Column;
  readonly slot: number;
  readonly layout: ListLayout | undefined;
}

export interface UnitCells {
  /** Columns of values and lists. */
  readonly points: readonly Column[];
  /** Encoded. */
  keyOf(slot: number): string;
  addressOf(column: Pick<Column, 'info'>, key: string, sub?: string): StateAddress;
}

export class UnitChanges {
  readonly #cells: UnitCells;
  /** Of each list column, by slot: how the committed list is cut into chunks. */
  readonly #layouts = new Map<Column, (ListLayout | undefined)[]>();
  /** Slots whose cells have been captured, and the captured cells of each, one after the other. */
  #touched: number[] = [];
  #before: unknown[] = [];
  #changedMaps: { readonly slot: number; readonly column: MapColumn; readonly cell: MapCell }[] = [];
  #madeMaps: { readonly slot: number; readonly column: MapColumn }[] = [];
  /** Layouts that the delta of this unit has written. */
  #newLayouts: NewLayout[] = [];

  constructor(cells: UnitCells) {
    this.#cells = cells;
    for (const column of cells.points) if (column.kind === 'list') this.#layouts.set(column, []);
  }

  /** What lies below was read into a cell. */
  learnLayout(column: Column, slot: number, layout: ListLayout | undefined): void {
    const layouts = this.#layouts.get(column);
    if (layouts !== undefined) layouts[slot] = layout;
  }

  /** Before the first write to a slot. */
  capture(slot: number): void {
    this.#touched.push(slot);
    for (const { kind, cells } of this.#cells.points) {
      const cell = cells[slot];
      if (kind !== 'list' || cell === undefined) {
        this.#before.push(cell);
        continue;
      }
      const { items } = cell as ListCell;
      this.#before.push({ items, length: items.length } satisfies ListBefore);
    }
  }

  noteMade(slot: number, column: MapColumn): void {
    this.#madeMaps.push({ slot, column });
  }

  /** Before the first change of a map. */
  noteChanged(slot: number, column: MapColumn, cell: MapCell): void {
    this.#changedMaps.push({ slot, column, cell });
  }

  /** Maps that were made or changed. */
  get maps(): readonly { readonly slot: number; readonly column: MapColumn }[] {
    return [...this.#madeMaps, ...this.#changedMaps];
  }

  writeDelta(writes: StateWrite[]): void {
    const { points, keyOf, addressOf } = this.#cells;
    this.#newLayouts = [];
    let at = 0;
    for (const slot of this.#touched) {
      let key: string | undefined;
      for (const column of points) {
        const before = this.#before[at++];
        const cell = column.cells[slot];
        if (cell === before) continue;
        key ??= keyOf(slot);
        if (column.kind === 'list') this.#writeList(column, slot, key, before as ListBefore | undefined, writes);
        else {
          const value = cell === undefined ? undefined : encodeCell(cell, column.info.version);
          writes.push({ address: addressOf(column, key), value });
        }
      }
    }
    for (const { slot, column, cell } of this.#changedMaps) {
      const key = keyOf(slot);
      for (const sub of cell.changes()) {
        const value = cell.has(sub) ? encodeCell(cell.get(sub), column.info.version) : undefined;
        writes.push({ address: addressOf(column, key, sub), value });
      }
    }
  }

  #writeList(column: Column, slot: number, key: string, before: ListBefore | undefined, writes: StateWrite[]): void {
    const { addressOf } = this.#cells;
    const cell = column.cells[slot] as ListCell | undefined;
    const isAppended = cell !== undefined && cell.items === before?.items;
    if (isAppended && cell.items.length === before?.length) return;
    const stored = this.#layouts.get(column)?.[slot] ?? emptyListLayout;
    let chunks = 0;
    if (cell === undefined) {
      writes.push({ address: addressOf(column, key), value: undefined });
      this.#newLayouts.push({ column, slot, layout: undefined });
    } else {
      const from = isAppended ? stored : emptyListLayout;
      const encoded = encodeList(cell.items, cell.items.length, column.info.version, from);
      writes.push({ address: addressOf(column, key), value: encoded.head });
      for (const [i, value] of encoded.chunks.entries()) {
        writes.push({ address: addressOf(column, key, chunkSub(from.chunks + i)), value });
      }
      chunks = encoded.layout.chunks;
      this.#newLayouts.push({ column, slot, layout: encoded.layout });
    }
    for (let i = chunks; i < stored.chunks; i++) writes.push({ address: addressOf(column, key, chunkSub(i)), value: undefined });
  }

  commit(): void {
    for (const { column, slot, layout } of this.#newLayouts) this.learnLayout(column, slot, layout);
    for (const { cell } of this.#changedMaps) cell.commit();
  }

  undo(): void {
    let at = 0;
    for (const slot of this.#touched) {
      for (const { kind, cells } of this.#cells.points) {
        const before = this.#before[at++];
        cells[slot] = kind === 'list' && before !== undefined ? listOf(before as ListBefore) : before;
      }
    }
    for (const { cell } of this.#changedMaps) cell.undo();
  }

  end(): void {
    this.#touched = [];
    this.#before = [];
    this.#changedMaps = [];
    this.#madeMaps = [];
    this.#newLayouts = [];
  }
}

function listOf({ items, length }: ListBefore): ListCell {
  items.length = length;
  return new ListCell(items);
}
