// The barrier of a checkpoint. Its entry is the snapshot of the subtask: nothing is copied.
//   B1  A barrier is taken only if it is above the subtask's epoch: numbers on a changelog only grow.
//   B2  Rows that waited become a transaction, named by the barrier before. It is in every barrier entry until its commit is known to be
//       confirmed, so rows of an aborted checkpoint come with the next one.
//   B3  A barrier that was passed before is acknowledged again from its own entry, as long as the ring holds it.

import { readJob } from '../coordinator/read-job.ts';
import { emptyBody, nextEpoch, type PendingTransaction } from '../entry.ts';
import { unpackHead } from '../entry-codec.ts';
import type { Answer, Invocation } from '../invocation.ts';
import { appendTriesMax } from '../limits.ts';
import { slotOf } from '../ring.ts';
import { encodeTransactionRows } from '../sinks/transaction-rows.ts';
import { makeRoom, type Proposal } from './commit.ts';
import { acknowledge } from './deliver.ts';
import { run } from './run.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** A barrier by the hand of the coordinator. Subtasks that have input get theirs through the exchange. */
export async function takeBarrier(session: Session, invocation: Extract<Invocation, { kind: 'barrier' }>): Promise<Answer> {
  for (let tries = 0; tries < appendTriesMax; tries++) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    const { head } = warm.newest;
    if (invocation.generation < head.generation) return refuse('other-generation');
    if (invocation.generation > head.generation) {
      await session.forget();
      continue;
    }
    if (invocation.checkpoint < nextEpoch(head)) {
      await acknowledgeAgain(warm, invocation.checkpoint, session.services);
      return done;
    }
    if (head.channels.length > 0 && !head.hasEnded) return done; // its barrier comes in-band
    if (!(await makeRoom(warm))) return refuse('ring-full');
    const proposal = await barrierProposal(warm, invocation.checkpoint, session.services);
    if ((await session.commit(warm, proposal)) === 'committed') return done;
  }
  return refuse('contended');
}

/** What a subtask appends when it has the barrier on all inputs. */
export async function barrierProposal(warm: WarmSubtask, checkpoint: number, services: UnitServices): Promise<Proposal> {
  const confirmed = await refreshJob(warm, services);
  const { head } = warm.newest;
  const ran = await run(warm, services, (host) => {
    if (!head.hasEnded) host.broadcast({ kind: 'barrier', checkpoint });
    return takeRows(warm, services);
  });
  if (ran.kind === 'failed') throw ran.error;
  const opened = head.lastBarrier?.checkpoint ?? 0;
  const { generation, subtask } = head;
  const transactions: PendingTransaction[] = head.transactions.filter((t) => t.under > confirmed);
  for (const [sink, rows] of ran.value) {
    // Who was overtaken may have read a part of what waits later than the rest, and store it when the transaction is settled and its own rows are gone.
    const object = `rows/${generation}/${subtask}/${sink}/${head.n + 1}-${services.newWriter()}`;
    await services.ports.objects.putIfAbsent(object, encodeTransactionRows(rows));
    transactions.push({ sink, opened, under: checkpoint, generation, subtask, rows: object });
  }
  const { messages, sent } = warm.outbox.pack(ran.effects.emissions, head);
  return { kind: 'barrier', epoch: checkpoint, head: { transactions, sent }, body: { ...emptyBody, delta: ran.delta, messages } };
}

/** Rows by sink, taken out of state. Sinks that are written at once have none there, and are not looked up. */
function takeRows(warm: WarmSubtask, services: UnitServices): readonly (readonly [sink: string, rows: readonly Uint8Array[]])[] {
  const taken: (readonly [string, readonly Uint8Array[]])[] = [];
  for (const operator of warm.stage.operators) {
    const { uid, node } = operator;
    if (node.operator.kind !== 'sink' || services.isImmediate(operator)) continue;
    const buffer = warm.state.buffer(uid);
    const rows = buffer.all();
    if (rows === undefined || rows.length === 0) continue;
    taken.push([uid, rows]);
    buffer.clear();
  }
  return taken;
}

/**
 * Reads the job item, unless this invocation has done so for the newest entry.
 * @returns the newest checkpoint whose transactions are all committed
 */
async function refreshJob(warm: WarmSubtask, services: UnitServices): Promise<number> {
  if (warm.itemAsOf === warm.newest.head.n) return warm.item.confirmed;
  const job = await readJob(services.ports);
  if (job === undefined || job.item.generation !== warm.item.generation) return 0;
  warm.item = job.item;
  return job.item.confirmed;
}

async function acknowledgeAgain(warm: WarmSubtask, checkpoint: number, services: UnitServices): Promise<void> {
  const mark = warm.newest.head.lastBarrier;
  if (mark?.checkpoint !== checkpoint) return;
  if (mark.n === warm.newest.head.n) return acknowledge(warm.newest.head, services);
  const stored = await services.ports.changelog.get({ ring: warm.ring, slot: slotOf(mark.n, warm.item.ringSlots) });
  if (stored?.n === mark.n) await acknowledge(unpackHead(stored.bytes), services);
}
