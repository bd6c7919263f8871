// Beginning a checkpoint: a number, and the list of those who have to acknowledge it.
//   B1  Numbers are taken by a conditional write and never used twice, also not after a restore.
//   B2  No checkpoint begins while owners change or a restore is under way: who acknowledges would not be who takes part.
//   B3  Patience is fixed when the checkpoint begins, from the aborts in a row before it.

import { retryDelayMs } from '../../checkpoint/decide/retry.ts';
import { patienceMs } from '../../checkpoint/decide/timeout.ts';
import { decideTrigger } from '../../checkpoint/decide/trigger.ts';
import type { JobItem, OpenCheckpoint } from '../job-item.ts';
import { hasNews, haveAllEnded } from './facts.ts';
import { sourceOf } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';

/** @returns the checkpoint that this call began */
export async function beginIfDue(run: PulseRun): Promise<OpenCheckpoint | undefined> {
  const { item } = run;
  if (item.owners.length === 0) return undefined;
  const trigger = await dueTrigger(run);
  if (trigger === undefined) return undefined;
  const seen = { begun: item.begun, generation: item.generation };
  const facts = { ...seen, trigger, nowMs: run.options.clock.now(), timeoutMs: run.settings.timeoutMs };
  const now = await run.change((current) => withBegun(current, facts));
  const open = now.open.at(-1);
  if (open?.checkpoint !== seen.begun + 1) return undefined;
  run.tell({ kind: 'checkpoint-begun', checkpoint: open.checkpoint });
  return open;
}

async function dueTrigger(run: PulseRun): Promise<OpenCheckpoint['trigger'] | undefined> {
  const { item, settings, options } = run;
  const nowMs = options.clock.now();
  if (mayEnd(run) && (await haveAllEnded(run))) return decideFinal({ ...finalFacts(item), nowMs }) === 'begin' ? 'final' : undefined;
  const facts = { ...settings, nowMs, lastBegunMs: item.lastBegunMs, lastEndedMs: item.lastEndedMs, pending: item.open.length };
  // Asking the rings for news costs requests, so it comes last.
  if (decideTrigger({ ...facts, hasNews: true, isEnding: false }).kind === 'wait') return undefined;
  return decideTrigger({ ...facts, hasNews: await hasNews(run), isEnding: false }).kind === 'begin' ? 'periodic' : undefined;
}

/** A stream that cannot be read again may end too; of one that can, and has no bound, and of a queue it is known that it does not. */
function mayEnd(run: PulseRun): boolean {
  return run.options.plan.stages.every((stage) => {
    const source = sourceOf(stage);
    return source === undefined || source.isBounded || (!source.isRereadable && source.queue === undefined);
  });
}

export interface FinalFacts {
  readonly nowMs: number;
  readonly hasOpenFinal: boolean;
  /** The newest completed checkpoint is the last one. */
  readonly isComplete: boolean;
  readonly failuresInARow: number;
  readonly lastEndedMs: number | undefined;
}

/** The last checkpoint of a job whose input has ended: whatever the interval, and again when it failed, ever less often. */
export function decideFinal(facts: FinalFacts): 'begin' | 'wait' {
  if (facts.hasOpenFinal || facts.isComplete) return 'wait';
  if (facts.failuresInARow === 0 || facts.lastEndedMs === undefined) return 'begin';
  const elapsedMs = facts.nowMs - Math.min(facts.lastEndedMs, facts.nowMs);
  return elapsedMs >= retryDelayMs(facts.failuresInARow) ? 'begin' : 'wait';
}

function finalFacts(item: JobItem): Omit<FinalFacts, 'nowMs'> {
  const last = item.completed.at(-1);
  return {
    hasOpenFinal: item.open.some((o) => o.trigger === 'final'),
    // One of an earlier generation has been restored, and what runs now ends with its own.
    isComplete: last?.trigger === 'final' && last.generation === item.generation,
    failuresInARow: item.failuresInARow,
    lastEndedMs: item.lastEndedMs,
  };
}

export interface BeginFacts {
  /** As seen when it was decided to begin: another coordinator may have begun the same one. */
  readonly begun: number;
  readonly generation: number;
  readonly trigger: OpenCheckpoint['trigger'];
  readonly nowMs: number;
  readonly timeoutMs: number;
}

/** Pure: the item with one more open checkpoint, or the same one when it may not begin. */
export function withBegun(item: JobItem, facts: BeginFacts): JobItem {
  const { begun, generation, trigger, nowMs, timeoutMs } = facts;
  if (item.begun !== begun || item.generation !== generation || item.status !== 'running') return item;
  if (item.restoring !== undefined || item.moving !== undefined) return item;
  const open: OpenCheckpoint = {
    checkpoint: begun + 1,
    generation,
    begunMs: nowMs,
    patienceMs: patienceMs(timeoutMs, item.expiredInARow),
    owners: item.owners.map(({ subtask }) => subtask),
    trigger,
  };
  return { ...item, begun: begun + 1, open: [...item.open, open], lastBegunMs: nowMs };
}
