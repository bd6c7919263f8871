// The base that is shared: the versioned table, read in batches. What is visible is decided for the generation that the subtask lives in.

import { addressOfItem, checkAddress, itemAddressOf } from '../address.ts';
import type { StateAddress } from '../entry.ts';
import { type Patience, readAll } from '../patience.ts';
import type { ObjectStore, StateItem, StateTable } from '../ports.ts';
import { addressKey } from '../request-limits.ts';
import { decodeItem, visibleVersion } from '../versions.ts';
import type { Partition, StateBase } from './base.ts';
import type { VersionView } from './contract.ts';
import { type NotKnown, notKnown } from './not-resident.ts';
import type { UnflushedPiece } from './overlay.ts';
import { flushToTable } from './table-flush.ts';
import { storedValueOf } from './version-values.ts';

export interface TableBaseOptions {
  readonly table: StateTable;
  /** Large values. */
  readonly objects: ObjectStore;
  readonly view: Pick<VersionView, 'generation' | 'restores'>;
  readonly patience: Patience;
}

export class TableBase implements StateBase {
  readonly operatorBytesMax = undefined;
  readonly isWholeInMemory = false;
  readonly snapshot = undefined;
  readonly #options: TableBaseOptions;

  constructor(options: TableBaseOptions) {
    this.#options = options;
  }

  checkAddress(address: StateAddress): void {
    checkAddress(address);
  }

  peek(): NotKnown {
    return notKnown;
  }

  peekAll(): NotKnown {
    return notKnown;
  }

  bytesByOperator(): undefined {
    return undefined;
  }

  async read(addresses: readonly StateAddress[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { table, patience } = this.#options;
    const asked = addresses.map(itemAddressOf);
    const items = await readAll(table, asked, patience);
    const values = new Map<string, Uint8Array | undefined>();
    for (const item of items) values.set(addressKey(item.address), await this.#visible(item));
    return asked.map((address) => values.get(addressKey(address)));
  }

  async readAll(partition: Partition): Promise<ReadonlyMap<string, Uint8Array>> {
    const all = new Map<string, Uint8Array>();
    const name = itemAddressOf({ ...partition, sub: '' }).partition;
    for (let after: string | undefined, isLast = false; !isLast; ) {
      const { items, next } = await this.#options.table.readPartition({ partition: name, after });
      for (const item of items) {
        const bytes = await this.#visible(item);
        if (bytes !== undefined) all.set(addressOfItem(item.address).sub, bytes);
      }
      after = next;
      isLast = next === undefined;
    }
    return all;
  }

  flush(pieces: readonly UnflushedPiece[], view: VersionView): Promise<ReadonlySet<UnflushedPiece>> {
    return flushToTable(pieces, view, this.#options);
  }

  async writeSnapshot(): Promise<undefined> {
    return undefined;
  }

  async #visible(item: StateItem): Promise<Uint8Array | undefined> {
    const { view, objects } = this.#options;
    const version = visibleVersion(decodeItem(item.bytes), view);
    return version === undefined ? undefined : storedValueOf(version, objects);
  }
}
