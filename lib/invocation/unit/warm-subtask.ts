// What an environment remembers of a subtask between two invocations. It is a cache: every statement in it is put to the test by the next append.

import type { Stage } from '../../graph/plan.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { SubtaskMetrics } from '../../runtime/metrics.ts';
import { isKnownAborted } from '../alignment.ts';
import type { Entry, EntryHead } from '../entry.ts';
import { nextEpoch } from '../entry.ts';
import type { WaitingMessage } from '../intake.ts';
import type { JobItem, Owner } from '../job-item.ts';
import type { LaneMemory } from '../lane/lane-memory.ts';
import type { Outbox } from '../outbox.ts';
import type { RingAddress } from '../ports.ts';
import type { SubtaskState, VersionView } from '../state/contract.ts';
import type { OperatorStateMemory } from './operator-state-memory.ts';
import type { TimerRelay } from './timer-failures.ts';

export interface WarmSubtask {
  readonly ring: RingAddress;
  readonly owner: Owner;
  readonly stage: Stage;
  /** The job item as it was last read. */
  item: JobItem;
  /** Number of the newest entry when it was, as long as this invocation lasts. */
  itemAsOf: number | undefined;
  /** The newest entry that this environment knows. */
  newest: Entry;
  /** Whether everything that the newest entry wants from the outside is known to have happened. */
  isDelivered: boolean;
  readonly state: SubtaskState;
  readonly outbox: Outbox;
  /** The messages of `held`, read. */
  waiting: { readonly held: EntryHead['held']; readonly messages: readonly WaitingMessage[] } | undefined;
  /** What the next entry says of it; ahead of `newest.head` after a materialise. */
  flushedThrough: number;
  snapshot: string | undefined;
  /** Number of the entry through which the last snapshot was stored here; -1: `snapshot` is what an entry named. */
  storedThrough: number;
  /** Lanes of a queue only. */
  readonly lane: LaneMemory | undefined;
  readonly operatorState: OperatorStateMemory;
  /** What the operators ask when their timers fire. */
  readonly timers: TimerRelay;
  /** Operators as `newest` left them; made again when it is not known that they are. */
  host: OperatorHost | undefined;
  /** What the operators count. Of a run that is abandoned nothing counts. */
  metrics: SubtaskMetrics | undefined;
}

export function headOf(warm: WarmSubtask): EntryHead {
  return warm.newest.head;
}

/**
 * Restore points come from the job item as well as from the barriers passed: what replaced another subtask never saw the barriers that its
 * parents passed, and the item may not name a checkpoint yet whose barrier has come. One below the epoch that neither names is over, or was passed
 * by in favour of a higher one: no restore goes there.
 */
export function versionView(warm: WarmSubtask): VersionView {
  const { item } = warm;
  const head = headOf(warm);
  const points = [...item.completed.map((c) => c.checkpoint), ...item.open.map((o) => o.checkpoint), ...passedBarriers(warm)];
  return { generation: head.generation, restores: item.restores, points: [...new Set(points)], epoch: nextEpoch(head) };
}

export function newestCompleted(item: JobItem): number {
  return item.completed.at(-1)?.checkpoint ?? 0;
}

/** Barriers of which neither completion nor a later completion is known: a slow acknowledgement may still complete their checkpoints. */
export function openBarriers(warm: WarmSubtask): readonly number[] {
  const head = headOf(warm);
  const over = Math.max(newestCompleted(warm.item), head.lastCompleted);
  return [...new Set(passedBarriers(warm))].filter((barrier) => barrier > over);
}

/** Barriers that entries name as open, but for those that the job item knows to be aborted: where one abort follows another they would pile up. */
function passedBarriers(warm: WarmSubtask): readonly number[] {
  const head = headOf(warm);
  const passed = head.kind === 'barrier' ? [...head.open, head.epoch] : head.open;
  return passed.filter((barrier) => !isKnownAborted(barrier, head.generation, warm.item));
}
