// One snapshot of a HeapState under way. It walks the slots in order; what is written before the walk gets there is captured first (H2).

import type { KeyGroupSnapshot } from '../../checkpoint/snapshot.ts';
import { encodedOf, type StateKey } from '../../core/key-codec.ts';
import { keyGroupOf } from '../../core/key-group.ts';
import type { ValueWriter } from '../../core/value-codec.ts';
import type { RunningSnapshot } from '../backend.ts';
import { itemTag, newChunk } from '../keyed-format.ts';
import type { Timer } from '../timers.ts';
import { type CellImage, writeCell } from './cells.ts';
import type { HeapState } from './heap-state.ts';

interface KeptSlot {
  readonly key: StateKey | undefined;
  readonly cells: readonly CellImage[];
}

export class HeapSnapshot implements RunningSnapshot {
  /** The store's version when the snapshot began: slots written later have a higher one. */
  readonly version: number;
  readonly #store: HeapState;
  readonly #slotCount: number;
  readonly #onEnd: () => void;
  readonly #chunks = new Map<number, ValueWriter>();
  readonly #kept = new Map<number, KeptSlot>();
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
    if (slot < this.#next || slot >= this.#slotCount || this.#kept.has(slot)) return;
    this.#kept.set(slot, { key: this.#store.keys[slot], cells: this.#store.capture(slot) });
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
    return [...this.#chunks.keys()]
      .sort((a, b) => a - b)
      .map((group) => ({ group, bytes: (this.#chunks.get(group) as ValueWriter).take() }));
  }

  cancel(): void {
    this.#onEnd();
    this.#chunks.clear();
    this.#kept.clear();
  }

  #writeSlot(slot: number): void {
    const store = this.#store;
    if ((store.versions[slot] as number) > this.version) {
      const kept = this.#kept.get(slot);
      if (kept?.key !== undefined) this.#writeEntry(kept.key, kept.cells);
      this.#kept.delete(slot);
      return;
    }
    const key = store.keys[slot];
    if (key !== undefined) this.#writeEntry(key, store.capture(slot));
  }

  #writeEntry(key: StateKey, cells: readonly CellImage[]): void {
    if (cells.every((cell) => cell === undefined)) return;
    const encoded = encodedOf(key);
    const chunk = this.#chunkOf(encoded);
    chunk.writeByte(itemTag.entry);
    chunk.writeString(encoded);
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index];
      if (cell === undefined) continue;
      chunk.writeVarint(index + 1);
      writeCell(this.#store.columns[index]?.kind ?? 'single', cell, chunk);
    }
    chunk.writeVarint(0);
  }

  #writeTimer(tag: number, timer: Timer): void {
    const encoded = encodedOf(timer.key);
    const chunk = this.#chunkOf(encoded);
    chunk.writeByte(tag);
    chunk.writeValue(timer.time);
    chunk.writeString(encoded);
  }

  #chunkOf(encoded: string): ValueWriter {
    const group = keyGroupOf(encoded, this.#store.maxParallelism);
    let chunk = this.#chunks.get(group);
    if (chunk === undefined) {
      chunk = newChunk();
      this.#chunks.set(group, chunk);
    }
    return chunk;
  }
}
