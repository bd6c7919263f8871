// Rings of a fake service. `create` asks for the job item in the same step, which is what makes it a transaction.

import type { PutOutcome, RingAddress, StoredEntry } from '../../invocation/ports.ts';
import { checkEntry, checkRing, textBytes } from '../../invocation/request-limits.ts';
import { copyOf, type FakeHost } from './fake-hooks.ts';

const keyOf = (ring: RingAddress): string => `${ring.generation}/${ring.subtask}`;
const kept = (e: StoredEntry): StoredEntry => ({ n: e.n, writer: e.writer, bytes: copyOf(e.bytes) });

interface Ring {
  readonly address: RingAddress;
  readonly slots: Map<number, StoredEntry>;
}

export class FakeChangelog {
  readonly #host: FakeHost;
  readonly #change: () => string | undefined;
  readonly #rings = new Map<string, Ring>();

  /** @param change  the `change` of the job item; `undefined` when there is none */
  constructor(host: FakeHost, change: () => string | undefined) {
    this.#host = host;
    this.#change = change;
  }

  put(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
  }): PutOutcome {
    checkEntry(p.ring, p.slot, p.entry);
    const was = this.#slots(p.ring)?.get(p.slot);
    if ((was?.n ?? 'absent') !== p.expects) {
      return { kind: 'conflict', held: was === undefined ? undefined : { n: was.n, writer: was.writer } };
    }
    this.#store(p.ring, p.slot, p.entry, 'put');
    return { kind: 'stored' };
  }

  putDuring(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
    readonly change: string;
  }): PutOutcome | { readonly kind: 'refused' } {
    checkEntry(p.ring, p.slot, p.entry);
    return this.#change() === p.change ? this.put(p) : { kind: 'refused' };
  }

  get(p: { readonly ring: RingAddress; readonly slot: number }): StoredEntry | undefined {
    checkRing(p.ring);
    const held = this.#slots(p.ring)?.get(p.slot);
    return held === undefined ? undefined : kept(held);
  }

  /** A page ends when it is full, so the last one may be empty. */
  readPage(p: { readonly ring: RingAddress; readonly from: number; readonly to: number }): {
    readonly entries: readonly StoredEntry[];
    readonly next: number | undefined;
  } {
    checkRing(p.ring);
    const slots = this.#slots(p.ring) ?? new Map<number, StoredEntry>();
    const entries: StoredEntry[] = [];
    let bytes = 0;
    for (const slot of [...slots.keys()].sort((a, b) => a - b)) {
      if (slot < p.from || slot > p.to) continue;
      const entry = kept(slots.get(slot)!);
      entries.push(entry);
      bytes += entry.bytes.length + textBytes(entry.writer);
      if (bytes >= this.#host.hooks.pageBytes) return { entries, next: slot < p.to ? slot + 1 : undefined };
    }
    return { entries, next: undefined };
  }

  create(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly change: string;
  }): 'created' | 'exists' | 'refused' {
    checkEntry(p.ring, p.slot, p.entry);
    if (this.#change() !== p.change) return 'refused';
    if (this.#slots(p.ring)?.has(p.slot)) return 'exists';
    this.#store(p.ring, p.slot, p.entry, 'create');
    return 'created';
  }

  overwrite(p: { readonly ring: RingAddress; readonly slot: number; readonly entry: StoredEntry }): void {
    checkEntry(p.ring, p.slot, p.entry);
    this.#store(p.ring, p.slot, p.entry, 'overwrite');
  }

  remove(ring: RingAddress): void {
    checkRing(ring);
    const was = this.#rings.get(keyOf(ring));
    if (!this.#rings.delete(keyOf(ring)) || was === undefined) return;
    this.#host.tell({ kind: 'ring-removed', ring: was.address, was: [...was.slots.values()] });
  }

  /** For auditors: every ring that holds anything. */
  rings(): readonly RingAddress[] {
    return [...this.#rings.values()].map((r) => r.address);
  }

  /** For auditors: what a ring holds, by slot. Not copied. */
  slotsOf(ring: RingAddress): ReadonlyMap<number, StoredEntry> {
    return this.#slots(ring) ?? new Map();
  }

  #slots(ring: RingAddress): Map<number, StoredEntry> | undefined {
    return this.#rings.get(keyOf(ring))?.slots;
  }

  #store(address: RingAddress, slot: number, entry: StoredEntry, how: 'put' | 'create' | 'overwrite'): void {
    const key = keyOf(address);
    const ring = this.#rings.get(key) ?? { address: { generation: address.generation, subtask: address.subtask }, slots: new Map() };
    this.#rings.set(key, ring);
    const was = ring.slots.get(slot);
    const now = kept(entry);
    ring.slots.set(slot, now);
    this.#host.tell({ kind: 'entry', ring: ring.address, slot, entry: now, was, how });
  }
}
