import { describe, expect, test } from 'vitest';
import type { SinkWriter, TransactionId } from '../../../../lib/api/sink.ts';
import { TwoPhaseCommitSink } from '../../../../lib/connectors/sinks/two-phase-commit.ts';
import { decodeValue } from '../../../../lib/core/value-codec.ts';
import { attempt, batch, keep } from '../support/sinks.ts';

interface Txn {
  readonly name: string;
  readonly rows: string[];
}

/** A target with transactions, as a database has them. */
class Target {
  readonly calls: string[] = [];
  readonly prepared = new Map<string, readonly string[]>();
  readonly rows: string[] = [];
  failures = new Map<string, number>();

  call(method: string, name: string): void {
    this.calls.push(`${method} ${name}`);
    const left = this.failures.get(method) ?? 0;
    if (left > 0) {
      this.failures.set(method, left - 1);
      throw new Error(`${method} failed`);
    }
  }
}

class TargetSink extends TwoPhaseCommitSink<string, Txn> {
  readonly #target: Target;
  readonly #isAsync: boolean;

  constructor(target: Target, isAsync = false) {
    super();
    this.#target = target;
    this.#isAsync = isAsync;
  }

  override beginTransaction(id: TransactionId): Txn | Promise<Txn> {
    const name = `${id.job}/${id.uid}/${id.generation}/${id.subtask}/${id.checkpoint}`;
    this.#target.call('begin', name);
    const txn: Txn = { name, rows: [] };
    return this.#isAsync ? Promise.resolve(txn) : txn;
  }

  override invoke(txn: Txn, value: string): void {
    txn.rows.push(value);
  }

  override async preCommit(txn: Txn): Promise<void> {
    this.#target.call('preCommit', txn.name);
    this.#target.prepared.set(txn.name, [...txn.rows]);
  }

  override async commit(txn: Txn): Promise<void> {
    this.#target.call('commit', txn.name);
    const rows = this.#target.prepared.get(txn.name);
    this.#target.prepared.delete(txn.name);
    if (rows !== undefined) this.#target.rows.push(...rows);
  }

  override async abort(txn: Txn): Promise<void> {
    this.#target.call('abort', txn.name);
    this.#target.prepared.delete(txn.name);
  }
}

const open = async (target: Target, isAsync = false): Promise<SinkWriter> => {
  const [writer] = await attempt(() => new TargetSink(target, isAsync) as never);
  return writer!;
};

describe('T1: a transaction begins with the first row behind a barrier', () => {
  test.each([[false], [true]])(
    'named by job, uid, generation, subtask and the last barrier (beginning asynchronously: %s)',
    async (isAsync) => {
      const target = new Target();
      const writer = await open(target, isAsync);
      await writer.prepare(1);
      await writer.write(batch());
      expect(target.calls).toEqual([]);
      await writer.write(batch('a'));
      await writer.write(batch('b', 'c'));
      await writer.prepare(2);
      await writer.prepare(3);
      await writer.write(batch('d'));
      expect(target.calls).toEqual(['begin late-flights/out/1/0/1', 'preCommit late-flights/out/1/0/1', 'begin late-flights/out/1/0/3']);
      expect(target.prepared.get('late-flights/out/1/0/1')).toEqual(['a', 'b', 'c']);
    },
  );

  test('after a restore the first one is named by the restored checkpoint and the new generation', async () => {
    const target = new Target();
    const [first] = await attempt(() => new TargetSink(target) as never);
    const kept = keep(7, [await first!.prepare(7)]);
    const writers = await attempt(() => new TargetSink(target) as never, { generation: 4, from: kept, parallelism: 2 });
    await writers[1]!.write(batch('a'));
    expect(target.calls).toEqual(['begin late-flights/out/4/1/7']);
  });
});

describe('T1: what was begun is known to a restore before the first row reaches it', () => {
  test('a transaction that no barrier followed is aborted by the next attempt', async () => {
    const target = new Target();
    const noted: { readonly after: number; readonly transaction: unknown }[] = [];
    const [writer] = await attempt(() => new TargetSink(target) as never, { noted });
    const kept = keep(3, [await writer!.prepare(3)]);
    await writer!.write(batch('a'));
    await writer!.write(batch('b'));
    expect(noted.map(({ after }) => after)).toEqual([3]);
    target.calls.length = 0;
    const abandoned = noted.map(({ transaction }) => structuredClone(transaction));
    await attempt(() => new TargetSink(target) as never, { generation: 2, from: kept, abandoned });
    expect(target.calls).toEqual(['abort late-flights/out/1/0/3']);
  });
});

describe('K2: commit', () => {
  test('commits everything prepared at or before the checkpoint, in order, and nothing newer', async () => {
    const target = new Target();
    const writer = await open(target);
    for (const checkpoint of [1, 2, 3]) {
      await writer.write(batch(`row ${checkpoint}`));
      await writer.prepare(checkpoint);
    }
    await writer.commit(2);
    await writer.commit(2);
    expect(target.rows).toEqual(['row 1', 'row 2']);
    expect(target.calls.filter((c) => c.startsWith('commit'))).toHaveLength(2);
    await writer.commit(3);
    expect(target.rows).toEqual(['row 1', 'row 2', 'row 3']);
  });

  test('a failed commit is rejected, tried again and never forgotten, and later ones wait for it', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    await writer.prepare(1);
    await writer.write(batch('b'));
    await writer.prepare(2);
    target.failures.set('commit', 2);
    await expect(writer.commit(1)).rejects.toThrow('commit failed');
    await expect(writer.commit(2)).rejects.toThrow('commit failed');
    expect(target.rows).toEqual([]);
    expect((await writer.prepare(3)).transactions).toHaveLength(2);
    await writer.commit(3);
    expect(target.rows).toEqual(['a', 'b']);
    expect((await writer.prepare(4)).transactions).toEqual([]);
  });

  test('T3: two commits at once take turns', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    await writer.prepare(1);
    await Promise.all([writer.commit(1), writer.commit(1)]);
    expect(target.calls.filter((c) => c.startsWith('commit'))).toHaveLength(1);
  });
});

