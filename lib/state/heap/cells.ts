// What lies in one cell (one state of one key) of the heap, and how it is captured for a snapshot and written down. An empty cell is
// `undefined`; whatever a capture returns never changes afterwards, because values are frozen, list items are only appended behind the
// captured length, and map trees copy what they change.

import { CowTree, type ReadonlyCowTree } from '../../core/cow-tree.ts';
import type { ValueReader, ValueWriter } from '../../core/value-codec.ts';

/** A stored `undefined`, which an empty cell must not be mistaken for. */
export const storedUndefined: unique symbol = Symbol('undefined');

export class ListCell {
  items: unknown[];
  /** Handed out by `get` until the next change. */
  view: readonly unknown[] | undefined;

  constructor(items: unknown[]) {
    this.items = items;
    this.view = undefined;
  }
}

export interface ListImage {
  readonly items: readonly unknown[];
  readonly length: number;
}

export type CellKind = 'single' | 'list' | 'map';
export type CellImage = unknown;

/** `cell` is not empty. */
export function captureCell(kind: CellKind, cell: unknown): CellImage {
  if (kind === 'list') {
    const { items } = cell as ListCell;
    return { items, length: items.length } satisfies ListImage;
  }
  if (kind === 'map') return (cell as CowTree<unknown>).snapshot();
  return cell;
}

export function writeCell(kind: CellKind, image: CellImage, to: ValueWriter): void {
  if (kind === 'list') {
    const { items, length } = image as ListImage;
    to.writeVarint(length);
    for (let i = 0; i < length; i++) to.writeValue(items[i]);
  } else if (kind === 'map') {
    const tree = image as ReadonlyCowTree<unknown>;
    to.writeVarint(tree.size);
    for (const [key, value] of tree.entries()) {
      to.writeBinaryString(key);
      to.writeValue(value);
    }
  } else {
    to.writeValue(image === storedUndefined ? undefined : image);
  }
}

/** @param read  takes one value off the reader, in stored form; migrates it where the state has evolved */
export function readCell(kind: CellKind, from: ValueReader, read: (from: ValueReader) => unknown): unknown {
  if (kind === 'list') {
    const items: unknown[] = [];
    for (let left = from.readVarint(); left > 0; left--) items.push(read(from));
    return new ListCell(items);
  }
  if (kind === 'map') {
    const tree = new CowTree<unknown>();
    for (let left = from.readVarint(); left > 0; left--) {
      const key = from.readBinaryString();
      tree.set(key, read(from));
    }
    return tree;
  }
  const value = read(from);
  return value === undefined ? storedUndefined : value;
}
