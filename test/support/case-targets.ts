// Three targets outside of every process, one for each kind of sink. Rows are texts, all different, so that a target knows a row again as far as
// its kind promises, and says so when something became visible that should not be.

import type { SinkContext, TransactionId } from '../../lib/api/sink.ts';
import {
  compareRowTags,
  GenericWriteAheadSink,
  idempotentSink,
  type RowTag,
  rowTagAt,
  type Sink,
  TwoPhaseCommitSink,
} from '../../lib/index.ts';
import { CaseProcess } from './case-process.ts';

export const sinkKinds = ['idempotent', 'write-ahead', 'two-phase'] as const;
export type SinkKind = (typeof sinkKinds)[number];

export abstract class CaseTarget {
  /** What a real target would have let happen, to everybody's harm. */
  readonly violations: string[] = [];
  /** Newest checkpoint that is complete; told by the world. */
  completed = 0;
  abstract readonly isTransactional: boolean;
  /** What a reader sees, in the order in which it became visible. */
  abstract readonly visible: readonly string[];
  /** For `sinkTo`. */
  abstract create(): Sink<string>;
  /** Time has passed: what was prepared and not decided is gone. */
  forget(): void {}
  readonly sink = (): Sink<string> => this.create();
}

export function newTarget(kind: SinkKind): CaseTarget {
  switch (kind) {
    case 'idempotent':
      return new IdempotentTarget();
    case 'write-ahead':
      return new WriteAheadTarget();
    case 'two-phase':
      return new TwoPhaseTarget();
  }
}

/** Keeps rows by the id that the sink gives them. */
export class IdempotentTarget extends CaseTarget {
  readonly isTransactional = false;
  readonly rows = new Map<string, string>();
  /** A table that keeps one row for each user, by the tag of its last write. */
  readonly latest = new Map<string, { readonly value: string; readonly tag: RowTag }>();
  /** Other input stands where rows were made before. */
  mayReplace = false;
  /** Every hand-over, repeats too. */
  readonly handed: { readonly id: string; readonly value: string; readonly process: string }[] = [];

  get visible(): readonly string[] {
    return [...this.rows.values()];
  }

  create(): Sink<string> {
    let process: CaseProcess | undefined;
    return idempotentSink<string>({
      open: (ctx) => {
        process = CaseProcess.of(ctx);
      },
      write: (rows, tag) =>
        process!.call('target.write', `${rows.length}`, () => {
          for (const [i, { id, value }] of rows.entries()) {
            this.#keep(id, value, process!.name);
            this.#upsert(value, rowTagAt(tag, i));
          }
        }),
    });
  }

  #upsert(value: string, tag: RowTag): void {
    const user = value.split(' ')[0] as string;
    const held = this.latest.get(user);
    if (held === undefined || compareRowTags(tag, held.tag) >= 0) this.latest.set(user, { value, tag });
  }

  #keep(id: string, value: string, process: string): void {
    this.handed.push({ id, value, process });
    const before = this.rows.get(id);
    if (before !== undefined && before !== value && !this.mayReplace) this.violations.push(`row ${id} was ${before} and became ${value}`);
    this.rows.set(id, value);
  }
}

/** Drops a row that it has; but one row in two transactions is our fault. */
export class WriteAheadTarget extends CaseTarget {
  readonly isTransactional = true;
  readonly #rows = new Map<string, number>();
  readonly calls: { readonly checkpoint: number; readonly rows: readonly string[] }[] = [];

  get visible(): readonly string[] {
    return [...this.#rows.keys()];
  }

  create(): Sink<string> {
    return new WriteAheadToTarget(this);
  }

  write(rows: readonly string[], checkpoint: number): void {
    this.calls.push({ checkpoint, rows: [...rows] });
    if (checkpoint > this.completed) this.violations.push(`rows of checkpoint ${checkpoint} are written before it is complete`);
    for (const row of rows) {
      const before = this.#rows.get(row);
      if (before !== undefined && before !== checkpoint) this.violations.push(`row ${row} is in checkpoints ${before} and ${checkpoint}`);
      this.#rows.set(row, before ?? checkpoint);
    }
  }
}

class WriteAheadToTarget extends GenericWriteAheadSink<string> {
  readonly #target: WriteAheadTarget;
  #process: CaseProcess | undefined;

