// The ports of one job in one process, on one SQLite file. Methods are asynchronous by their contract and run at once: a process that waits for
// another writer does nothing else meanwhile, at most for `busyMs`.

import { existsSync } from 'node:fs';
import type { Clock } from '../../core/ports.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { SqliteChangelog } from './sqlite-changelog.ts';
import { SqliteExchange } from './sqlite-exchange.ts';
import { SqliteItems, SqliteObjects } from './sqlite-items.ts';
import { SqliteTable } from './sqlite-table.ts';
import { StoreFile, type StoreFileOptions } from './store-file.ts';

export interface SqlitePortsOptions extends StoreFileOptions {
  /** Name of the job; jobs of one file see nothing of each other. */
  readonly job: string;
  readonly clock: Clock;
  /** How long a message that was received is kept from others, ms. Default 30,000. */
  readonly visibilityMs?: number | undefined;
  /** How long the queue remembers the id of a message, ms. Default 300,000. */
  readonly dedupMs?: number | undefined;
}

export interface SqlitePorts extends InvocationPorts {
  /** Carries what was committed into the file itself, out of its log, as far as others that use it at this moment let it. */
  takeInLog(): void;
  /** Closes this connection; the ports may not be used any more. Closing twice is harmless. */
  close(): void;
}

/**
 * Opens the file, and makes it when there is none; its directory has to exist.
 * @throws SluiceError `STORE_NOT_USABLE`, `FORMAT_NEWER`, `STORE_THROTTLED`, `STORE_FULL`
 */
export function openSqlitePorts(o: SqlitePortsOptions): SqlitePorts {
  const file = new StoreFile(o);
  try {
    const job = jobNumber(file, o.job);
    const times = { visibilityMs: o.visibilityMs ?? 30_000, dedupMs: o.dedupMs ?? 300_000 };
    return {
      changelog: new SqliteChangelog(file, job),
      table: new SqliteTable(file, job, o.clock),
      items: new SqliteItems(file, job),
      objects: new SqliteObjects(file, job),
      exchange: new SqliteExchange(file, job, o.clock, times),
      takeInLog: () => file.takeInLog(),
      close: () => file.close(),
    };
  } catch (e) {
    file.close();
    throw e;
  }
}

/** Names of the jobs of a file, in order; none when there is no file, which stays so. @throws SluiceError as `openSqlitePorts` */
export function jobsOfSqliteFile(o: StoreFileOptions): readonly string[] {
  if (!existsSync(o.path)) return [];
  const file = new StoreFile(o);
  try {
    const names = file.prepare('SELECT name FROM jobs ORDER BY name');
    return file.read(() => names.all().map((row) => String(row.name)));
  } finally {
    file.close();
  }
}

function jobNumber(file: StoreFile, name: string): number {
  const find = file.prepare('SELECT id FROM jobs WHERE name = ?');
  const make = file.prepare('INSERT INTO jobs (name, revision) VALUES (?, 0)');
  const found = file.read(() => find.get(name)) ?? file.write(() => find.get(name) ?? { id: make.run(name).lastInsertRowid });
  return Number(found.id);
}
