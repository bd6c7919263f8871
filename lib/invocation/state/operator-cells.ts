// The keyed state of one operator in memory: the heap of the embedded runtime, of which only some keys are there, with the changes of one unit
// on top. A key becomes resident when all its values and lists are known; the entries of its maps come one by one.
//   C1  The cells of a slot are captured before its first write in a unit. Comparing them afterwards gives the delta, putting them back undoes
//       the unit (unit-changes.ts).
//   C2  A slot is resident, or its cells mean nothing (residency.ts). Resolving a batch asks for all its keys at once.
//   C3  Where state has to be loaded (cell-loader.ts), a key that is known to be empty keeps its slot, or it would be read again for each record.

import type { StateShape } from '../../api/state.ts';
import type { KeyGroupSnapshot, StateInfo } from '../../checkpoint/snapshot.ts';
import { encodedOf, keyOfEncoded, type StateKey } from '../../core/key-codec.ts';
import type { KeyGroupRange } from '../../core/key-group.ts';
import type { KeyedStateRequest, RunningSnapshot } from '../../state/backend.ts';
import { type Column, HeapState } from '../../state/heap/heap-state.ts';
import type { StateWrite, TimerChange } from '../entry.ts';
import { CellLoader } from './cell-loader.ts';
import type { Layers } from './layers.ts';
import { CachedMapState, MapCell, type MapCells, type MapColumn } from './map-cell.ts';
import { notKnown, stateNotResident } from './not-resident.ts';
import { NotedTimers } from './noted-timers.ts';
import { timersAddress } from './overlay.ts';
import { Residency } from './residency.ts';
import { UnitChanges } from './unit-changes.ts';
import { decodeCell, decodeEntry, decodeTimers } from './value-format.ts';

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
  readonly #loader: CellLoader;
  readonly #place: TimersPlace;
  /** Columns of values and lists. */
  readonly #points: readonly Column[];
  readonly #maps: readonly Column[];
  readonly #residency = new Residency();
  readonly #changes: UnitChanges;
  #hasAllTimers: boolean;

  /** Version of the heap in which the unit began; 0: none is open. */
  #unit = 0;
  #isEvicting = false;
  #isRestoring = false;

  constructor(request: KeyedStateRequest, layers: Layers, place: TimersPlace) {
    super(request, (store, info, cells, place) => new CachedMapState(store as OperatorCells, { info, cells }, place));
    this.#layers = layers;
    this.#loader = new CellLoader(request.operator, layers);
    this.#place = place;
    this.#points = this.columns.filter(({ kind }) => kind !== 'map');
    this.#maps = this.columns.filter(({ kind }) => kind === 'map');
    this.#changes = new UnitChanges({
      points: this.#points,
      keyOf: (slot) => this.#keyOf(slot),
      addressOf: (column, key, sub) => this.#loader.addressOf(column, key, sub),
    });
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
      if (!this.#residency.isResident(slot) && !this.#admit(slot)) isMissing = true;
    }
    if (isMissing) throw stateNotResident;
  }

  override selectKey(key: StateKey): void {
    super.selectKey(key);
    const slot = this.current;
    if (!this.#residency.isResident(slot) && !this.#admit(slot)) throw stateNotResident;
    if (this.#isRestoring) this.touch(slot);
  }

  /** Makes a slot resident from what is known; notes what is missing otherwise. */
  #admit(slot: number): boolean {
    if (this.#residency.isMissed(slot)) return false;
    const key = this.#keyOf(slot);
    const cells = this.#points.map((column) => this.#read(column, key, slot));
    if (cells.includes(notKnown)) {
      this.#residency.misses(slot, this.versions.length);
      return false;
    }
    super.touch(slot);
    for (const [i, column] of this.#points.entries()) column.cells[slot] = cells[i];
    this.#residency.becomesResident(slot, this.versions.length);
    this.#capture(slot);
    return true;
  }

  #read(column: Column, key: string, slot: number): unknown {
    if (column.kind !== 'list') return this.#loader.value(column, key);
    const list = this.#loader.list(column, key);
    const isThere = list !== undefined && list !== notKnown;
    this.#changes.learnLayout(column, slot, isThere ? list.layout : undefined);
    return isThere ? list.cell : list;
  }

  #keyOf(slot: number): string {
    return encodedOf(this.keys[slot] as StateKey);
  }

  // Maps

  makeMap(slot: number, column: MapColumn): MapCell {
    const cell = new MapCell();
    column.cells[slot] = cell;
    this.#changes.noteMade(slot, column);
    return cell;
  }

  learnEntry(cell: MapCell, column: MapColumn, key: string): void {
    const bytes = this.#loader.bytes(this.#loader.addressOf(column, this.#keyOf(this.current), key));
    if (bytes === notKnown) throw stateNotResident;
    if (bytes === undefined) cell.learnAbsent(key);
    else cell.learn(key, decodeEntry(bytes, this.#evolving(column), this.operator));
  }

  learnAll(cell: MapCell, column: MapColumn): void {
    const entries = this.#loader.entries(this.#evolving(column), this.#keyOf(this.current));
    if (entries === notKnown) throw stateNotResident;
    cell.becomeWhole(entries);
  }

  beforeMapChange(cell: MapCell, column: MapColumn): void {
    const slot = this.current;
    if (this.versions[slot] !== this.version) this.touch(slot);
    if (!cell.isChanged) this.#changes.noteChanged(slot, column, cell);
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
      const bytes = this.#loader.bytes(timersAddress(this.operator, group, timersHolder));
      if (bytes === notKnown) isKnown = false;
      else if (bytes !== undefined) groups.push(bytes);
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
    if (this.#unit !== 0) this.#changes.capture(slot);
  }

  /** What the unit changed so far. */
  writeDelta(writes: StateWrite[], timers: TimerChange[]): void {
    this.#changes.writeDelta(writes);
    for (const { change } of this.timers.notes) timers.push(change);
  }

  commitUnit(): void {
    this.#changes.commit();
    this.timers.commit();
    this.#endUnit();
  }

  abandonUnit(): void {
    this.#changes.undo();
    this.timers.undo();
    this.#endUnit();
  }

  #endUnit(): void {
    if (this.#layers.base.isWholeInMemory) {
      for (const { slot, column } of this.#changes.maps) {
        if ((column.cells[slot] as MapCell | undefined)?.size === 0) {
          column.cells[slot] = undefined;
          this.noteCleared(slot);
        }
      }
    }
    this.#residency.endUnit();
    this.#unit = 0;
    this.#changes.end();
    super.endBatch();
  }

  /** Slots keep their keys until the unit ends: undoing it needs them. */
  override endBatch(): void {
    if (this.#unit === 0) super.endBatch();
  }

  protected override mayFree(slot: number): boolean {
    if (!this.#isEvicting && !this.#layers.base.isWholeInMemory) return false;
    this.#residency.forget(slot);
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
    } else if (this.#residency.isResident(slot)) {
      // A list may have come into other chunks than ours; it is put together again when it is needed.
      if (column.kind === 'list') this.#residency.forget(slot);
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
