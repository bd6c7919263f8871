// The layers under the cells, as one: what is committed and unflushed lies over what was loaded, and that over the base. A run that finds nothing
// known at an address notes it here, and all that was noted is loaded together.
//   L1  What was loaded is for the run that asked for it. It counts until something is committed, given up or flushed: afterwards it may be older
//       than the base.
//   L2  A piece that was noted is asked for once, however often it was missed.
//   L3  The chunks of a list are read with its head. A head whose chunks are not there was read while another writer stored the list; it is read
//       again.

import { SluiceError } from '../../core/errors.ts';
import type { StateAddress } from '../entry.ts';
import type { Partition, StateBase } from './base.ts';
import { type NotKnown, notKnown } from './not-resident.ts';
import { type Overlay, partitionText } from './overlay.ts';
import { chunkAddresses } from './value-format.ts';

interface Missed {
  readonly address: StateAddress;
  /** It is a list: its chunks come along. */
  readonly isList: boolean;
}

/** Reads of a list that another writer is storing; a writer that stores it that often is another matter. */
const listReadsMax = 5;

export class Layers {
  readonly overlay: Overlay;
  readonly base: StateBase;
  isSuspended = false;
  /** By partition text and `sub`; `undefined`: nothing lies there. */
  #loaded = new Map<string, Map<string, Uint8Array | undefined>>();
  #loadedWhole = new Map<string, ReadonlyMap<string, Uint8Array>>();
  #missed = new Map<string, Map<string, Missed>>();
  #missedWhole = new Map<string, Partition>();

  constructor(base: StateBase, overlay: Overlay) {
    this.base = base;
    this.overlay = overlay;
  }

  /** @param partition  `partitionText` of the address */
  peek(address: StateAddress, partition: string): Uint8Array | undefined | NotKnown {
    const committed = this.overlay.peek(partition, address.sub);
    if (committed !== notKnown) return committed;
    const loaded = this.#loaded.get(partition);
    if (loaded?.has(address.sub)) return loaded.get(address.sub);
    return this.base.peek(address);
  }

  /** Everything in a partition, as a copy; `undefined` for what is there no more. */
  peekAll(address: Partition, partition: string): Map<string, Uint8Array | undefined> | NotKnown {
    const below = this.#loadedWhole.get(partition) ?? this.base.peekAll(address);
    if (below === notKnown) return notKnown;
    const all = new Map<string, Uint8Array | undefined>(below);
    for (const [sub, bytes] of this.overlay.ofPartition(partition)) all.set(sub, bytes);
    return all;
  }

  /** Notes that a piece is needed; the run is suspended from here on. */
  miss(address: StateAddress, partition: string, isList = false): void {
    this.base.checkAddress(address);
    this.isSuspended = true;
    const subs = this.#missed.get(partition) ?? new Map<string, Missed>();
    this.#missed.set(partition, subs);
    subs.set(address.sub, { address, isList });
  }

  missAll(address: Partition, partition: string): void {
    this.base.checkAddress({ ...address, sub: '' });
    this.isSuspended = true;
    this.#missedWhole.set(partition, address);
  }

  /** Reads what was missed. When it rejects, nothing is forgotten that was read. */
  async load(): Promise<void> {
    const missed = [...this.#missed.values()].flatMap((subs) => [...subs.values()]);
    const wholes = [...this.#missedWhole];
    this.#missed = new Map();
    this.#missedWhole = new Map();
    if (missed.length > 0) {
      await this.#read(missed.map(({ address }) => address));
      await this.#readChunks(missed.flatMap(({ address, isList }) => (isList ? [address] : [])));
    }
    for (const [partition, address] of wholes) this.#loadedWhole.set(partition, await this.base.readAll(address));
  }

  /** A unit is over, or something was flushed. */
  forgetLoaded(): void {
    if (this.#loaded.size > 0) this.#loaded = new Map();
    if (this.#loadedWhole.size > 0) this.#loadedWhole = new Map();
  }

  async #read(addresses: readonly StateAddress[]): Promise<void> {
    const read = await this.base.read(addresses);
    for (const [i, address] of addresses.entries()) {
      const partition = partitionText(address);
      const subs = this.#loaded.get(partition) ?? new Map<string, Uint8Array | undefined>();
      this.#loaded.set(partition, subs);
      subs.set(address.sub, read[i]);
    }
  }

  async #readChunks(heads: readonly StateAddress[]): Promise<void> {
    let waiting = heads;
    for (let reads = 0; waiting.length > 0; reads++) {
      if (reads > 0) await this.#read(waiting);
      const chunks = waiting.flatMap((head) => this.#chunksOf(head)).filter((chunk) => this.#at(chunk) === notKnown || reads > 0);
      if (chunks.length > 0) await this.#read(chunks);
      waiting = waiting.filter((head) => this.#chunksOf(head).some((chunk) => this.#at(chunk) === undefined));
      if (waiting.length > 0 && reads === listReadsMax) throw this.#torn(waiting[0] as StateAddress);
    }
  }

  #at(address: StateAddress): Uint8Array | undefined | NotKnown {
    return this.peek(address, partitionText(address));
  }

  #chunksOf(head: StateAddress): readonly StateAddress[] {
    const bytes = this.#at(head);
    return bytes === undefined || bytes === notKnown ? [] : chunkAddresses(head, bytes);
  }

  #torn({ operator, state }: StateAddress): SluiceError {
    return new SluiceError('DATA_DAMAGED', {
      message: `a list of state ${state} of ${operator} lacks chunks that its head counts, in ${listReadsMax} reads`,
      next: 'repair-state',
      operator,
      state,
    });
  }
}
