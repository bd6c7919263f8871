// two-phase-commit-detached.ts drives a two-phase target where no writer lives from one barrier to the next: the rows of a transaction are known
// before it begins, so it is begun, written and prepared in one go.
//   D1  A `prepare` that fails aborts nothing: another process may have prepared the same transaction under the same name.
//   D2  Whoever commits has not written anything itself, so it is always `recoverAndCommit` and `recoverAndAbort`, as after a restore.

import type { DetachedContext, DetachedSink, DetachedTransaction } from '../../api/sink.ts';
import type { TwoPhaseCommitSink } from './two-phase-commit.ts';
import { flushRows } from './two-phase-commit-writer.ts';

export function createDetachedTwoPhaseCommit<I, Txn>(sink: TwoPhaseCommitSink<I, Txn>): DetachedSink<I> {
  return {
    kind: 'transactional',
    prepare: (ctx, t) => whileOpen(sink, ctx, () => write(sink, t)),
    commit: (ctx, _t, prepared) => whileOpen(sink, ctx, () => sink.recoverAndCommit(prepared as Txn)),
    abort: (ctx, t, prepared) =>
      whileOpen(sink, ctx, async () => {
        // Somebody may have begun it and died before anyone could note what came of it.
        const txn = prepared === undefined ? await sink.beginTransaction(t.id) : (prepared as Txn);
        await sink.recoverAndAbort(txn);
      }),
  };
}

async function write<I, Txn>(sink: TwoPhaseCommitSink<I, Txn>, t: DetachedTransaction<I>): Promise<Txn> {
  const txn = await sink.beginTransaction(t.id);
  for (let from = 0; from < t.rows.length; from += flushRows) {
    if (from > 0) await sink.flush?.(txn);
    const end = Math.min(t.rows.length, from + flushRows);
    for (let i = from; i < end; i++) sink.invoke(txn, t.rows[i] as I);
  }
  await sink.preCommit(txn);
  return txn;
}

async function whileOpen<I, Txn, R>(sink: TwoPhaseCommitSink<I, Txn>, ctx: DetachedContext, work: () => R | Promise<R>): Promise<R> {
  try {
    await sink.open?.(ctx);
    return await work();
  } finally {
    await sink.close?.();
  }
}
