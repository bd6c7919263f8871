// Completing and aborting checkpoints. What follows from the acknowledgements is decided by checkpoint/decide; here it is gathered and carried out.
//   C1  Complete is one conditional write on the job item. The handles are stored before it, so what is listed can be restored.
//   C2  What is no longer open does not complete, whatever arrives: a restore voids everything that was open, by its mark.
//   C3  Completing ends every open checkpoint below. An abort only takes its own off the list; subtasks learn of it from the item.

import type { Split } from '../../api/source.ts';
import { decideCompletion } from '../../checkpoint/decide/completion.ts';
import { decideFailure } from '../../checkpoint/decide/failure.ts';
import { decideSubsumption } from '../../checkpoint/decide/retention.ts';
import { decideTimeout } from '../../checkpoint/decide/timeout.ts';
import type { EntryHead } from '../entry.ts';
import type { CompletedCheckpoint, JobItem, OpenCheckpoint, Owner, SubtaskHandle } from '../job-item.ts';
import { acknowledgementName } from '../job-item.ts';
import { decodeHandle, encodeHandles } from '../job-item-codec.ts';
import { headsOf, metadataName, transactionsOf } from './checkpoint-objects.ts';
import { splitOwner } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';
import { newestCompletedOf } from './read-job.ts';

/** Acknowledgements by subtask. */
export type Acknowledged = ReadonlyMap<string, SubtaskHandle>;

/** Completes or aborts what is due. @returns what has been acknowledged of the checkpoints that stay open */
export async function endOpenCheckpoints(run: PulseRun): Promise<ReadonlyMap<number, Acknowledged>> {
  const waiting = new Map<number, Acknowledged>();
  for (const open of run.item.open) {
    if (!isStillOpen(run.item, open)) continue; // one above has completed meanwhile
    const acknowledged = await acknowledgementsOf(run, open);
    const decision = decideCompletion({
      checkpoint: open.checkpoint,
      lastCompleted: newestCompletedOf(run.item),
      givenUp: undefined,
      expected: open.owners,
      acknowledged,
    });
    if (decision.kind === 'complete') await complete(run, open, decision.handles);
    else if (decideTimeout({ ...open, nowMs: run.options.clock.now() }).kind === 'expired') await abort(run, open);
    else waiting.set(open.checkpoint, acknowledged);
  }
  return waiting;
}

async function acknowledgementsOf(run: PulseRun, open: OpenCheckpoint): Promise<Acknowledged> {
  const stored = await run.options.ports.items.list(acknowledgementName(open.checkpoint, ''));
  const handles = stored.map(({ bytes }) => decodeHandle(bytes)).filter((h) => h.generation === open.generation);
  return new Map(handles.map((handle) => [handle.subtask, handle]));
}

async function complete(run: PulseRun, open: OpenCheckpoint, handles: readonly SubtaskHandle[]): Promise<void> {
  const { ports, clock } = run.options;
  const bytes = encodeHandles(handles);
  const metadata = metadataName(open.checkpoint);
  await ports.objects.putIfAbsent(metadata, bytes);
  const heads = headsOf(handles);
  const completedMs = clock.now();
  const done: CompletedCheckpoint = {
    checkpoint: open.checkpoint,
    generation: open.generation,
    begunMs: open.begunMs,
    completedMs,
    // What every subtask took part in with its end is the last one, whatever it was begun for.
    trigger: heads.every(({ hasEnded }) => hasEnded) ? 'final' : 'periodic',
    owners: open.owners.map((subtask) => ownerAt(run, subtask, heads)),
    metadata,
    bytes: bytes.length,
  };
  const facts = { done, numRetained: run.settings.numRetained, hasTransactions: transactionsOf(heads).length > 0 };
  const item = await run.change((now) => withCompleted(now, facts));
  run.hasEnded = true;
  if (!item.completed.some((c) => c.checkpoint === open.checkpoint)) return;
  run.handles.set(open.checkpoint, handles);
  run.tell({ kind: 'checkpoint-completed', checkpoint: open.checkpoint, durationMs: completedMs - open.begunMs, bytes: bytes.length });
}

/** Who took part: an owner of today, or one whose split has given way since; of that one its handle says what it was. */
function ownerAt(run: PulseRun, subtask: string, heads: readonly EntryHead[]): Owner {
  const owner = run.item.owners.find((o) => o.subtask === subtask);
  if (owner !== undefined) return owner;
  const { ordinal, split } = heads.find((head) => head.subtask === subtask)!.splits[0]!;
  return splitOwner(Number.parseInt(subtask, 10), ordinal, split as Split);
}

/** Pure: the item with the checkpoint completed, or the same one when it may not be. */
export function withCompleted(
  item: JobItem,
  facts: { readonly done: CompletedCheckpoint; readonly numRetained: number; readonly hasTransactions: boolean },
): JobItem {
  const { done, numRetained, hasTransactions } = facts;
  if (item.restoring !== undefined) return item;
  if (done.checkpoint <= newestCompletedOf(item) || !isStillOpen(item, done)) return item;
  const completed = [...item.completed, done];
  const newestFirst = completed.map((c) => c.checkpoint).reverse();
  const kept = decideSubsumption({ completed: newestFirst, numRetained });
  return {
    ...item,
    completed: completed.filter((c) => kept.includes(c.checkpoint)),
    open: item.open.filter((o) => o.checkpoint > done.checkpoint),
    confirmed: hasTransactions ? item.confirmed : done.checkpoint,
    failuresInARow: 0,
    expiredInARow: 0,
    lastEndedMs: done.completedMs,
  };
}

async function abort(run: PulseRun, open: OpenCheckpoint): Promise<void> {
  const facts = { open, nowMs: run.options.clock.now(), tolerable: run.settings.tolerableFailures };
  const item = await run.change((now) => withAborted(now, facts));
  if (isStillOpen(item, open)) return;
  run.hasEnded = true;
  run.hasAborted = true;
  run.tell({ kind: 'checkpoint-failed', checkpoint: open.checkpoint, reason: `it took longer than ${open.patienceMs} ms` });
}

/** Pure: the item without a checkpoint whose time is over. */
export function withAborted(
  item: JobItem,
  facts: { readonly open: OpenCheckpoint; readonly nowMs: number; readonly tolerable: number },
): JobItem {
  const { open, nowMs, tolerable } = facts;
  if (!isStillOpen(item, open)) return item;
  const outcome = decideFailure({ reason: 'expired', failuresInARow: item.failuresInARow, tolerable });
  const aborted: JobItem = {
    ...item,
    open: item.open.filter((o) => o.checkpoint !== open.checkpoint),
    expiredInARow: item.expiredInARow + 1,
    failuresInARow: outcome.kind === 'ignored' ? item.failuresInARow : outcome.failuresInARow,
    lastEndedMs: nowMs,
  };
  if (outcome.kind !== 'fail-job' || item.status !== 'running') return aborted;
  const failure = `checkpoint ${open.checkpoint} took longer than ${open.patienceMs} ms (${outcome.failuresInARow} failed in a row, ${tolerable} are tolerated)`;
  return { ...aborted, status: 'failing', failure, open: [] };
}

function isStillOpen(item: JobItem, c: { readonly checkpoint: number; readonly generation: number }): boolean {
  return item.open.some((o) => o.checkpoint === c.checkpoint && o.generation === c.generation);
}
