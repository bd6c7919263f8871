// What lies outside: targets of every kind of sink, and the sinks that write to them. A target outlives every process, keeps what was decided for
// ever, and tells whoever breaks the protocol.

import { compareRowTags, type RowTag, rowTagAt } from '../../lib/api/row-tag.ts';
import type { DetachedSink, Sink } from '../../lib/api/sink.ts';
import { GenericWriteAheadSink, type IdentifiedRow, idempotentSink, type TransactionId, TwoPhaseCommitSink } from '../../lib/index.ts';
import type { PendingTransaction } from '../../lib/invocation/entry.ts';
import { subtaskNumber } from '../../lib/invocation/sinks/transaction-names.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import type { Row } from '../simulation/spec.ts';
import type { Counts } from './counts.ts';

export interface Transaction {
  readonly name: string;
  /** Uid of the sink. */
  readonly uid: string;
  readonly id: TransactionId;
  /** The barrier that ended it, where the sink is told. */
  readonly under: number | undefined;
  readonly rows: readonly Row[];
  state: 'prepared' | 'committed' | 'aborted';
}

export class Targets {
  readonly transactions: Map<string, Transaction> = new Map();
  /** By uid: rows in the order in which they became visible. */
  readonly visible: Map<string, Row[]> = new Map();
  /** By uid, then by id of the row. */
  readonly upserted: Map<string, Map<string, { readonly row: Row; readonly tag: RowTag }>> = new Map();
  /** By uid: rows that were sent to it, with every repetition. */
  readonly appended: Map<string, Row[]> = new Map();
  /** By uid: what was sent together, under its checkpoint. */
  readonly logged: Map<string, { readonly checkpoint: number; readonly rows: readonly Row[] }[]> = new Map();
  readonly violations: string[] = [];
  /** An older checkpoint was restored: what newer ones made visible stays so, and nobody can know of each whether it is. */
  mayAbortCommitted = false;
  /** Told before a transaction is prepared. */
  onPrepare: ((process: SimulatedProcess, id: TransactionId) => void) | undefined;
  /** Told before a transaction becomes visible. */
  onCommit: ((t: Transaction) => void) | undefined;
  /** Told of rows that a write-ahead log makes visible. */
  onLogged: ((uid: string, checkpoint: number, rows: readonly Row[]) => void) | undefined;
  readonly #counts: Counts;
  /** Sinks that logged rows of a checkpoint, `<uid> <checkpoint>`. */
  readonly #sent = new Set<string>();

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  prepare(t: Omit<Transaction, 'state'>, process: SimulatedProcess): void {
    this.onPrepare?.(process, t.id);
    const known = this.transactions.get(t.name);
    if (known === undefined) {
      this.transactions.set(t.name, { ...t, rows: structuredClone(t.rows), state: 'prepared' });
      return;
    }
    if (JSON.stringify(known.rows) !== JSON.stringify(t.rows) && known.rows.length > 0)
      this.violations.push(`transaction ${t.name} is prepared twice, with different rows`);
    if (known.state !== 'prepared') {
      // Its name is a unique key here: whoever comes late finds it taken.
      this.#counts.count('prepare refused');
      throw new Error(`transaction ${t.name} is ${known.state}: it cannot be prepared again`);
    }
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
    this.onCommit?.(known);
    known.state = 'committed';
    rowsOf(this.visible, known.uid).push(...known.rows);
  }

  abort(t: Omit<Transaction, 'state' | 'rows'>): void {
    const known = this.transactions.get(t.name);
    if (known === undefined) this.transactions.set(t.name, { ...t, rows: [], state: 'aborted' });
    else if (known.state === 'committed') {
      if (!this.mayAbortCommitted) this.violations.push(`transaction ${t.name} is aborted after it was committed`);
    } else {
      if (known.state === 'prepared') this.#counts.count('transaction discarded');
      known.state = 'aborted';
    }
  }

  /** Keeps with each row the tag of its last write, and refuses what was written before. */
  upsert(uid: string, rows: readonly IdentifiedRow<Row>[], tag: RowTag): void {
    const held = this.upserted.get(uid) ?? new Map<string, { readonly row: Row; readonly tag: RowTag }>();
    this.upserted.set(uid, held);
    for (const [i, { id, value }] of rows.entries()) {
      const own = rowTagAt(tag, i);
      const was = held.get(id);
      if (was !== undefined && compareRowTags(own, was.tag) < 0) this.#counts.count('row refused as older');
      else held.set(id, { row: structuredClone(value), tag: own });
    }
  }

  append(uid: string, rows: readonly Row[]): void {
    rowsOf(this.appended, uid).push(...structuredClone(rows));
  }

  log(uid: string, checkpoint: number, rows: readonly Row[]): void {
    this.onLogged?.(uid, checkpoint, rows);
    this.#sent.add(`${uid} ${checkpoint}`);
    const lists = this.logged.get(uid) ?? [];
    lists.push({ checkpoint, rows: structuredClone(rows) });
    this.logged.set(uid, lists);
  }

