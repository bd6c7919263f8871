import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../../core/ports.ts';
import type { ItemAddress, StateItem, StatePut, StateTable } from '../../invocation/ports.ts';
import { checkPuts, checkReads, readManyBytesMax } from '../../invocation/request-limits.ts';
import { pageBytes, rowsOf } from './rows.ts';
import type { StoreFile } from './store-file.ts';

type Row = { readonly sort: string; readonly tags: string; readonly bytes: Uint8Array };

const callsBetweenSweeps = 256;
const sweptMax = 1_000;

/** The state table of one job. Items whose time is over go a few at a time, with one put in a while. */
export class SqliteTable implements StateTable {
  readonly #file: StoreFile;
  readonly #job: number;
  readonly #clock: Clock;
  readonly #one: StatementSync;
  readonly #partition: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #sweep: StatementSync;
  #calls = 0;

  constructor(file: StoreFile, job: number, clock: Clock) {
    this.#file = file;
    this.#job = job;
    this.#clock = clock;
    this.#one = file.prepare('SELECT sort, tags, bytes FROM state WHERE job = ? AND partition = ? AND sort = ?');
    this.#partition = file.prepare('SELECT sort, tags, bytes FROM state WHERE job = ? AND partition = ? AND sort > ? ORDER BY sort');
    this.#insert = file.prepare(
      'INSERT INTO state (tags, expires_at_ms, bytes, job, partition, sort) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#update = file.prepare(
      'UPDATE state SET tags = ?, expires_at_ms = ?, bytes = ? WHERE job = ? AND partition = ? AND sort = ? AND tags = ?',
    );
    this.#sweep = file.prepare(
      'DELETE FROM state WHERE (job, partition, sort) IN (SELECT job, partition, sort FROM state WHERE expires_at_ms <= ? LIMIT ?)',
    );
  }

  async readMany(
    addresses: readonly ItemAddress[],
  ): Promise<{ readonly items: readonly StateItem[]; readonly left: readonly ItemAddress[] }> {
    checkReads(addresses);
    return this.#file.read(() => {
      const items: StateItem[] = [];
      const left: ItemAddress[] = [];
      let bytes = 0;
      for (const address of addresses) {
        if (bytes >= readManyBytesMax) {
          left.push(address);
          continue;
        }
        const row = this.#one.get(this.#job, address.partition, address.sort) as Row | undefined;
        if (row === undefined) continue;
        items.push(itemOf(address.partition, row));
        bytes += row.bytes.length;
      }
      return { items, left };
    });
  }

  async readPartition(p: {
    readonly partition: string;
    readonly after: string | undefined;
  }): Promise<{ readonly items: readonly StateItem[]; readonly next: string | undefined }> {
    return this.#file.read(() => {
      const items: StateItem[] = [];
      let bytes = 0;
      for (const row of rowsOf<Row>(this.#partition, this.#job, p.partition, p.after ?? '')) {
        items.push(itemOf(p.partition, row));
        bytes += row.bytes.length;
        if (bytes >= pageBytes) return { items, next: row.sort };
      }
      return { items, next: undefined };
    });
  }

  async putMany(puts: readonly StatePut[]): Promise<readonly ('stored' | 'conflict' | 'left')[]> {
    checkPuts(puts);
    return this.#file.write(() => {
      if (this.#calls++ % callsBetweenSweeps === 0) this.#sweep.run(Math.floor(this.#clock.now()), sweptMax);
      return puts.map((p) => (this.#put(p) ? 'stored' : 'conflict'));
    });
  }

  #put(p: StatePut): boolean {
    const expires = p.expiresAtMs === undefined ? null : Math.ceil(p.expiresAtMs);
    const address: [number, string, string] = [this.#job, p.address.partition, p.address.sort];
    const { changes } =
      p.expects === 'absent'
        ? this.#insert.run(p.tags, expires, p.bytes, ...address)
        : this.#update.run(p.tags, expires, p.bytes, ...address, p.expects);
    return changes > 0;
  }
}

function itemOf(partition: string, row: Row): StateItem {
  return { address: { partition, sort: row.sort }, tags: row.tags, bytes: row.bytes };
}
