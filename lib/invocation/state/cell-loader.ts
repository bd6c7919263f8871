// Reads the cells of one operator from the layers below them. What is not known there is noted as missed.

import { ListCell } from '../../state/heap/cells.ts';
import type { Column } from '../../state/heap/heap-state.ts';
import type { StateAddress } from '../entry.ts';
import type { Layers } from './layers.ts';
import { type NotKnown, notKnown } from './not-resident.ts';
import { partitionText } from './overlay.ts';
import { chunkAddresses, decodeCell, decodeEntry, decodeList, type ListLayout } from './value-format.ts';

/** A list, and how it is cut into chunks. */
interface LoadedList {
  readonly cell: ListCell;
  readonly layout: ListLayout;
}

export class CellLoader {
  readonly #operator: string;
  readonly #layers: Layers;

  constructor(operator: string, layers: Layers) {
    this.#operator = operator;
    this.#layers = layers;
  }

  addressOf({ info }: Pick<Column, 'info'>, key: string, sub = ''): StateAddress {
    return { operator: this.#operator, state: info.name, key, sub };
  }

  /** @returns the value as it is kept in its cell; `undefined`: there is none */
  value(column: Column, key: string): unknown {
    const bytes = this.bytes(this.addressOf(column, key));
    return bytes === notKnown || bytes === undefined ? bytes : decodeCell(bytes, column, this.#operator);
  }

  list(column: Column, key: string): LoadedList | undefined | NotKnown {
    const address = this.addressOf(column, key);
    const partition = partitionText(address);
    const bytes = this.#layers.peek(address, partition);
    if (bytes === notKnown) this.#layers.miss(address, partition, true);
    if (bytes === notKnown || bytes === undefined) return bytes;
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
    const { items, layout } = decodeList(bytes, chunks, column, this.#operator);
    return { cell: new ListCell(items), layout };
  }

  /** All entries of a map, in stored form. */
  entries(column: Column, key: string): ReadonlyMap<string, unknown> | NotKnown {
    const address = this.addressOf(column, key);
    const partition = partitionText(address);
    const all = this.#layers.peekAll(address, partition);
    if (all === notKnown) {
      this.#layers.missAll(address, partition);
      return notKnown;
    }
    const entries = new Map<string, unknown>();
    for (const [sub, bytes] of all) if (bytes !== undefined) entries.set(sub, decodeEntry(bytes, column, this.#operator));
    return entries;
  }

  /** What lies at an address. */
  bytes(address: StateAddress): Uint8Array | undefined | NotKnown {
    const partition = partitionText(address);
    const bytes = this.#layers.peek(address, partition);
    if (bytes === notKnown) this.#layers.miss(address, partition);
    return bytes;
  }
}