  isSettled({ sink, generation, subtask, opened, under }: PendingTransaction): boolean {
    if (this.#sent.has(`${sink} ${under}`)) return true;
    const name = nameOf({ job: 'sim', uid: sink, generation, subtask: subtaskNumber(subtask), checkpoint: opened });
    const state = this.transactions.get(name)?.state;
    return state === 'committed' || state === 'aborted';
  }

  undecided(): readonly string[] {
    return [...this.transactions.values()].filter((t) => t.state === 'prepared').map((t) => t.name);
  }
}

function rowsOf(map: Map<string, Row[]>, uid: string): Row[] {
  const rows = map.get(uid) ?? [];
  map.set(uid, rows);
  return rows;
}

const nameOf = (id: TransactionId): string => `${id.job}/${id.uid}/${id.generation}/${id.subtask}/${id.checkpoint}`;

interface Txn {
  readonly id: TransactionId;
  readonly rows: Row[];
}

/** As users write it. */
export function twoPhaseSink(targets: Targets, uid: string, process: SimulatedProcess): TwoPhaseCommitSink<Row, Txn> {
  class Prepares extends TwoPhaseCommitSink<Row, Txn> {
    override beginTransaction(id: TransactionId): Txn {
      if (id.job !== 'sim' || id.uid !== uid) targets.violations.push(`sink ${uid} is given the transaction ${JSON.stringify(id)}`);
      return { id, rows: [] };
    }
    override invoke(txn: Txn, value: Row): void {
      txn.rows.push(value);
    }
    override preCommit({ id, rows }: Txn): Promise<void> {
      const name = nameOf(id);
      return process.call('target.prepare', name, () => targets.prepare({ name, uid, id, under: undefined, rows }, process));
    }
    override commit({ id }: Txn): Promise<void> {
      return process.call('target.commit', nameOf(id), () => targets.commit(nameOf(id)));
    }
    override abort({ id }: Txn): Promise<void> {
      return process.call('target.abort', nameOf(id), () => targets.abort({ name: nameOf(id), uid, id, under: undefined }));
    }
  }
  return new Prepares();
}

/** On the contract itself: it is told which barrier ended a transaction. */
export function contractSink(targets: Targets, uid: string, process: SimulatedProcess): Sink<Row> {
  const detached: DetachedSink<Row> = {
    kind: 'transactional',
    prepare: async (_ctx, { id, checkpoint, rows }) => {
      const name = nameOf(id);
      await process.call('target.prepare', name, () => targets.prepare({ name, uid, id, under: checkpoint, rows }, process));
      return { name };
    },
    commit: (_ctx, { id }, prepared) => {
      if ((prepared as { name?: unknown } | undefined)?.name !== nameOf(id))
        targets.violations.push(`commit of ${nameOf(id)} gets ${JSON.stringify(prepared)} as what was prepared`);
      return process.call('target.commit', nameOf(id), () => targets.commit(nameOf(id)));
    },
    abort: (_ctx, { id, checkpoint }) =>
      process.call('target.abort', nameOf(id), () => targets.abort({ name: nameOf(id), uid, id, under: checkpoint })),
  };
  return { ...withoutWriter, kind: 'contract', detached };
}

export function upsertSink(targets: Targets, uid: string, process: SimulatedProcess): Sink<Row> {
  return idempotentSink<Row>({
    write: (rows, tag) => process.call('target.upsert', `${rows.length} rows`, () => targets.upsert(uid, rows, tag!)),
  });
}

/** Each row takes the place of the one before it of its split and key. */
export const keyOfLatest = (r: Row): string => `${r.s}|${r.k}`;

/** On the contract itself, by a key of its own: who comes late with an old row must not set it back. */
export function latestSink(targets: Targets, uid: string, process: SimulatedProcess): Sink<Row> {
  return {
    ...withoutWriter,
    kind: 'latest',
    detached: {
      kind: 'immediate',
      write: ({ tag }, { values, count }) => {
        const rows = (values.slice(0, count) as Row[]).map((value) => ({ id: keyOfLatest(value), value }));
        return process.call('target.latest', `${count} rows`, () => targets.upsert(uid, rows, tag));
      },
    },
  };
}

export function appendSink(targets: Targets, uid: string, process: SimulatedProcess): Sink<Row> {
  return {
    ...withoutWriter,
    kind: 'append',
    detached: {
      kind: 'immediate',
      write: (_ctx, { values, count }) => {
        const rows = values.slice(0, count) as Row[];
        return process.call('target.append', `${count} rows`, () => targets.append(uid, rows));
      },
    },
  };
}

export function logSink(targets: Targets, uid: string, process: SimulatedProcess): GenericWriteAheadSink<Row> {
  class Sends extends GenericWriteAheadSink<Row> {
    override async sendValues(values: readonly Row[], checkpointId: number): Promise<boolean> {
      await process.call('target.log', `${values.length} rows of ${checkpointId}`, () => targets.log(uid, checkpointId, values));
      return true;
    }
  }
  return new Sends();
}

const withoutWriter = {
  recover: () => undefined,
  createWriter: (): never => {
    throw new Error('nothing lives between two invocations');
  },
};