describe('K3: an aborted checkpoint', () => {
  test('C06: its output comes with the next, before the newer rows, once', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    await writer.prepare(1);
    await writer.write(batch('b'));
    expect((await writer.prepare(2)).transactions).toHaveLength(2);
    await writer.commit(2);
    expect(target.rows).toEqual(['a', 'b']);
  });

  test('T2: a transaction whose preCommit failed is prepared with the next checkpoint, in order', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    target.failures.set('preCommit', 1);
    await expect(writer.prepare(1)).rejects.toThrow('preCommit failed');
    await writer.write(batch('b'));
    await writer.prepare(2);
    await writer.commit(2);
    expect(target.rows).toEqual(['a', 'b']);
  });
});

describe('K4: recovery', () => {
  test('C07: five promised transactions are committed once by a cold object, at another parallelism', async () => {
    const target = new Target();
    const writers = await attempt(() => new TargetSink(target) as never, { parallelism: 5 });
    const prepared = [];
    for (const [i, writer] of writers.entries()) {
      await writer.write(batch(`row ${i}`));
      prepared.push(await writer.prepare(1));
    }
    const kept = keep(1, prepared);
    await attempt(() => new TargetSink(target) as never, { generation: 2, from: kept, parallelism: 2 });
    await attempt(() => new TargetSink(target) as never, { generation: 3, from: kept, parallelism: 1 });
    expect(target.rows).toEqual(['row 0', 'row 1', 'row 2', 'row 3', 'row 4']);
  });

  test('what was announced beyond the checkpoint is aborted, what it lists is not', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    const noted = [...writer.announce(1)];
    const kept = keep(1, [await writer.prepare(1)]);
    await writer.write(batch('b'));
    noted.push(...writer.announce(2));
    await writer.prepare(2);
    target.calls.length = 0;
    await attempt(() => new TargetSink(target) as never, { generation: 2, from: kept, abandoned: noted.map((t) => structuredClone(t)) });
    expect(target.calls).toEqual(['commit late-flights/out/1/0/0', 'abort late-flights/out/1/0/1']);
    expect(target.rows).toEqual(['a']);
    expect(target.prepared.size).toBe(0);
  });

  test('a failed recovery is rejected', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    const kept = keep(1, [await writer.prepare(1)]);
    target.failures.set('commit', 1);
    await expect(attempt(() => new TargetSink(target) as never, { generation: 2, from: kept })).rejects.toThrow('commit failed');
  });

  test('recovery uses recoverAndCommit and recoverAndAbort, on an object that was opened and is closed after', async () => {
    const calls: string[] = [];
    class Careful extends TargetSink {
      override open = (): void => void calls.push('open');
      override close = (): void => void calls.push('close');
      override recoverAndCommit(txn: Txn): void {
        calls.push(`recoverAndCommit ${txn.rows.join()}`);
      }
      override recoverAndAbort(txn: Txn): void {
        calls.push(`recoverAndAbort ${txn.rows.join()}`);
      }
    }
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    const kept = keep(1, [await writer.prepare(1)]);
    await writer.write(batch('b'));
    const abandoned = writer.announce(2);
    const sink = new Careful(target);
    await attempt(() => sink as never, { generation: 2, from: kept, abandoned });
    expect(calls).toEqual(['open', 'recoverAndCommit a', 'recoverAndAbort b', 'close', 'open']);
  });
});

describe('the rest of a life', () => {
  test('discard aborts what is open and leaves what is prepared', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    await writer.prepare(1);
    await writer.write(batch('b'));
    await writer.discard();
    await writer.close();
    expect(target.calls.at(-1)).toBe('abort late-flights/out/1/0/1');
    expect([...target.prepared.keys()]).toEqual(['late-flights/out/1/0/0']);
  });

  test('flush is awaited between batches when many rows have come, and not for each batch', async () => {
    let flushed = 0;
    class Flushing extends TargetSink {
      override async flush(txn: Txn): Promise<void> {
        flushed++;
        txn.rows.length = 0;
      }
    }
    const [writer] = await attempt(() => new Flushing(new Target()) as never);
    const rows = batch(...Array<string>(1_024).fill('x'));
    for (let i = 0; i < 7; i++) expect(await writer!.write(rows)).toBeUndefined();
    expect(flushed).toBe(0);
    for (let i = 0; i < 9; i++) await writer!.write(rows);
    expect(flushed).toBe(2);
  });

  test('transactions in a checkpoint are plain data', async () => {
    const target = new Target();
    const writer = await open(target);
    await writer.write(batch('a'));
    const kept = keep(1, [await writer.prepare(1)]);
    expect(kept.transactions.map(decodeValue)).toEqual([{ name: '1/0/0', txn: { name: 'late-flights/out/1/0/0', rows: ['a'] } }]);
  });

  test('a sink is called by the name of its class', () => {
    expect(new TargetSink(new Target()).kind).toBe('TargetSink');
  });
});
