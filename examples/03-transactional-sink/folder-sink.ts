import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type SinkContext, type TransactionId, TwoPhaseCommitSink } from 'sluice';

/** Plain data: it lies in the checkpoint until its commit has succeeded. */
interface FolderTransaction {
  readonly name: string;
  readonly rows: unknown[];
}

/**
 * A sink of one's own: each transaction becomes one JSON file in a folder, all at once or not at all.
 *
 * The target offers what every two-phase commit needs: something that is durable and not visible yet (a file whose name begins with a dot),
 * and one atomic step that makes it visible (a rename). For a database these would be PREPARE TRANSACTION and COMMIT PREPARED.
 */
export class FolderSink extends TwoPhaseCommitSink<unknown, FolderTransaction> {
  readonly #folder: string;

  constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  override async open(_ctx: SinkContext): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
  }

  /** A name that no other attempt, subtask or checkpoint can have, so that nobody commits what is not theirs. */
  override beginTransaction(id: TransactionId): FolderTransaction {
    return { name: `${id.generation}-${id.subtask}-${id.checkpoint}`, rows: [] };
  }

  override invoke(txn: FolderTransaction, row: unknown): void {
    txn.rows.push(row);
  }

  /** The promise: after it, whatever crashes, `commit` can be done. So the bytes must be on the disk. */
  override async preCommit(txn: FolderTransaction): Promise<void> {
    const file = await open(this.#hidden(txn), 'w');
    try {
      await file.writeFile(`${JSON.stringify(txn.rows)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Twice is harmless: the second time there is nothing to rename any more. */
  override async commit(txn: FolderTransaction): Promise<void> {
    try {
      await rename(this.#hidden(txn), join(this.#folder, `${txn.name}.json`));
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== 'ENOENT') throw e;
    }
  }

  override async abort(txn: FolderTransaction): Promise<void> {
    await rm(this.#hidden(txn), { force: true });
  }

  #hidden(txn: FolderTransaction): string {
    return join(this.#folder, `.${txn.name}.pending`);
  }
}
