// A tick moves on what no input does: timers of processing time, splits that fall silent, alignments that were given up, a tail that nobody delivered.

import type { OperatorHost } from '../../runtime/host.ts';
import { sourceOf } from '../coordinator/owners.ts';
import { replayEndsOf } from '../coordinator/restored-entry.ts';
import type { Answer } from '../invocation.ts';
import { isKeptDue } from '../lane/kept-input.ts';
import { appendTriesMax } from '../limits.ts';
import type { OneByOne } from '../poison/one-by-one.ts';
import { makeRoom } from './commit.ts';
import { commitCounts, failuresOf, tryRun, withLetters } from './failing-run.ts';
import { forgetPositions } from './forget-positions.ts';
import { takeMessages } from './messages.ts';
import { proposalOf } from './proposal.ts';
import { done, refuse, type Session } from './session.ts';
import { decideSilence, type Silenced, strategyOf } from './silence.ts';
import { withCounts } from './timer-failures.ts';
import { end, fireTimers } from './timers.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** Of a source subtask that has nothing to read, such as one above the number of splits: nothing else will say that it has ended. */
function isEndDue(warm: WarmSubtask): boolean {
  const { head } = warm.newest;
  const spec = warm.stage.operators[0]?.node.operator;
  if (spec?.kind !== 'source' || spec.source.splitOf !== undefined) return false; // another split may still be added
  return !head.hasEnded && head.splits.every((split) => split.hasEnded);
}

export async function tick(session: Session): Promise<Answer> {
  const { services } = session;
  const failures = failuresOf(session, services.limits.attemptsMax);
  for (let tries = 0; tries < appendTriesMax; ) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    if (warm.stage.inputs.length > 0) return takeMessages(session, { messages: [], isTick: true });
    if (!(await makeRoom(warm))) return refuse('ring-full');
    if (warm.lane !== undefined && !isKeptDue(warm.newest.head)) {
      const outcome = await forgetPositions(session, warm, warm.lane);
      if (outcome === 'lost') {
        tries += 1;
        continue;
      }
    }
    const hasEnded = isEndDue(warm);
    const silenced = decideSilence(warm.newest.head, {
      strategy: strategyOf(warm.stage.operators[0]),
      nowMs: services.clock.now(),
      replayEnds: replayEndsOf(warm.item, warm.ring.subtask, sourceOf(warm.stage)),
    });
    failures.begin(warm.newest.head, warm.stage.operators[0]?.uid ?? warm.stage.name);
    const isOver = warm.newest.head.hasEnded;
    const due = { silenced, hasEnded, isOver };
    const ran = await tryRun(warm, services, failures, (host, one) => fire(host, one, { nowMs: services.clock.now(), ...due }));
    if (ran === 'again') continue;
    tries += 1;
    if (ran === 'wait') {
      if ((await commitCounts(session, warm, failures)) === 'committed') return refuse('record-failed');
      continue;
    }
    const { timerAttempts, letters, hasNews } = failures.outcome();
    if (!ran.value && !hasEnded && silenced === undefined && !hasNews) {
      warm.state.abandonUnit();
      return done;
    }
    const { messages, sent } = ran.outgoing;
    const { attempts } = withCounts(warm.newest.head, timerAttempts);
    const { splits, watermark } = { ...warm.newest.head, ...silenced };
    const head = { splits, watermark: watermark ?? warm.newest.head.watermark, sent, attempts, ...(hasEnded ? { hasEnded } : {}) };
    const proposal = await proposalOf(warm, withLetters(ran, letters), { head, messages, services });
    if ((await session.commit(warm, proposal)) === 'committed') return done;
  }
  return refuse('contended');
}

/** @returns whether a timer of processing time was due */
function fire(
  host: OperatorHost,
  one: OneByOne,
  p: { readonly nowMs: number; readonly silenced: Silenced | undefined; readonly hasEnded: boolean; readonly isOver: boolean },
): boolean {
  let hasFired = false;
  one.apart(() => {
    if (!p.isOver) hasFired = fireTimers(host, p.nowMs);
    const watermark = p.silenced?.watermark;
    if (watermark !== undefined) while (!host.advanceWatermark(watermark));
    if (p.silenced?.isIdleNow === true) host.broadcast({ kind: 'idle' });
    if (p.hasEnded) end(host, p.nowMs);
  });
  return hasFired;
}
