// The state table of a fake service. Each item stands for itself; a batch gives up where the hooks say so, and a batch of reads also where one
// partition has given a page.

import type { ItemAddress, StateItem, StatePut } from '../../invocation/ports.ts';
import { checkPuts, checkReads, compareTexts, readManyBytesMax, stateItemBytes } from '../../invocation/request-limits.ts';
import { copyOf, type FakeHost } from './fake-hooks.ts';

const kept = (i: StateItem): StateItem => ({
  address: { partition: i.address.partition, sort: i.address.sort },
  tags: i.tags,
  bytes: copyOf(i.bytes),
});

export class FakeTable {
  readonly #host: FakeHost;
  /** By partition, then by sort text. */
  readonly #partitions = new Map<string, Map<string, StatePut>>();

  constructor(host: FakeHost) {
    this.#host = host;
  }

  readMany(addresses: readonly ItemAddress[]): { readonly items: readonly StateItem[]; readonly left: readonly ItemAddress[] } {
    checkReads(addresses);
    const leaves = new Set(this.#host.hooks.leave(addresses.length, 'table.readMany'));
    const items: StateItem[] = [];
    const left: ItemAddress[] = [];
    const given = new Map<string, number>();
    let all = 0;
    addresses.forEach((address, i) => {
      const held = this.#get(address);
      const sofar = given.get(address.partition) ?? 0;
      if (leaves.has(i) || sofar >= this.#host.hooks.pageBytes || all >= readManyBytesMax) left.push(address);
      else if (held !== undefined) {
        items.push(kept(held));
        given.set(address.partition, sofar + stateItemBytes(held));
        all += stateItemBytes(held);
      }
    });
    return { items: items.reverse(), left };
  }

  readPartition(p: { readonly partition: string; readonly after: string | undefined }): {
    readonly items: readonly StateItem[];
    readonly next: string | undefined;
  } {
    const items: StateItem[] = [];
    let bytes = 0;
    for (const held of this.itemsOf(p.partition)) {
      if (p.after !== undefined && compareTexts(held.address.sort, p.after) <= 0) continue;
      items.push(kept(held));
      bytes += stateItemBytes(held);
      if (bytes >= this.#host.hooks.pageBytes) return { items, next: held.address.sort };
    }
    return { items, next: undefined };
  }

  putMany(puts: readonly StatePut[]): readonly ('stored' | 'conflict' | 'left')[] {
    checkPuts(puts);
    const leaves = new Set(this.#host.hooks.leave(puts.length, 'table.putMany'));
    return puts.map((put, i) => {
      if (leaves.has(i)) return 'left';
      const was = this.#get(put.address);
      if ((was?.tags ?? 'absent') !== put.expects) return 'conflict';
      const item: StatePut = { ...kept(put), expects: put.expects, expiresAtMs: put.expiresAtMs };
      const partition = this.#partitions.get(item.address.partition) ?? new Map<string, StatePut>();
      this.#partitions.set(item.address.partition, partition.set(item.address.sort, item));
      this.#host.tell({ kind: 'state-item', item, was });
      return 'stored';
    });
  }

  /** Removes what the service may remove by now. A service takes its time, so this happens when it is asked for and not by itself. */
  expire(): void {
    for (const item of this.items()) {
      if (item.expiresAtMs === undefined || item.expiresAtMs > this.#host.hooks.now()) continue;
      this.#partitions.get(item.address.partition)?.delete(item.address.sort);
      this.#host.tell({ kind: 'state-item-expired', was: item });
    }
  }

  /** For auditors: every item. Not copied. */
  items(): readonly StatePut[] {
    return [...this.#partitions.values()].flatMap((p) => [...p.values()]);
  }

  /** For auditors: items of a partition in order. Not copied. */
  itemsOf(partition: string): readonly StatePut[] {
    return [...(this.#partitions.get(partition)?.values() ?? [])].sort((a, b) => compareTexts(a.address.sort, b.address.sort));
  }

  #get(address: ItemAddress): StatePut | undefined {
    return this.#partitions.get(address.partition)?.get(address.sort);
  }
}
