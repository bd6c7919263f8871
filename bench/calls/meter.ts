// meter.ts counts what the runtime asks of its ports, request by request, in the units that a store charges for.
//   M1  A write unit is one begun KB of an item with its names, at least one; of an item that is overwritten, the larger one of old and new counts.
//       A put that is refused is charged like one that is not.
//   M2  A read unit is one begun 4 KB of a strong read: of each item where items are named one by one, of the whole page where they are not.
//   M3  Objects, messages and lists of names have no units. What an object is worth in write units is said where they are added up.

import type { InvocationPorts, RingAddress, StoredEntry, StoredJobItem } from '../../lib/invocation/ports.ts';
import { addressKey, messageBytes, stateItemBytes, textBytes } from '../../lib/invocation/request-limits.ts';

export const kinds = [
  'append',
  'slot read',
  'ring page',
  'ring create',
  'slot overwrite',
  'ring remove',
  'table read',
  'partition read',
  'table write',
  'item get',
  'item put',
  'item list',
  'item remove',
  'row write',
  'object put',
  'object get',
  'object list',
  'object remove',
  'send',
  'receive',
  'settle',
  'release',
] as const;
export type Kind = (typeof kinds)[number];

export interface Tally {
  readonly requests: number;
  /** Items, entries, objects or messages in them. */
  readonly items: number;
  readonly bytes: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  /** What a queue charges for: known only where messages are text. */
  readonly queueUnits: number;
  /** What a stream charges for. */
  readonly putUnits: number;
  /** Items that a condition kept from being written. */
  readonly refused: number;
}

export type Counts = Readonly<Record<Kind, Tally>>;

const nothing: Tally = { requests: 0, items: 0, bytes: 0, writeUnits: 0, readUnits: 0, queueUnits: 0, putUnits: 0, refused: 0 };

export const noCounts: Counts = Object.fromEntries(kinds.map((kind) => [kind, nothing])) as Record<Kind, Tally>;

function combine(a: Counts, b: Counts, sign: 1 | -1): Counts {
  const sum = (x: Tally, y: Tally): Tally => ({
    requests: x.requests + sign * y.requests,
    items: x.items + sign * y.items,
    bytes: x.bytes + sign * y.bytes,
    writeUnits: x.writeUnits + sign * y.writeUnits,
    readUnits: x.readUnits + sign * y.readUnits,
    queueUnits: x.queueUnits + sign * y.queueUnits,
    putUnits: x.putUnits + sign * y.putUnits,
    refused: x.refused + sign * y.refused,
  });
  return Object.fromEntries(kinds.map((kind) => [kind, sum(a[kind], b[kind])])) as Record<Kind, Tally>;
}

export const plus = (a: Counts, b: Counts): Counts => combine(a, b, 1);
export const minus = (a: Counts, b: Counts): Counts => combine(a, b, -1);

export function requestsOf(counts: Counts, of: readonly Kind[] = kinds): number {
  return of.reduce((sum, kind) => sum + counts[kind].requests, 0);
}

/** Attribute names and the numbers of an item. */
const attributeBytes = 32;
const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1_024));
const readUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 4_096));

const entryBytes = (ring: RingAddress, e: StoredEntry): number =>
  attributeBytes + textBytes(ring.subtask) + textBytes(e.writer) + e.bytes.length;
const jobItemBytes = (i: Pick<StoredJobItem, 'name' | 'change' | 'bytes'>): number =>
  attributeBytes + textBytes(i.name) + textBytes(i.change) + i.bytes.length;

/** How large each stored item is: what overwriting it costs. One for all who share a store. */
export class SizeBook {
  readonly #sizes = new Map<string, number>();

  of(name: string): number {
    return this.#sizes.get(name) ?? 0;
  }

  put(name: string, bytes: number): void {
    this.#sizes.set(name, bytes);
  }
}

const slotName = (ring: RingAddress, slot: number): string => `ring ${ring.generation}/${ring.subtask}/${slot}`;

