// Calls pulse after pulse until the job has ended. In the cloud a schedule does this once a minute; here it is a timer.
//   L1  A pulse that failed is nothing: the next one begins from what is stored.
//   L2  A target that refuses what a checkpoint promised, or never answers, is asked again, less and less often. A job that has ended keeps its
//       promise, but this process does not wait for ever: who cancelled it has to get away, and the rows are kept for whoever comes next.

import { isSluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { type PulseOptions, type PulseReport, pulse } from '../../invocation/coordinator/pulse.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import type { Bell } from './bell.ts';
import type { Ownership } from './ownership.ts';

export interface PulseLoopOptions {
  readonly pulse: Omit<PulseOptions, 'ticks'>;
  readonly clock: Clock;
  /** Rung when a pulse should not wait. */
  readonly bell: Bell;
  readonly ownership: Ownership;
  readonly intervalMs: number | undefined;
  /** After each pulse. */
  readonly seen: (item: JobItem) => void;
  /** The store refused a write because another process holds it. */
  readonly blocked: () => void;
  /** Pulses at once: 1, or 2 on purpose. */
  readonly copies: () => number;
}

const busyPauseMs = 10;
const idlePauseMsMax = 200;
const tickEveryMs = 250;
/** Pulses in a row that may fail before the run does; each is followed by a pause. */
const failuresMax = 50;

const unsettledPauseMsMax = 1_000;
/** Pulses of an ended job in a row that leave output behind, before the run gives up on it: about two seconds. */
const unsettledMax = 8;
/** The same where each of them waits for an answer that does not come. */
const unsettledMsMax = 10_000;

export function hasEnded({ status }: JobItem): boolean {
  return status === 'finished' || status === 'cancelled' || status === 'failed';
}

export function takesInput({ status, restoring, moving }: JobItem): boolean {
  return status === 'running' && restoring === undefined && moving === undefined;
}

/** @returns the job item as it ended */
export async function runPulses(o: PulseLoopOptions): Promise<JobItem> {
  let tickedMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let unsettled = 0;
  let settledMs = o.clock.now();
  for (;;) {
    await o.ownership.check();
    const now = o.clock.now();
    const isTickDue = now - tickedMs >= tickEveryMs || now < tickedMs;
    const options: PulseOptions = { ...o.pulse, ticks: () => isTickDue };
    const report = await onePulse(o, options);
    if (report === undefined) {
      if (++failures > failuresMax) await pulse(options); // whatever it throws now is what the run ends with
    } else {
      failures = 0;
      if (isTickDue) tickedMs = now;
      const { item } = report;
      if (item !== undefined) {
        o.seen(item);
        unsettled = isUnsettled(item) ? unsettled + 1 : 0;
        if (unsettled === 0) settledMs = now;
        const hasWaited = unsettled > unsettledMax || (unsettled > 1 && o.clock.now() - settledMs > unsettledMsMax);
        if (hasEnded(item) && (!report.isBusy || hasWaited)) {
          await o.ownership.check(); // who was stopped for a while has not ended the job
          if (report.isBusy) o.pulse.onEvent?.({ kind: 'notice', message: leftBehind(item) });
          return item;
        }
      }
    }
    const busyMs = unsettled === 0 ? busyPauseMs : Math.min(busyPauseMs * 2 ** unsettled, unsettledPauseMsMax);
    await o.bell.wait(report?.isBusy === true ? busyMs : pauseMs(o.intervalMs));
  }
}

/** Nothing is left to do but what a sink has to take. */
function isUnsettled({ open, restoring, moving, completed, confirmed }: JobItem): boolean {
  return open.length === 0 && restoring === undefined && moving === undefined && (completed.at(-1)?.checkpoint ?? 0) > confirmed;
}

function leftBehind({ job, status, completed }: JobItem): string {
  const rows = `output that checkpoint ${completed.at(-1)?.checkpoint} promised is not visible yet, and is kept`;
  return `${job} is ${status}; ${rows}: a run${status === 'cancelled' ? ' with --from latest' : ''} makes it visible once the target takes it`;
}

async function onePulse(o: PulseLoopOptions, options: PulseOptions): Promise<PulseReport | undefined> {
  try {
    const copies = Array.from({ length: o.copies() }, () => pulse(options));
    const [first] = await Promise.all(copies);
    return first;
  } catch (error) {
    if (isSluiceError(error) && error.code === 'STORE_THROTTLED') o.blocked();
    else if (isSluiceError(error) && error.next !== 'try-again' && error.next !== 'retry-invocation') throw error;
    o.pulse.onEvent?.({ kind: 'notice', message: `a pulse failed and is made again: ${String(error)}` });
    return undefined;
  }
}

function pauseMs(intervalMs: number | undefined): number {
  return intervalMs === undefined ? idlePauseMsMax : Math.min(idlePauseMsMax, Math.max(busyPauseMs, Math.ceil(intervalMs / 10)));
}
