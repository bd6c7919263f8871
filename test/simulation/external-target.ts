// A target outside the process that takes two-phase commits, and the two sinks that write to it: one as users write them, one on the contract itself.
// The target is strict: it keeps every decided name for ever, refuses to prepare one again, and tells whoever breaks the protocol.

import type { Prepared, Sink, SinkContext, SinkRecovery, SinkWriter, SinkWriterContext } from '../../lib/api/sink.ts';
import { type TransactionId, TwoPhaseCommitSink } from '../../lib/index.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import type { Row } from './spec.ts';

interface Transaction {
  readonly name: string;
  /** Uid of the sink. */
  readonly uid: string;
  readonly rows: readonly Row[];
  state: 'prepared' | 'committed' | 'aborted';
}

export class ExternalTarget {
  readonly transactions: Map<string, Transaction> = new Map();
  /** Rows in the order in which they became visible, by uid of the sink. */
  readonly visible: Map<string, Row[]> = new Map();
  readonly violations: string[] = [];
  /** After a restore of an older checkpoint nobody can know whether what newer ones promised is committed. */
  mayAbortCommitted = false;
  /** Told of each commit that made rows visible. */
  onVisible: ((t: Transaction) => void) | undefined;

  prepare(name: string, uid: string, rows: readonly Row[]): void {
    const known = this.transactions.get(name);
    if (known === undefined) {
      this.transactions.set(name, { name, uid, rows: structuredClone(rows), state: 'prepared' });
      return;
    }
    if (known.state !== 'prepared') throw new Error(`transaction ${name} is ${known.state}: it cannot be prepared again`);
    if (JSON.stringify(known.rows) !== JSON.stringify(rows))
      this.violations.push(`transaction ${name} was prepared twice, with different rows`);
  }

  commit(name: string): void {
    const known = this.transactions.get(name);
    if (known === undefined) {
      this.violations.push(`transaction ${name} is committed but was never prepared`);
      throw new Error(`no transaction ${name}`);
    }
    if (known.state === 'committed') return;
    if (known.state === 'aborted') {
      this.violations.push(`transaction ${name} is committed after it was aborted`);
      throw new Error(`transaction ${name} is aborted`);
    }
    known.state = 'committed';
    this.onVisible?.(known);
    const rows = this.visible.get(known.uid) ?? [];
    rows.push(...known.rows);
    this.visible.set(known.uid, rows);
  }

  abort(name: string, uid: string): void {
    const known = this.transactions.get(name);
    if (known === undefined) this.transactions.set(name, { name, uid, rows: [], state: 'aborted' });
    else if (known.state === 'committed') {
      if (!this.mayAbortCommitted) this.violations.push(`transaction ${name} is aborted after it was committed`);
    } else known.state = 'aborted';
  }

  undecided(): readonly string[] {
    return [...this.transactions.values()].filter((t) => t.state === 'prepared').map((t) => t.name);
  }
}

interface Txn {
  readonly name: string;
  readonly rows: Row[];
}

/** As in the documentation: rows lie in the transaction, and so in the checkpoint, until they are prepared. */
export function twoPhaseSink(target: ExternalTarget, uid: string, process: SimulatedProcess): TwoPhaseCommitSink<Row, Txn> {
  class Prepares extends TwoPhaseCommitSink<Row, Txn> {
    override beginTransaction(id: TransactionId): Txn {
      if (id.job !== 'sim' || id.uid !== uid)
        target.violations.push(`a transaction is named ${JSON.stringify(id)} in the sink ${uid} of the job sim`);
      return { name: `${id.job}/${id.uid}/${id.generation}/${id.subtask}/${id.checkpoint}`, rows: [] };
    }
    override invoke(txn: Txn, value: Row): void {
      txn.rows.push(value);
    }
    override preCommit(txn: Txn): Promise<void> {
      return process.call('target.prepare', txn.name, () => target.prepare(txn.name, uid, txn.rows));
    }
    override commit(txn: Txn): Promise<void> {
      return process.call('target.commit', txn.name, () => target.commit(txn.name));
    }
    override abort(txn: Txn): Promise<void> {
      return process.call('target.abort', txn.name, () => target.abort(txn.name, uid));
    }
  }
  return new Prepares();
}

/** Plain data that lies in the checkpoint. */
interface Promised {
  readonly name: string;
  readonly checkpoint: number;
}

/** A sink on the contract itself, which knows at each call for which checkpoint it is made. */
export function contractSink(target: ExternalTarget, process: SimulatedProcess): Sink<Row> {
  return {
    kind: 'contract',
    async recover(ctx: SinkRecovery) {
      for (const t of ctx.promised as readonly Promised[]) await process.call('target.commit', t.name, () => target.commit(t.name));
      for (const t of ctx.abandoned as readonly Promised[]) await process.call('target.abort', t.name, () => target.abort(t.name, ctx.uid));
    },
    createWriter: (ctx) => new ContractWriter(target, ctx, process),
  };
}

class ContractWriter implements SinkWriter {
  readonly #target: ExternalTarget;
  readonly #ctx: SinkWriterContext;
  readonly #process: SimulatedProcess;
  #rows: Row[] = [];
  /** Prepared and not confirmed, oldest first. */
  #promised: Promised[] = [];
  #last = 0;

  constructor(target: ExternalTarget, ctx: SinkWriterContext, process: SimulatedProcess) {
    this.#target = target;
    this.#ctx = ctx;
    this.#process = process;
  }

  open(): void {}

  write(rows: Parameters<SinkWriter['write']>[0]): void {
    for (let i = 0; i < rows.count; i++) this.#rows.push(rows.values[i] as Row);
  }

  announce(checkpoint: number): readonly Promised[] {
    return [{ name: nameOf(this.#ctx, this.#ctx.subtask, checkpoint), checkpoint }];
  }

  async prepare(checkpoint: number): Promise<Prepared> {
    if (checkpoint <= this.#last)
      this.#target.violations.push(`sink ${this.#ctx.uid}: checkpoint ${checkpoint} is prepared after ${this.#last}`);
    this.#last = checkpoint;
    const rows = this.#rows;
    this.#rows = [];
    if (rows.length > 0) {
      const name = nameOf(this.#ctx, this.#ctx.subtask, checkpoint);
      this.#promised.push({ name, checkpoint });
      await this.#process.call('target.prepare', name, () => this.#target.prepare(name, this.#ctx.uid, rows));
    }
    return { state: { subtask: this.#ctx.subtask }, transactions: [...this.#promised] };
  }

  async commit(checkpoint: number): Promise<void> {
    for (const t of this.#promised.filter((p) => p.checkpoint <= checkpoint)) {
      await this.#process.call('target.commit', t.name, () => this.#target.commit(t.name));
      this.#promised = this.#promised.filter((p) => p !== t);
    }
  }

  discard(): void {
    this.#rows = [];
  }

  close(): void {}
}

/** The checkpoint in such a name is the one that promises the rows. */
export const checkpointOfContract = (name: string): number => Number(name.slice(name.lastIndexOf('/') + 1));

function nameOf(ctx: SinkContext, subtask: number, checkpoint: number): string {
  return `contract/${ctx.uid}/${ctx.generation}/${subtask}/${checkpoint}`;
}
