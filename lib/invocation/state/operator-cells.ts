// The keyed state of one operator in memory: the heap of the embedded runtime, of which only some keys are there, with the changes of one unit
// on top. A key becomes resident when all its values and lists are known; the entries of its maps come one by one.
//   C1  The cells of a slot are captured before its first write in a unit. Comparing them afterwards gives the delta, putting them back undoes
//       the unit. Values never change in place, so a reference tells.
//   C2  A slot is resident, or its cells mean nothing. Resolving a batch asks for all its keys at once.
//   C3  Where state has to be loaded, a key that is known to be empty keeps its slot, or it would be read again for each record.

import type { StateShape } from '../../api/state.ts';
import type { KeyGroupSnapshot, StateInfo } from '../../checkpoint/snapshot.ts';
import { encodedOf, keyOfEncoded, type StateKey } from '../../core/key-codec.ts';
import type { KeyGroupRange } from '../../core/key-group.ts';
import type { KeyedStateRequest, RunningSnapshot } from '../../state/backend.ts';
import { ListCell } from '../../state/heap/cells.ts';
import { type Column, HeapState } from '../../state/heap/heap-state.ts';
import type { StateAddress, StateWrite, TimerChange } from '../entry.ts';
import type { Layers } from './layers.ts';
import { CachedMapState, MapCell } from './map-cell.ts';
import { notKnown, stateNotResident } from './not-resident.ts';
import { NotedTimers } from './noted-timers.ts';
import { partitionText, timersAddress } from './overlay.ts';
import {
  chunkAddresses,
  chunkSub,
  decodeCell,
  decodeEntry,
  decodeList,
  decodeTimers,
  emptyListLayout,
  encodeCell,
  encodeList,
  type ListLayout,
} from './value-format.ts';

type MapColumn = Pick<Column, 'info' | 'cells'>;

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

/** A value or list that was captured before its first write. Of a list, only the first `length` items: others were appended since. */
interface ListBefore {
  readonly items: unknown[];
  readonly length: number;
}

const residency = { unknown: 0, resident: 1, missed: 2 } as const;

/** Nothing: the changelog is the snapshot. */
const noSnapshot: RunningSnapshot = { advance: () => true, groups: () => [], cancel: () => {} };

export interface TimersPlace {
  /** Key groups whose keys may come here. */
  readonly groups: KeyGroupRange;
  /** See `timersAddress`. */
  readonly timersHolder?: string | undefined;
}

export class OperatorCells extends HeapState implements MapCells {
  override readonly timers: NotedTimers;
  readonly #layers: Layers;
  readonly #place: TimersPlace;
  /** Columns of values and lists. */
  readonly #points: readonly Column[];
  readonly #maps: readonly Column[];
  /** Of each list column, by slot. */
  readonly #listLayouts = new Map<Column, (ListLayout | undefined)[]>();
  #residency = new Uint8Array(1024);
  #missed: number[] = [];
  #hasAllTimers: boolean;

  /** Version of the heap in which the unit began; 0: none is open. */
  #unit = 0;
  /** Slots whose cells have been captured, and the captured cells of each, one after the other. */
  #touched: number[] = [];
  #before: unknown[] = [];
  #changedMaps: { readonly slot: number; readonly column: MapColumn; readonly cell: MapCell }[] = [];
  #madeMaps: { readonly slot: number; readonly column: MapColumn }[] = [];
  /** Layouts that the delta of this unit has written. */
  #newLayouts: { readonly column: Column; readonly slot: number; readonly layout: ListLayout | undefined }[] = [];
  #isEvicting = false;
  #isRestoring = false;

