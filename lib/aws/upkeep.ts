// What a pulse does because time has passed, and not because something is pending.
//   K1  A subtask is ticked often only where its stage follows time. Of everybody else, a tick finds something after a crash or an abort alone, and
//       the barrier of the next checkpoint finds it too; so they are ticked now and then, and while checkpoints fail.
//   K2  What running subtasks leave behind is behind a checkpoint that has begun since. Some of it may go only a day later.

import type { Plan, PlannedOperator, Stage } from '../graph/plan.ts';
import type { JobItem } from '../invocation/job-item.ts';

const tickEveryMs = 1_000;
const tickAllEveryMs = 3_600_000;
const sweepEveryMs = 3_600_000;
const sweepAnywayMs = 86_400_000;

export interface UpkeepFacts {
  readonly nowMs: number;
  readonly hasCheckpoints: boolean;
  /** As the last pulse of this sandbox left it. */
  readonly item: Pick<JobItem, 'begun' | 'failuresInARow' | 'expiredInARow'> | undefined;
  readonly tickedMs: number;
  /** When everybody was ticked. */
  readonly tickedAllMs: number;
  readonly swept: { readonly atMs: number; readonly begun: number };
}

export interface Upkeep {
  /** `timed`: those whose stage follows time. */
  readonly ticks: 'all' | 'timed' | 'none';
  readonly sweeps: boolean;
}

/** Pure. */
export function decideUpkeep(facts: UpkeepFacts): Upkeep {
  const { nowMs, hasCheckpoints, item, tickedMs, tickedAllMs, swept } = facts;
  const isOver = (atMs: number, everyMs: number): boolean => nowMs - atMs >= everyMs || nowMs < atMs;
  const hasRun = !hasCheckpoints || item === undefined || item.begun !== swept.begun;
  const sweeps = isOver(swept.atMs, hasRun ? sweepEveryMs : sweepAnywayMs);
  if (!isOver(tickedMs, tickEveryMs)) return { ticks: 'none', sweeps };
  const isCalm = hasCheckpoints && item !== undefined && item.failuresInARow === 0 && item.expiredInARow === 0;
  return { ticks: isCalm && !isOver(tickedAllMs, tickAllEveryMs) ? 'timed' : 'all', sweeps };
}

const known = new WeakMap<Plan, ReadonlySet<number>>();

/** Looked at once for each plan: making a function to look at it costs as much as its user likes. */
export function stagesThatFollowTime(plan: Plan): ReadonlySet<number> {
  const timed = known.get(plan) ?? new Set(plan.stages.filter(followsTime).map(({ id }) => id));
  known.set(plan, timed);
  return timed;
}

/** Pure: whether time alone gives a subtask of this stage something to do: a timer, a split that falls silent, a queue whose messages are forgotten. */
function followsTime({ operators }: Pick<Stage, 'operators'>): boolean {
  return operators.some(followsTimeItself);
}

function followsTimeItself({ node: { operator } }: PlannedOperator): boolean {
  switch (operator.kind) {
    case 'source':
      return operator.source.queue !== undefined || operator.watermarks?.idlenessMs !== undefined;
    case 'timestamps':
      return operator.watermarks.idlenessMs !== undefined;
    case 'keyedProcess':
    case 'coProcess':
    case 'broadcastProcess':
      return (operator.create() as { readonly onTimer?: unknown }).onTimer !== undefined;
    default:
      return false;
  }
}
