import type { StatementSync } from 'node:sqlite';
import type { Changelog, PutOutcome, RingAddress, StoredEntry } from '../../invocation/ports.ts';
import { checkEntry, checkRing } from '../../invocation/request-limits.ts';
import { pageBytes, rowsOf } from './rows.ts';
import type { StoreFile } from './store-file.ts';

type Row = { readonly slot: number; readonly n: number; readonly writer: string; readonly bytes: Uint8Array };

/** Rings of one job as rows, one for each slot. */
export class SqliteChangelog implements Changelog {
  readonly #file: StoreFile;
  readonly #job: number;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #upsert: StatementSync;
  readonly #holder: StatementSync;
  readonly #page: StatementSync;
  readonly #change: StatementSync;
  readonly #remove: StatementSync;

  constructor(file: StoreFile, job: number) {
    this.#file = file;
    this.#job = job;
    const slot = 'job = ? AND generation = ? AND subtask = ? AND slot = ?';
    const insert = 'INSERT INTO entries (job, generation, subtask, slot, n, writer, bytes) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO';
    this.#insert = file.prepare(`${insert} NOTHING`);
    this.#update = file.prepare(`UPDATE entries SET n = ?, writer = ?, bytes = ? WHERE ${slot} AND n = ?`);
    this.#upsert = file.prepare(`${insert} UPDATE SET n = excluded.n, writer = excluded.writer, bytes = excluded.bytes`);
    this.#holder = file.prepare(`SELECT n, writer FROM entries WHERE ${slot}`);
    this.#page = file.prepare(
      'SELECT slot, n, writer, bytes FROM entries WHERE job = ? AND generation = ? AND subtask = ? AND slot BETWEEN ? AND ? ORDER BY slot',
    );
    this.#change = file.prepare("SELECT change FROM items WHERE job = ? AND name = 'job'");
    this.#remove = file.prepare('DELETE FROM entries WHERE job = ? AND generation = ? AND subtask = ?');
  }

  async put(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
  }): Promise<PutOutcome> {
    checkEntry(p.ring, p.slot, p.entry);
    return this.#file.write(() => this.#putNow(p));
  }

  async putDuring(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly expects: number | 'absent';
    readonly change: string;
  }): Promise<PutOutcome | { readonly kind: 'refused' }> {
    checkEntry(p.ring, p.slot, p.entry);
    return this.#file.write(() => (this.#change.get(this.#job)?.change === p.change ? this.#putNow(p) : { kind: 'refused' }));
  }

  #putNow(p: Parameters<Changelog['put']>[0]): PutOutcome {
    const { n, writer, bytes } = p.entry;
    const slot = this.#slot(p.ring, p.slot);
    const { changes } =
      p.expects === 'absent' ? this.#insert.run(...slot, n, writer, bytes) : this.#update.run(n, writer, bytes, ...slot, p.expects);
    if (changes > 0) return { kind: 'stored' };
    const held = this.#holder.get(...slot) as Row | undefined;
    return { kind: 'conflict', held: held === undefined ? undefined : { n: held.n, writer: held.writer } };
  }

  async get(p: { readonly ring: RingAddress; readonly slot: number }): Promise<StoredEntry | undefined> {
    const { entries } = await this.readPage({ ring: p.ring, from: p.slot, to: p.slot });
    return entries[0];
  }

  async readPage(p: {
    readonly ring: RingAddress;
    readonly from: number;
    readonly to: number;
  }): Promise<{ readonly entries: readonly StoredEntry[]; readonly next: number | undefined }> {
    checkRing(p.ring);
    return this.#file.read(() => {
      const entries: StoredEntry[] = [];
      let bytes = 0;
      for (const row of rowsOf<Row>(this.#page, this.#job, p.ring.generation, p.ring.subtask, p.from, p.to)) {
        entries.push({ n: row.n, writer: row.writer, bytes: row.bytes });
        bytes += row.bytes.length;
        if (bytes >= pageBytes && row.slot < p.to) return { entries, next: row.slot + 1 };
      }
      return { entries, next: undefined };
    });
  }

  async create(p: {
    readonly ring: RingAddress;
    readonly slot: number;
    readonly entry: StoredEntry;
    readonly change: string;
  }): Promise<'created' | 'exists' | 'refused'> {
    checkEntry(p.ring, p.slot, p.entry);
    return this.#file.write(() => {
      if (this.#change.get(this.#job)?.change !== p.change) return 'refused';
      const { n, writer, bytes } = p.entry;
      return this.#insert.run(...this.#slot(p.ring, p.slot), n, writer, bytes).changes > 0 ? 'created' : 'exists';
    });
  }

  async overwrite(p: { readonly ring: RingAddress; readonly slot: number; readonly entry: StoredEntry }): Promise<void> {
    checkEntry(p.ring, p.slot, p.entry);
    const { n, writer, bytes } = p.entry;
    this.#file.write(() => this.#upsert.run(...this.#slot(p.ring, p.slot), n, writer, bytes));
  }

  async remove(ring: RingAddress): Promise<void> {
    checkRing(ring);
    this.#file.write(() => this.#remove.run(this.#job, ring.generation, ring.subtask));
  }

  #slot(ring: RingAddress, slot: number): [number, number, string, number] {
    return [this.#job, ring.generation, ring.subtask, slot];
  }
}
