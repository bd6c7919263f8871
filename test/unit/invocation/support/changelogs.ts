// A changelog in memory, small pages, and something that may happen between two of its reads.

import type { Changelog, RingAddress, StoredEntry } from '../../../../lib/invocation/ports.ts';

export const ring: RingAddress = { generation: 0, subtask: '0-0' };

export class MemoryChangelog implements Changelog {
  readonly slots = new Map<number, StoredEntry>();
  /** Slots that a page looks at. */
  pageSlots = 1_000;
  /** Called before each read. */
  onRead: () => void = () => undefined;
  reads = 0;
  loseReplies = 0;

  async put(p: Parameters<Changelog['put']>[0]): ReturnType<Changelog['put']> {
    const held = this.slots.get(p.slot);
    if ((held?.n ?? 'absent') !== p.expects) return { kind: 'conflict', held };
    this.slots.set(p.slot, p.entry);
    if (this.loseReplies > 0) {
      this.loseReplies--;
      throw new Error('no reply');
    }
    return { kind: 'stored' };
  }

  async putDuring(p: Parameters<Changelog['putDuring']>[0]): ReturnType<Changelog['putDuring']> {
    return this.put(p);
  }

  async get(p: { readonly slot: number }): Promise<StoredEntry | undefined> {
    this.reads++;
    this.onRead();
    return this.slots.get(p.slot);
  }

  async readPage(p: { readonly from: number; readonly to: number }): ReturnType<Changelog['readPage']> {
    this.reads++;
    this.onRead();
    const last = Math.min(p.to, p.from + this.pageSlots - 1);
    const entries: StoredEntry[] = [];
    for (let slot = p.from; slot <= last; slot++) {
      const entry = this.slots.get(slot);
      if (entry !== undefined) entries.push(entry);
    }
    return { entries, next: last < p.to ? last + 1 : undefined };
  }

  async create(): Promise<'refused'> {
    return 'refused';
  }

  async overwrite(p: { readonly slot: number; readonly entry: StoredEntry }): Promise<void> {
    this.slots.set(p.slot, p.entry);
  }

  async remove(): Promise<void> {
    this.slots.clear();
  }
}