export class Meter {
  readonly #tallies = new Map<Kind, { -readonly [Name in keyof Tally]: Tally[Name] }>();
  /** Bytes of each entry appended, and of each object put. */
  readonly entrySizes: number[] = [];
  readonly objectSizes: number[] = [];

  get counts(): Counts {
    return Object.fromEntries(kinds.map((kind) => [kind, { ...nothing, ...this.#tallies.get(kind) }])) as Record<Kind, Tally>;
  }

  add(kind: Kind, more: Partial<Tally>): void {
    const tally = this.#tallies.get(kind) ?? { ...nothing };
    this.#tallies.set(kind, tally);
    tally.requests += more.requests ?? 1;
    tally.items += more.items ?? 1;
    tally.bytes += more.bytes ?? 0;
    tally.writeUnits += more.writeUnits ?? 0;
    tally.readUnits += more.readUnits ?? 0;
    tally.queueUnits += more.queueUnits ?? 0;
    tally.putUnits += more.putUnits ?? 0;
    tally.refused += more.refused ?? 0;
  }
}

/** The same ports; each request is counted when it has been answered. */
export function meteredPorts(ports: InvocationPorts, meter: Meter, book: SizeBook): InvocationPorts {
  return {
    changelog: changelog(ports, meter, book),
    table: table(ports, meter, book),
    items: items(ports, meter, book),
    objects: objects(ports, meter),
    exchange: exchange(ports, meter),
  };
}

function changelog({ changelog }: InvocationPorts, meter: Meter, book: SizeBook): InvocationPorts['changelog'] {
  const write = (ring: RingAddress, slot: number, entry: StoredEntry, isStored: boolean): Partial<Tally> => {
    const bytes = entryBytes(ring, entry);
    const name = slotName(ring, slot);
    const units = writeUnits(Math.max(bytes, book.of(name)));
    if (isStored) book.put(name, bytes);
    return { bytes, writeUnits: units, refused: isStored ? 0 : 1 };
  };
  return {
    put: async (p) => {
      const outcome = await changelog.put(p);
      const tally = write(p.ring, p.slot, p.entry, outcome.kind === 'stored');
      meter.add('append', tally);
      meter.entrySizes.push(tally.bytes ?? 0);
      return outcome;
    },
    putDuring: async (p) => {
      const outcome = await changelog.putDuring(p);
      const tally = write(p.ring, p.slot, p.entry, outcome.kind === 'stored');
      meter.add('append', tally);
      meter.entrySizes.push(tally.bytes ?? 0);
      return outcome;
    },
    get: async (p) => {
      const entry = await changelog.get(p);
      const bytes = entry === undefined ? 0 : entryBytes(p.ring, entry);
      meter.add('slot read', { bytes, readUnits: readUnits(bytes) });
      return entry;
    },
    readPage: async (p) => {
      const page = await changelog.readPage(p);
      const bytes = page.entries.reduce((sum, e) => sum + entryBytes(p.ring, e), 0);
      meter.add('ring page', { items: page.entries.length, bytes, readUnits: readUnits(bytes) });
      return page;
    },
    create: async (p) => {
      const outcome = await changelog.create(p);
      const tally = write(p.ring, p.slot, p.entry, outcome === 'created');
      // A transaction of two items is charged twice, and the check of the job item like a write of it.
      meter.add('ring create', { ...tally, writeUnits: 2 * ((tally.writeUnits ?? 0) + writeUnits(book.of('item job'))) });
      return outcome;
    },
    overwrite: async (p) => {
      await changelog.overwrite(p);
      meter.add('slot overwrite', write(p.ring, p.slot, p.entry, true));
    },
    remove: async (ring) => {
      await changelog.remove(ring);
      meter.add('ring remove', {});
    },
  };
}

function table({ table }: InvocationPorts, meter: Meter, book: SizeBook): InvocationPorts['table'] {
  return {
    readMany: async (addresses) => {
      const answer = await table.readMany(addresses);
      const sizes = answer.items.map(stateItemBytes);
      const missing = addresses.length - answer.left.length - sizes.length;
      const units = sizes.reduce((sum, bytes) => sum + readUnits(bytes), missing);
      meter.add('table read', { items: addresses.length, bytes: sum(sizes), readUnits: units });
      return answer;
    },
    readPartition: async (p) => {
      const page = await table.readPartition(p);
      const bytes = sum(page.items.map(stateItemBytes));
      meter.add('partition read', { items: page.items.length, bytes, readUnits: readUnits(bytes) });
      return page;
    },
    putMany: async (puts) => {
      const outcomes = await table.putMany(puts);
      let units = 0;
      let bytes = 0;
      for (const [i, put] of puts.entries()) {
        if (outcomes[i] === 'left') continue;
        const name = `state ${addressKey(put.address)}`;
        const size = attributeBytes + stateItemBytes(put);
        units += writeUnits(Math.max(size, book.of(name)));
        bytes += size;
        if (outcomes[i] === 'stored') book.put(name, size);
      }
      meter.add('table write', {
        items: puts.length,
        bytes,
        writeUnits: units,
        refused: outcomes.filter((outcome) => outcome === 'conflict').length,
      });
      return outcomes;
    },
  };
}

function items({ items }: InvocationPorts, meter: Meter, book: SizeBook): InvocationPorts['items'] {
  return {
    get: async (name) => {
      const item = await items.get(name);
      const bytes = item === undefined ? 0 : jobItemBytes(item);
      meter.add('item get', { bytes, readUnits: readUnits(bytes) });
      return item;
    },
    put: async (p) => {
      const outcome = await items.put(p);
      const bytes = jobItemBytes({ name: p.name, ...p.content });
      const units = writeUnits(Math.max(bytes, book.of(`item ${p.name}`)));
      if (outcome.kind === 'stored') book.put(`item ${p.name}`, bytes);
      meter.add('item put', { bytes, writeUnits: units, refused: outcome.kind === 'stored' ? 0 : 1 });
      return outcome;
    },
    list: async (prefix) => {
      const found = await items.list(prefix);
      const bytes = sum(found.map(jobItemBytes));
      meter.add('item list', { items: found.length, bytes, readUnits: readUnits(bytes) });
      return found;
    },
    remove: async (p) => {
      const outcome = await items.remove(p);
      const units = writeUnits(book.of(`item ${p.name}`));
      if (outcome === 'removed') book.put(`item ${p.name}`, 0);
      meter.add('item remove', { writeUnits: units });
      return outcome;
    },
  };
}

function objects({ objects }: InvocationPorts, meter: Meter): InvocationPorts['objects'] {
  return {
    putIfAbsent: async (name, bytes) => {
      const outcome = await objects.putIfAbsent(name, bytes);
      meter.add('object put', { bytes: bytes.length, refused: outcome === 'stored' ? 0 : 1 });
      meter.objectSizes.push(bytes.length);
      return outcome;
    },
    get: async (name) => {
      const bytes = await objects.get(name);
      meter.add('object get', { bytes: bytes?.length ?? 0 });
      return bytes;
    },
    remove: async (name) => {
      await objects.remove(name);
      meter.add('object remove', {});
    },
    list: async (prefix) => {
      const names = await objects.list(prefix);
      meter.add('object list', { items: names.length });
      return names;
    },
  };
}

function exchange({ exchange }: InvocationPorts, meter: Meter): InvocationPorts['exchange'] {
  return {
    send: async (messages) => {
      const answer = await exchange.send(messages);
      meter.add('send', { items: messages.length, bytes: sum(messages.map(messageBytes)) });
      return answer;
    },
    receive: async (p) => {
      const deliveries = await exchange.receive(p);
      meter.add('receive', { items: deliveries.length, bytes: sum(deliveries.map(({ bytes }) => bytes.length)) });
      return deliveries;
    },
    settle: async (receipts) => {
      await exchange.settle(receipts);
      meter.add('settle', { items: receipts.length });
    },
    release: async (p) => {
      await exchange.release(p);
      meter.add('release', { items: p.receipts.length });
    },
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
