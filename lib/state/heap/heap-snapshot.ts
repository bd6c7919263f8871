// One snapshot of a HeapState under way. It walks the slots in order; what is written before the walk gets there is captured first (H2).

import type { KeyGroupSnapshot } from '../../checkpoint/snapshot.ts';
import { encodedOf, type StateKey } from '../../core/key-codec.ts';
import { keyGroupOfKey } from '../../core/key-group.ts';
import type { ValueWriter } from '../../core/value-codec.ts';
import type { RunningSnapshot } from '../backend.ts';
import { itemTag, newChunk } from '../keyed-format.ts';
import type { Timer } from '../timers.ts';
import { type CellImage, captureCell, writeCell } from './cells.ts';
import type { Column, HeapState } from './heap-state.ts';

export class HeapSnapshot implements RunningSnapshot {
  /** The store's version when the snapshot began: slots written later have a higher one. */
  readonly version: number;
  readonly #store: HeapState;
  readonly #slotCount: number;
  readonly #onEnd: () => void;
  /** By key group. */
  readonly #chunks: (ValueWriter | undefined)[] = [];
  #kept: KeptSlots | undefined;
  readonly #timers: readonly (readonly [number, IterableIterator<readonly [string, Timer]>])[];
  #next = 0;

  constructor(store: HeapState, onEnd: () => void) {
    this.#store = store;
    this.#onEnd = onEnd;
    this.version = store.version;
    this.#slotCount = store.keys.length;
    const { event, processing } = store.timers;
    this.#timers = [
      [itemTag.eventTimer, event.snapshot().entries()],
      [itemTag.processingTimer, processing.snapshot().entries()],
    ];
  }

  /** Called before the first write to a slot since the snapshot began. */
  keep(slot: number): void {
    if (slot < this.#next || slot >= this.#slotCount) return;
    this.#kept ??= new KeptSlots(this.#slotCount, this.#store.columns.length);
    this.#kept.keep(slot, this.#store);
  }

  advance(entries: number): boolean {
    const end = Math.min(this.#slotCount, this.#next + entries);
    let left = entries - (end - this.#next);
    for (let slot = this.#next; slot < end; slot++) this.#writeSlot(slot);
    this.#next = end;
    for (const [tag, timers] of this.#timers) {
      while (left > 0) {
        const step = timers.next();
        if (step.done === true) break;
        this.#writeTimer(tag, step.value[1]);
        left -= 1;
      }
    }
    // Entries left over mean that everything was written.
    if (left <= 0) return false;
    this.#onEnd();
    return true;
  }

  groups(): readonly KeyGroupSnapshot[] {
    return this.#chunks.flatMap((chunk, group) => (chunk === undefined ? [] : [{ group, bytes: chunk.take() }]));
  }

  cancel(): void {
    this.#onEnd();
    this.#chunks.length = 0;
    this.#kept = undefined;
  }

  #writeSlot(slot: number): void {
    const store = this.#store;
    const { columns } = store;
    const isWritten = (store.versions[slot] as number) > this.version;
    const kept = isWritten ? this.#kept : undefined;
    if (isWritten && kept === undefined) return;
    const key = kept === undefined ? store.keys[slot] : kept.keys[slot];
    if (key === undefined) return;
    let chunk: ValueWriter | undefined;
    for (let index = 0; index < columns.length; index++) {
      const { kind, cells } = columns[index] as Column;
      const cell = kept === undefined ? cells[slot] : (kept.images[index] as CellImage[])[slot];
      if (cell === undefined) continue;
      chunk ??= this.#beginEntry(slot, key);
      chunk.writeVarint(index + 1);
      writeCell(kind, kept === undefined ? captureCell(kind, cell) : cell, chunk);
    }
    chunk?.writeVarint(0);
  }

  #beginEntry(slot: number, key: StateKey): ValueWriter {
    const chunk = this.#chunkOf(this.#store.groupOf(slot, key));
    chunk.writeByte(itemTag.entry);
    chunk.writeBinaryString(encodedOf(key));
    return chunk;
  }

  #writeTimer(tag: number, timer: Timer): void {
    const chunk = this.#chunkOf(keyGroupOfKey(timer.key, this.#store.maxParallelism));
    const { cause } = timer;
    chunk.writeByte(cause === undefined ? tag : causedTag(tag));
    chunk.writeValue(timer.time);
    chunk.writeBinaryString(encodedOf(timer.key));
    if (cause !== undefined) chunk.writeValue(cause);
  }

  #chunkOf(group: number): ValueWriter {
    const chunk = this.#chunks[group] ?? newChunk();
    this.#chunks[group] = chunk;
    return chunk;
  }
}

function causedTag(tag: number): number {
  return tag === itemTag.eventTimer ? itemTag.causedEventTimer : itemTag.causedProcessingTimer;
}

/** What slots held when the snapshot began, for those written since; in columns, so that keeping one allocates nothing. */
class KeptSlots {
  readonly keys: (StateKey | undefined)[];
  readonly images: readonly CellImage[][];

  constructor(slots: number, columns: number) {
    this.keys = new Array(slots);
    this.images = Array.from({ length: columns }, () => new Array(slots));
  }

  keep(slot: number, { keys, columns }: HeapState): void {
    this.keys[slot] = keys[slot];
    for (let index = 0; index < columns.length; index++) {
      const { kind, cells } = columns[index] as Column;
      const cell = cells[slot];
      if (cell !== undefined) (this.images[index] as CellImage[])[slot] = captureCell(kind, cell);
    }
  }
}
