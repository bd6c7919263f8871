import { describe, expect, test } from 'vitest';
import type { TransactionId } from '../../../../lib/api/sink.ts';
import { TwoPhaseCommitSink } from '../../../../lib/connectors/sinks/two-phase-commit.ts';
import { contextOf, prepare, transactional, transactionOf } from '../support/detached.ts';

interface Txn {
  readonly name: string;
  rows: number;
}

class CallsSink extends TwoPhaseCommitSink<string, Txn> {
  readonly #calls: string[];
  readonly #failing: string;

  constructor(calls: string[], failing = '') {
    super();
    this.#calls = calls;
    this.#failing = failing;
  }

  #call(method: string, txn?: Txn): void {
    this.#calls.push(txn === undefined ? method : `${method} ${txn.name}`);
    if (method === this.#failing) throw new Error(`${method} failed`);
  }

  override async open(): Promise<void> {
    this.#call('open');
  }

  override async beginTransaction(id: TransactionId): Promise<Txn> {
    const txn = { name: `${id.job}/${id.uid}/${id.generation}/${id.subtask}/${id.checkpoint}`, rows: 0 };
    this.#call('begin', txn);
    return txn;
  }

  override invoke(txn: Txn): void {
    txn.rows++;
  }

  override async flush(txn: Txn): Promise<void> {
    this.#call(`flush at ${txn.rows}`, txn);
  }

  override async preCommit(txn: Txn): Promise<void> {
    this.#call('preCommit', txn);
  }

  override async commit(txn: Txn): Promise<void> {
    this.#call('commit', txn);
  }

  override async abort(txn: Txn): Promise<void> {
    this.#call('abort', txn);
  }

  override recoverAndCommit(txn: Txn): Promise<void> {
    this.#call('recoverAndCommit', txn);
    return this.commit(txn);
  }

  override recoverAndAbort(txn: Txn): Promise<void> {
    this.#call('recoverAndAbort', txn);
    return this.abort(txn);
  }

  override async close(): Promise<void> {
    this.#call('close');
  }
}

const name = 'late-flights/out/2/1/3';
const t = transactionOf(['a', 'b', 'c'], { generation: 2, subtask: 1, opened: 3, checkpoint: 5 });

describe('a two-phase target without a writer', () => {
  test('a transaction is begun under its name, written and prepared in one go, between open and close', async () => {
    const calls: string[] = [];
    expect(await prepare(new CallsSink(calls), contextOf(), t)).toEqual({ name, rows: 3 });
    expect(calls).toEqual(['open', `begin ${name}`, `preCommit ${name}`, 'close']);
  });

  test('flush is asked for after many rows', async () => {
    const calls: string[] = [];
    const many = transactionOf(Array.from({ length: 20_000 }, () => 'a'));
    expect(await prepare(new CallsSink(calls), contextOf(), many)).toMatchObject({ rows: 20_000 });
    expect(calls.filter((c) => c.startsWith('flush'))).toEqual([
      'flush at 8192 late-flights/out/1/0/0',
      'flush at 16384 late-flights/out/1/0/0',
    ]);
  });

  test.each(['open', 'begin', 'preCommit'])(
    'D1: when %s fails nothing is aborted, because another process may have prepared the same name',
    async (failing) => {
      const calls: string[] = [];
      await expect(prepare(new CallsSink(calls, failing), contextOf(), t)).rejects.toThrow(`${failing} failed`);
      expect(calls.some((c) => c.startsWith('abort'))).toBe(false);
      expect(calls.at(-1)).toBe('close');
    },
  );

  test('D2: an object that has written nothing commits and aborts, as after a restore', async () => {
    const calls: string[] = [];
    await transactional(new CallsSink(calls)).commit(contextOf(), t, { name, rows: 3 });
    await transactional(new CallsSink(calls)).abort(contextOf(), t, { name, rows: 3 });
    expect(calls).toEqual([
      'open',
      `recoverAndCommit ${name}`,
      `commit ${name}`,
      'close',
      'open',
      `recoverAndAbort ${name}`,
      `abort ${name}`,
      'close',
    ]);
  });

  test('a transaction of which nobody knows whether it was prepared is aborted by its name', async () => {
    const calls: string[] = [];
    await transactional(new CallsSink(calls)).abort(contextOf(), t, undefined);
    expect(calls).toEqual(['open', `begin ${name}`, `recoverAndAbort ${name}`, `abort ${name}`, 'close']);
  });

  test('C02: the name of a transaction has nothing of the process or the parallelism that commits it', async () => {
    const calls: string[] = [];
    const prepared = await prepare(new CallsSink(calls), contextOf({ generation: 2, subtask: 1, parallelism: 2 }), t);
    await transactional(new CallsSink(calls)).commit(contextOf({ generation: 7, subtask: 0, parallelism: 5 }), t, prepared);
    expect(calls.filter((c) => c.includes('/'))).toEqual([
      `begin ${name}`,
      `preCommit ${name}`,
      `recoverAndCommit ${name}`,
      `commit ${name}`,
    ]);
  });
});