  constructor(target: WriteAheadTarget) {
    super();
    this.#target = target;
  }

  override open(ctx: SinkContext): void {
    this.#process = CaseProcess.of(ctx);
  }

  override async sendValues(values: readonly string[], checkpoint: number): Promise<boolean> {
    await this.#process!.call('target.write', `${checkpoint}`, () => this.#target.write(values, checkpoint));
    return true;
  }
}

interface Txn {
  readonly name: string;
  readonly opened: number;
  readonly rows: string[];
}

/** Keeps the names of what is decided, as the contract asks, and knows no row again. */
export class TwoPhaseTarget extends CaseTarget {
  readonly isTransactional = true;
  readonly visible: string[] = [];
  readonly prepared = new Map<string, readonly string[]>();
  readonly decided = new Map<string, 'committed' | 'aborted'>();
  /** Every request, in order, with who made it. */
  readonly calls: { readonly what: 'prepare' | 'commit' | 'abort'; readonly name: string; readonly process: string }[] = [];
  /** Refuses to prepare a name a second time. */
  isSpent = false;
  readonly #ever = new Set<string>();

  create(): Sink<string> {
    return new TwoPhaseToTarget(this) as Sink<string>;
  }

  prepare(name: string, rows: readonly string[]): void {
    if (this.decided.has(name) || (this.isSpent && this.#ever.has(name))) return;
    this.#ever.add(name);
    this.prepared.set(name, rows);
  }

  commit(name: string, opened: number): void {
    if (this.decided.get(name) === 'committed') return;
    if (this.decided.get(name) === 'aborted') this.violations.push(`${name} is committed after it was aborted`);
    if (opened >= this.completed) this.violations.push(`${name} is committed before the checkpoint that covers it is complete`);
    const rows = this.prepared.get(name);
    if (rows === undefined) throw Object.assign(new Error(`no transaction ${name}`), { code: 'SINK_TRANSACTION_FORGOTTEN' });
    this.visible.push(...rows);
    this.decided.set(name, 'committed');
    this.prepared.delete(name);
  }

  abort(name: string): void {
    if (this.decided.get(name) === 'committed') this.violations.push(`${name} is aborted after it was committed`);
    this.decided.set(name, this.decided.get(name) ?? 'aborted');
    this.prepared.delete(name);
  }

  override forget(): void {
    this.prepared.clear();
  }
}

class TwoPhaseToTarget extends TwoPhaseCommitSink<string, Txn> {
  readonly #target: TwoPhaseTarget;
  #process: CaseProcess | undefined;

  constructor(target: TwoPhaseTarget) {
    super();
    this.#target = target;
  }

  override open(ctx: SinkContext): void {
    this.#process = CaseProcess.of(ctx);
  }

  override beginTransaction({ job, uid, generation, subtask, checkpoint }: TransactionId): Txn {
    return { name: [job, uid, generation, subtask, checkpoint].join('/'), opened: checkpoint, rows: [] };
  }

  override invoke(txn: Txn, row: string): void {
    txn.rows.push(row);
  }

  override preCommit(txn: Txn): Promise<void> {
    return this.#ask('prepare', txn.name, () => this.#target.prepare(txn.name, [...txn.rows]));
  }

  override commit(txn: Txn): Promise<void> {
    return this.#ask('commit', txn.name, () => this.#target.commit(txn.name, txn.opened));
  }

  override abort(txn: Txn): Promise<void> {
    return this.#ask('abort', txn.name, () => this.#target.abort(txn.name));
  }

  #ask(what: 'prepare' | 'commit' | 'abort', name: string, effect: () => void): Promise<void> {
    const process = this.#process as CaseProcess;
    return process.call(`target.${what}`, name, () => {
      this.#target.calls.push({ what, name, process: process.name });
      effect();
    });
  }
}
