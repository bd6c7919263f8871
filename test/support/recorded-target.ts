// A transactional target outside of every process: what is prepared, what is visible, and what was asked of it.

import type { SinkContext, TransactionId } from '../../lib/api/sink.ts';
import { TwoPhaseCommitSink } from '../../lib/connectors/sinks/two-phase-commit.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';

interface Txn {
  readonly name: string;
  readonly rows: unknown[];
}

export interface TargetHooks {
  /** Before a transaction is prepared, committed or aborted; a throw is the target's answer. */
  readonly before?: (what: 'preCommit' | 'commit' | 'abort', name: string, ctx: SinkContext) => void | Promise<void>;
}

export class RecordedTarget {
  /** Prepared and not decided. */
  readonly prepared: Map<string, readonly unknown[]> = new Map();
  readonly committed: string[] = [];
  readonly aborted: string[] = [];
  /** What a real target would have let happen, to everybody's harm. */
  readonly violations: string[] = [];
  /** In order of commit. */
  readonly visible: unknown[] = [];

  prepare(name: string, rows: readonly unknown[]): void {
    if (this.committed.includes(name) || this.aborted.includes(name)) throw this.#violated(`${name} is prepared after it was decided`);
    this.prepared.set(name, [...rows]);
  }

  commit(name: string): void {
    if (this.committed.includes(name)) return;
    const rows = this.prepared.get(name);
    if (rows === undefined) throw this.#violated(`${name} is committed and was never prepared`);
    this.prepared.delete(name);
    this.committed.push(name);
    this.visible.push(...rows);
  }

  abort(name: string): void {
    if (this.committed.includes(name)) throw this.#violated(`${name} is aborted after it was committed`);
    this.prepared.delete(name);
    if (!this.aborted.includes(name)) this.aborted.push(name);
  }

  #violated(how: string): Error {
    this.violations.push(how);
    return new Error(how);
  }

  /** @param through  the process that writes: each call is one of its calls to the outside, which its death cuts off */
  sink(hooks: TargetHooks = {}, through?: SimulatedProcess): () => TargetSink {
    return () => new TargetSink(this, hooks, through);
  }
}

export class TargetSink extends TwoPhaseCommitSink<unknown, Txn> {
  readonly #target: RecordedTarget;
  readonly #hooks: TargetHooks;
  readonly #through: SimulatedProcess | undefined;
  #ctx: SinkContext | undefined;

  constructor(target: RecordedTarget, hooks: TargetHooks, through: SimulatedProcess | undefined) {
    super();
    this.#through = through;
    this.#target = target;
    this.#hooks = hooks;
  }

  override open(ctx: SinkContext): void {
    this.#ctx = ctx;
  }

  override beginTransaction({ job, uid, generation, subtask, checkpoint }: TransactionId): Txn {
    return { name: [job, uid, generation, subtask, checkpoint].join('/'), rows: [] };
  }

  override invoke(txn: Txn, value: unknown): void {
    txn.rows.push(value);
  }

  override async preCommit(txn: Txn): Promise<void> {
    await this.#before('preCommit', txn.name);
    await this.#ask('prepare', txn.name, () => this.#target.prepare(txn.name, txn.rows));
  }

  override async commit(txn: Txn): Promise<void> {
    await this.#before('commit', txn.name);
    await this.#ask('commit', txn.name, () => this.#target.commit(txn.name));
  }

  override async abort(txn: Txn): Promise<void> {
    await this.#before('abort', txn.name);
    await this.#ask('abort', txn.name, () => this.#target.abort(txn.name));
  }

  #ask(what: string, name: string, effect: () => void): void | Promise<void> {
    return this.#through === undefined ? effect() : this.#through.call(`target.${what}`, name, effect);
  }

  #before(what: 'preCommit' | 'commit' | 'abort', name: string): void | Promise<void> {
    return this.#hooks.before?.(what, name, this.#ctx as SinkContext);
  }
}