  constructor(request: KeyedStateRequest, layers: Layers, place: TimersPlace) {
    super(request, (store, info, cells, place) => new CachedMapState(store as OperatorCells, { info, cells }, place));
    this.#layers = layers;
    this.#place = place;
    this.#points = this.columns.filter(({ kind }) => kind !== 'map');
    this.#maps = this.columns.filter(({ kind }) => kind === 'map');
    for (const column of this.#points) if (column.kind === 'list') this.#listLayouts.set(column, []);
    this.#hasAllTimers = request.hasTimers === false;
    this.timers = new NotedTimers(request.operator, () => this.#needTimers());
    this.isAlwaysWatched = true;
    this.isWatched = true;
  }

  /** New handles on the same cells. */
  reopen(shape: StateShape): void {
    this.redeclare(shape);
  }

  get isSuspended(): boolean {
    return this.#layers.isSuspended;
  }

  // Residency

  /** @throws StateNotResident once all keys that are missing have been noted */
  override resolve(keys: readonly StateKey[], count: number, slots: Int32Array): void {
    super.resolve(keys, count, slots);
    let isMissing = false;
    for (let i = 0; i < count; i++) {
      const slot = slots[i] as number;
      if (this.#residency[slot] !== residency.resident && !this.#admit(slot)) isMissing = true;
    }
    if (isMissing) throw stateNotResident;
  }

  override selectKey(key: StateKey): void {
    super.selectKey(key);
    const slot = this.current;
    if (this.#residency[slot] !== residency.resident && !this.#admit(slot)) throw stateNotResident;
    if (this.#isRestoring) this.touch(slot);
  }

  /** Makes a slot resident from what is known; notes what is missing otherwise. */
  #admit(slot: number): boolean {
    if (this.#residency[slot] === residency.missed) return false;
    const key = encodedOf(this.keys[slot] as StateKey);
    const cells: unknown[] = [];
    let isKnown = true;
    for (const column of this.#points) {
      const cell = this.#read(column, this.#addressOf(column, key), slot);
      if (cell === notKnown) isKnown = false;
      cells.push(cell);
    }
    this.#reserve(slot);
    if (!isKnown) {
      this.#residency[slot] = residency.missed;
      this.#missed.push(slot);
      return false;
    }
    super.touch(slot);
    for (const [i, column] of this.#points.entries()) column.cells[slot] = cells[i];
    this.#residency[slot] = residency.resident;
    this.#capture(slot);
    return true;
  }

  #read(column: Column, address: StateAddress, slot: number): unknown {
    const partition = partitionText(address);
    const bytes = this.#layers.peek(address, partition);
    if (bytes === notKnown) this.#layers.miss(address, partition, column.kind === 'list');
    const layouts = this.#listLayouts.get(column);
    if (layouts !== undefined) layouts[slot] = undefined;
    if (bytes === notKnown || bytes === undefined) return bytes;
    if (layouts === undefined) return decodeCell(bytes, column, this.operator);
    const chunks: Uint8Array[] = [];
    let isKnown = true;
    for (const chunk of chunkAddresses(address, bytes)) {
      const at = this.#layers.peek(chunk, partition);
      if (at === notKnown) this.#layers.miss(chunk, partition);
      if (at === notKnown || at === undefined) isKnown = false;
      else chunks.push(at);
    }
    if (!isKnown) {
      this.#layers.miss(address, partition, true);
      return notKnown;
    }
    const { items, layout } = decodeList(bytes, chunks, column, this.operator);
    layouts[slot] = layout;
    return new ListCell(items);
  }

  #addressOf({ info }: MapColumn, key: string, sub = ''): StateAddress {
    return { operator: this.operator, state: info.name, key, sub };
  }

  #keyOf(slot: number): string {
    return encodedOf(this.keys[slot] as StateKey);
  }

  #reserve(slot: number): void {
    if (slot < this.#residency.length) return;
    const grown = new Uint8Array(this.versions.length);
    grown.set(this.#residency);
    this.#residency = grown;
  }

  // Maps

  makeMap(slot: number, column: MapColumn): MapCell {
    const cell = new MapCell();
    column.cells[slot] = cell;
    this.#madeMaps.push({ slot, column });
    return cell;
  }

  learnEntry(cell: MapCell, column: MapColumn, key: string): void {
    const address = this.#addressOf(column, this.#keyOf(this.current), key);
    const partition = partitionText(address);
    const bytes = this.#layers.peek(address, partition);
    if (bytes === notKnown) {
      this.#layers.miss(address, partition);
      throw stateNotResident;
    }
    if (bytes === undefined) cell.learnAbsent(key);
    else cell.learn(key, decodeEntry(bytes, this.#evolving(column), this.operator));
  }

  learnAll(cell: MapCell, column: MapColumn): void {
    const address = this.#addressOf(column, this.#keyOf(this.current));
    const partition = partitionText(address);
    const all = this.#layers.peekAll(address, partition);
    if (all === notKnown) {
      this.#layers.missAll(address, partition);
      throw stateNotResident;
    }
    const entries = new Map<string, unknown>();
    for (const [key, bytes] of all) if (bytes !== undefined) entries.set(key, decodeEntry(bytes, this.#evolving(column), this.operator));
    cell.becomeWhole(entries);
  }

  beforeMapChange(cell: MapCell, column: MapColumn): void {
    const slot = this.current;
    if (this.versions[slot] !== this.version) this.touch(slot);
    if (!cell.isChanged) this.#changedMaps.push({ slot, column, cell });
  }

  #evolving({ info }: MapColumn): Column {
    return this.columns.find((column) => column.info === info) as Column;
  }

  // Timers

  #needTimers(): void {
    if (this.#hasAllTimers) return;
    const groups: Uint8Array[] = [];
    let isKnown = true;
    const { groups: own, timersHolder } = this.#place;
    for (let group = own.first; group <= own.last; group++) {
      const address = timersAddress(this.operator, group, timersHolder);
      const partition = partitionText(address);
      const bytes = this.#layers.peek(address, partition);
      if (bytes === notKnown) {
        this.#layers.miss(address, partition);
        isKnown = false;
      } else if (bytes !== undefined) groups.push(bytes);
    }
    if (!isKnown) throw stateNotResident;
    this.#hasAllTimers = true;
    for (const bytes of groups)
      for (const timer of decodeTimers(bytes, this.operator)) this.timers[timer.domain].put(timer.time, timer.key, timer);
    for (const change of this.#layers.overlay.timersOf(this.operator)) this.timers.apply(change);
  }

  // The unit

  beginUnit(): void {
    this.version += 1;
    this.#unit = this.version;
  }

  override touch(slot: number): void {
    const isCaptured = (this.versions[slot] as number) >= this.#unit;
    super.touch(slot);
    if (!isCaptured) this.#capture(slot);
  }

  #capture(slot: number): void {
    if (this.#unit === 0) return;
    this.#touched.push(slot);
    for (const { kind, cells } of this.#points) {
      const cell = cells[slot];
      if (kind !== 'list' || cell === undefined) {
        this.#before.push(cell);
        continue;
      }
      const { items } = cell as ListCell;
      this.#before.push({ items, length: items.length } satisfies ListBefore);
    }
  }

  /** What the unit changed so far. */
  writeDelta(writes: StateWrite[], timers: TimerChange[]): void {
    this.#newLayouts = [];
    let at = 0;
    for (const slot of this.#touched) {
      let key: string | undefined;
      for (const column of this.#points) {
        const before = this.#before[at++];
        const cell = column.cells[slot];
        if (cell === before) continue;
        key ??= this.#keyOf(slot);
        if (column.kind === 'list') this.#writeList(column, slot, key, before as ListBefore | undefined, writes);
        else {
          const value = cell === undefined ? undefined : encodeCell(cell, column.info.version);
          writes.push({ address: this.#addressOf(column, key), value });
        }
      }
    }
    for (const { slot, column, cell } of this.#changedMaps) {
      const key = this.#keyOf(slot);
      for (const sub of cell.changes()) {
        const value = cell.has(sub) ? encodeCell(cell.get(sub), column.info.version) : undefined;
        writes.push({ address: this.#addressOf(column, key, sub), value });
      }
    }
    for (const { change } of this.timers.notes) timers.push(change);
  }

  #writeList(column: Column, slot: number, key: string, before: ListBefore | undefined, writes: StateWrite[]): void {
    const cell = column.cells[slot] as ListCell | undefined;
    const isAppended = cell !== undefined && cell.items === before?.items;
    if (isAppended && cell.items.length === before?.length) return;
    const stored = this.#listLayouts.get(column)?.[slot] ?? emptyListLayout;
    let chunks = 0;
    if (cell === undefined) {
      writes.push({ address: this.#addressOf(column, key), value: undefined });
      this.#newLayouts.push({ column, slot, layout: undefined });
    } else {
      const from = isAppended ? stored : emptyListLayout;
      const encoded = encodeList(cell.items, cell.items.length, column.info.version, from);
      writes.push({ address: this.#addressOf(column, key), value: encoded.head });
      for (const [i, value] of encoded.chunks.entries()) {
        writes.push({ address: this.#addressOf(column, key, chunkSub(from.chunks + i)), value });
      }
      chunks = encoded.layout.chunks;
      this.#newLayouts.push({ column, slot, layout: encoded.layout });
    }
    for (let i = chunks; i < stored.chunks; i++) writes.push({ address: this.#addressOf(column, key, chunkSub(i)), value: undefined });
  }

  commitUnit(): void {
    for (const { column, slot, layout } of this.#newLayouts) (this.#listLayouts.get(column) as (ListLayout | undefined)[])[slot] = layout;
    for (const { cell } of this.#changedMaps) cell.commit();
    this.timers.commit();
    this.#endUnit();
  }

  abandonUnit(): void {
    let at = 0;
    for (const slot of this.#touched) {
      for (const { kind, cells } of this.#points) {
        const before = this.#before[at++];
        cells[slot] = kind === 'list' && before !== undefined ? listOf(before as ListBefore) : before;
      }
    }
    for (const { cell } of this.#changedMaps) cell.undo();
    this.timers.undo();
    this.#endUnit();
  }

  #endUnit(): void {
    const maps = this.#madeMaps;
    if (this.#layers.base.isWholeInMemory) {
      for (const { slot, column } of [...maps, ...this.#changedMaps]) {
        if ((column.cells[slot] as MapCell | undefined)?.size === 0) {
          column.cells[slot] = undefined;
          this.noteCleared(slot);
        }
      }
    }
    for (const slot of this.#missed) if (this.#residency[slot] === residency.missed) this.#residency[slot] = residency.unknown;
    this.#unit = 0;
    this.#missed = [];
    this.#touched = [];
    this.#before = [];
    this.#changedMaps = [];
    this.#madeMaps = [];
    this.#newLayouts = [];
    super.endBatch();
  }

  /** Slots keep their keys until the unit ends: undoing it needs them. */
  override endBatch(): void {
    if (this.#unit === 0) super.endBatch();
  }

  protected override mayFree(slot: number): boolean {
    if (!this.#isEvicting && !this.#layers.base.isWholeInMemory) return false;
    this.#residency[slot] = residency.unknown;
    return true;
  }

  // What others did

  /** Another writer's change of a piece; outside of units. */
  learn({ address, value }: StateWrite): void {
    const column = this.columns.find(({ info }) => info.name === address.state);
    const slot = column === undefined ? undefined : this.slotOf(keyOfEncoded(address.key));
    if (column === undefined || slot === undefined) return;
    if (column.kind === 'map') {
      const cell = column.cells[slot] as MapCell | undefined;
      if (value === undefined) cell?.learnAbsent(address.sub);
      else cell?.learn(address.sub, decodeEntry(value, column, this.operator));
    } else if (this.#residency[slot] === residency.resident) {
      // A list may have come into other chunks than ours; it is put together again when it is needed.
      if (column.kind === 'list') this.#residency[slot] = residency.unknown;
      else column.cells[slot] = value === undefined ? undefined : decodeCell(value, column, this.operator);
    }
  }

  learnTimer(change: TimerChange): void {
    if (this.#hasAllTimers) this.timers.apply(change);
  }

  /** Forgets the cells of at least `count` keys, if there are so many; outside of units. */
  evict(count: number): void {
    this.#isEvicting = true;
    let left = count;
    for (const [slot, key] of this.keys.entries()) {
      if (left <= 0) break;
      if (key === undefined) continue;
      for (const { cells } of this.columns) cells[slot] = undefined;
      this.noteCleared(slot);
      left -= 1;
    }
    super.endBatch();
    this.#isEvicting = false;
  }

  // Snapshots of the embedded runtime

  /** Nothing: entries, and what they have been materialised to, are the snapshot. */
  override startSnapshot(): RunningSnapshot {
    return noSnapshot;
  }

  /** What is restored is a change of the unit. */
  override restore(states: readonly StateInfo[], groups: readonly KeyGroupSnapshot[]): void {
    if (groups.length === 0) return;
    this.#isRestoring = true;
    try {
      super.restore(states, groups);
    } finally {
      this.#isRestoring = false;
    }
    for (const column of this.#maps) {
      for (const [slot, tree] of column.cells.entries()) {
        if (tree === undefined || tree instanceof MapCell) continue;
        const cell = this.makeMap(slot, column);
        cell.becomeWhole(new Map());
        this.current = slot;
        this.beforeMapChange(cell, column);
        for (const [key, value] of tree as Iterable<[string, unknown]>) cell.change(key, value);
      }
    }
  }
}

function listOf({ items, length }: ListBefore): ListCell {
  items.length = length;
  return new ListCell(items);
}
