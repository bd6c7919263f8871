// What must hold of kept input at every durable change.
//   K1  The length that a head gives is what its segments and its ring hold together.
//   K2  Nothing is removed that a restore to a retained or open checkpoint would ask for, or a replay that is due.

import type { Entry, EntryHead, LaneProgress } from '../../../lib/invocation/entry.ts';
import { bodyObjectOf, decodeHead, isClosedStub, unpackEntry, unpackHead } from '../../../lib/invocation/entry-codec.ts';
import type { JobItem } from '../../../lib/invocation/job-item.ts';
import { decodeHandle, decodeHandles, decodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import { decodeReplay, decodeSegment } from '../../../lib/invocation/lane/kept-format.ts';
import type { FakeService, ServiceChange } from '../../../lib/testing/index.ts';

interface Ring {
  head: EntryHead;
  readonly kept: Map<number, number>;
}

export class KeptWatch {
  item: JobItem | undefined;
  readonly #service: FakeService;
  readonly #fail: (what: string) => void;
  readonly #onEntry: (entry: Entry) => void;
  readonly #rings = new Map<string, Ring>();

  constructor(p: { readonly service: FakeService; readonly fail: (what: string) => void; readonly onEntry: (entry: Entry) => void }) {
    this.#service = p.service;
    this.#fail = p.fail;
    this.#onEntry = p.onEntry;
    p.service.observers.push((change) => this.#observe(change));
  }

  head(subtask: string): EntryHead | undefined {
    return this.item === undefined ? undefined : this.#rings.get(`${this.item.generation}/${subtask}`)?.head;
  }

  #observe(change: ServiceChange): void {
    if (change.kind === 'item' && change.name === 'job') this.item = decodeJobItem(change.content.bytes);
    if (change.kind === 'entry' && !isClosedStub(change.entry.bytes)) this.#meetEntry(change);
    if (change.kind === 'object-removed') {
      const by = this.#needs(change.name);
      if (by !== undefined) this.#fail(`I5: ${change.name} is removed, and ${by} needs it`);
    }
  }

  #meetEntry({ ring, entry }: ServiceChange & { readonly kind: 'entry' }): void {
    const head = unpackHead(entry.bytes);
    const key = `${ring.generation}/${ring.subtask}`;
    const known: Ring = this.#rings.get(key) ?? { head, kept: new Map() };
    known.head = head;
    this.#rings.set(key, known);
    if (bodyObjectOf(entry.bytes) !== undefined) throw new Error('bodies are to lie in their entries here');
    void unpackEntry(entry.bytes, { get: () => Promise.resolve(undefined) } as never).then((whole) => {
      known.kept.set(whole.head.n, whole.body.kept?.length ?? 0);
      if (head.lane !== undefined) this.#checkLength(key, known, head, head.lane);
      this.#onEntry(whole);
    });
  }

  #checkLength(key: string, { kept }: Ring, { n, flushedThrough }: EntryHead, lane: LaneProgress): void {
    let inRing = 0;
    for (const [number, units] of kept) if (number > flushedThrough && number <= n) inRing += units;
    if (lane.stored + inRing !== lane.kept)
      this.#fail(`${key} ${n}: ${lane.kept} units are kept, ${lane.stored} in segments and ${inRing} in the ring`);
  }

  #needs(name: string): string | undefined {
    const { item } = this;
    if (item === undefined || !(name.startsWith('kept/') || name.startsWith('replay/'))) return undefined;
    const retained = item.completed.flatMap((c) =>
      decodeHandles(this.#service.objects.peek(c.metadata)!).map(({ head }) => decodeHead(head)),
    );
    const isOpen = (name: string): boolean => item.open.some(({ checkpoint }) => checkpoint === Number(name.split('/')[1]));
    const acknowledged = this.#service.items.list('ack/').filter((one) => isOpen(one.name));
    const open = acknowledged.map(({ bytes }) => decodeHead(decodeHandle(bytes).head));
    for (const { subtask } of item.owners) {
      const lane = this.head(subtask)?.lane;
      if (lane === undefined) continue;
      const counts = [...retained, ...open].filter((head) => head.subtask === subtask).map((head) => head.lane?.kept ?? 0);
      if (this.#isAbove(name, lane, Math.min(lane.kept, ...counts))) return `${subtask}, for a restore`;
      if (this.#isToReplay(name, lane)) return `the replay of ${subtask}`;
    }
    return undefined;
  }

  /** The object itself is still there while it is asked about. */
  #isAbove(name: string, { segment, stored }: LaneProgress, floor: number): boolean {
    let object = segment;
    for (let to = stored; object !== undefined && to > floor; ) {
      if (object === name) return true;
      const bytes = this.#service.objects.peek(object);
      if (bytes === undefined) return false;
      const { previous, from } = decodeSegment(bytes);
      object = previous;
      to = Math.min(to, from);
    }
    return false;
  }

  #isToReplay(name: string, { replay }: LaneProgress): boolean {
    if (replay === undefined || replay.taken >= replay.count) return false;
    if (replay.object === name) return true;
    const bytes = this.#service.objects.peek(replay.object);
    let over = 0;
    for (const part of bytes === undefined ? [] : decodeReplay(bytes)) {
      over += part.count;
      if (over > replay.taken && part.object === name) return true;
    }
    return false;
  }
}
