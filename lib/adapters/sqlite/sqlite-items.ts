import type { StatementSync } from 'node:sqlite';
import type { JobItemContent, JobItems, ObjectStore, StoredJobItem } from '../../invocation/ports.ts';
import { checkJobItem, checkObjectName } from '../../invocation/request-limits.ts';
import { rowsOf } from './rows.ts';
import type { StoreFile } from './store-file.ts';

type Row = { readonly name: string; readonly revision: number; readonly change: string; readonly bytes: Uint8Array };

/** Small items of one job. Their revisions come from one counter of the job, which outlives what is removed. */
export class SqliteItems implements JobItems {
  readonly #file: StoreFile;
  readonly #job: number;
  readonly #one: StatementSync;
  readonly #from: StatementSync;
  readonly #revision: StatementSync;
  readonly #upsert: StatementSync;
  readonly #remove: StatementSync;

  constructor(file: StoreFile, job: number) {
    this.#file = file;
    this.#job = job;
    this.#one = file.prepare('SELECT name, revision, change, bytes FROM items WHERE job = ? AND name = ?');
    this.#from = file.prepare('SELECT name, revision, change, bytes FROM items WHERE job = ? AND name >= ? ORDER BY name');
    this.#revision = file.prepare('UPDATE jobs SET revision = revision + 1 WHERE id = ? RETURNING revision');
    this.#upsert = file.prepare(
      `INSERT INTO items (job, name, revision, change, bytes) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET revision = excluded.revision, change = excluded.change, bytes = excluded.bytes`,
    );
    this.#remove = file.prepare('DELETE FROM items WHERE job = ? AND name = ?');
  }

  async get(name: string): Promise<StoredJobItem | undefined> {
    checkJobItem(name);
    return this.#file.read(() => this.#held(name));
  }

  async put(p: {
    readonly name: string;
    readonly content: JobItemContent;
    readonly expects: number | 'absent' | 'any';
  }): Promise<{ readonly kind: 'stored'; readonly revision: number } | { readonly kind: 'conflict' }> {
    checkJobItem(p.name, p.content);
    return this.#file.write(() => {
      if (p.expects !== 'any' && (this.#held(p.name)?.revision ?? 'absent') !== p.expects) return { kind: 'conflict' };
      const { revision } = this.#revision.get(this.#job) as { readonly revision: number };
      this.#upsert.run(this.#job, p.name, revision, p.content.change, p.content.bytes);
      return { kind: 'stored', revision };
    });
  }

  async list(prefix: string): Promise<readonly StoredJobItem[]> {
    return this.#file.read(() => {
      const found: StoredJobItem[] = [];
      for (const row of rowsOf<Row>(this.#from, this.#job, prefix)) {
        if (!row.name.startsWith(prefix)) break;
        found.push({ ...row });
      }
      return found;
    });
  }

  async remove(p: { readonly name: string; readonly expects: number | 'any' }): Promise<'removed' | 'conflict'> {
    checkJobItem(p.name);
    return this.#file.write(() => {
      const held = this.#held(p.name);
      if (held === undefined || (p.expects !== 'any' && held.revision !== p.expects)) return 'conflict';
      this.#remove.run(this.#job, p.name);
      return 'removed';
    });
  }

  #held(name: string): StoredJobItem | undefined {
    const row = this.#one.get(this.#job, name) as Row | undefined;
    return row === undefined ? undefined : { ...row };
  }
}

/** Objects of one job as rows: fine for the sizes that state and messages have, and committed like everything else. */
export class SqliteObjects implements ObjectStore {
  readonly #file: StoreFile;
  readonly #job: number;
  readonly #insert: StatementSync;
  readonly #one: StatementSync;
  readonly #remove: StatementSync;
  readonly #from: StatementSync;

  constructor(file: StoreFile, job: number) {
    this.#file = file;
    this.#job = job;
    this.#insert = file.prepare('INSERT INTO objects (job, name, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
    this.#one = file.prepare('SELECT bytes FROM objects WHERE job = ? AND name = ?');
    this.#remove = file.prepare('DELETE FROM objects WHERE job = ? AND name = ?');
    this.#from = file.prepare('SELECT name FROM objects WHERE job = ? AND name >= ? ORDER BY name');
  }

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    checkObjectName(name);
    return this.#file.write(() => (this.#insert.run(this.#job, name, bytes).changes > 0 ? 'stored' : 'exists'));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    checkObjectName(name);
    return this.#file.read(() => (this.#one.get(this.#job, name) as { readonly bytes: Uint8Array } | undefined)?.bytes);
  }

  async remove(name: string): Promise<void> {
    checkObjectName(name);
    this.#file.write(() => this.#remove.run(this.#job, name));
  }

  async list(prefix: string): Promise<readonly string[]> {
    return this.#file.read(() => {
      const found: string[] = [];
      for (const { name } of rowsOf<{ readonly name: string }>(this.#from, this.#job, prefix)) {
        if (!name.startsWith(prefix)) break;
        found.push(name);
      }
      return found;
    });
  }
}
