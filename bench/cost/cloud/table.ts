// table.ts is one table in memory: items under a partition key and, where it has one, a sort key.

import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { compareTexts, type Item } from './expressions.ts';

interface Partition {
  readonly items: Map<string, Item>;
  /** Sort keys in order; absent until somebody asks in order. */
  sorted: readonly string[] | undefined;
}

const textOf = (value: AttributeValue | undefined): string =>
  value?.S ?? value?.N ?? (value?.B && Buffer.from(value.B).toString('hex')) ?? '';

/** Bytes are copied, so that nobody shares them. */
export function copyOf(item: Item): Item {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, value.B === undefined ? value : { B: Uint8Array.from(value.B) }]),
  );
}

export class Table {
  readonly partitionName: string;
  readonly sortName: string | undefined;
  readonly #partitions = new Map<string, Partition>();

  constructor([partitionName, sortName]: readonly [partition: string, sort?: string]) {
    this.partitionName = partitionName;
    this.sortName = sortName;
  }

  keyOf(item: Item): Item {
    const names = this.sortName === undefined ? [this.partitionName] : [this.partitionName, this.sortName];
    return Object.fromEntries(names.map((name) => [name, item[name] as AttributeValue]));
  }

  get(key: Item): Item | undefined {
    return this.#partitions.get(textOf(key[this.partitionName]))?.items.get(this.#sortOf(key));
  }

  put(item: Item): void {
    const name = textOf(item[this.partitionName]);
    const partition: Partition = this.#partitions.get(name) ?? { items: new Map(), sorted: undefined };
    this.#partitions.set(name, partition);
    const sort = this.#sortOf(item);
    if (!partition.items.has(sort)) partition.sorted = undefined;
    partition.items.set(sort, copyOf(item));
  }

  delete(key: Item): void {
    const partition = this.#partitions.get(textOf(key[this.partitionName]));
    if (partition?.items.delete(this.#sortOf(key))) partition.sorted = undefined;
  }

  /** Items of a partition in order of their sort keys, from the first one behind `after`. */
  *inOrder(name: AttributeValue | undefined, after: Item | undefined): Generator<Item> {
    const partition = this.#partitions.get(textOf(name));
    if (partition === undefined) return;
    partition.sorted ??= [...partition.items.keys()].sort(compareTexts);
    const behind = after === undefined ? undefined : this.#sortOf(after);
    for (const sort of partition.sorted) {
      if (behind === undefined || compareTexts(sort, behind) > 0) yield partition.items.get(sort) as Item;
    }
  }

  *items(): Generator<Item> {
    for (const { items } of this.#partitions.values()) yield* items.values();
  }

  #sortOf(item: Item): string {
    return this.sortName === undefined ? '' : textOf(item[this.sortName]);
  }
}
