// A tick moves on what no input does: timers of processing time, splits that fall silent, alignments that were given up, a tail that nobody delivered.

import type { Answer } from '../invocation.ts';
import { isKeptDue } from '../lane/kept-input.ts';
import { appendTriesMax } from '../limits.ts';
import { makeRoom } from './commit.ts';
import { forgetPositions } from './forget-positions.ts';
import { takeMessages } from './messages.ts';
import { proposalOf } from './proposal.ts';
import { end } from './records.ts';
import { run } from './run.ts';
import { done, refuse, type Session } from './session.ts';
import { decideSilence, strategyOf } from './silence.ts';
import { fireTimers } from './timers.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** Of a source subtask that has nothing to read, such as one above the number of splits: nothing else will say that it has ended. */
function isEndDue(warm: WarmSubtask): boolean {
  const { head } = warm.newest;
  const spec = warm.stage.operators[0]?.node.operator;
  return spec?.kind === 'source' && !head.hasEnded && head.splits.every((split) => split.hasEnded);
}

export async function tick(session: Session): Promise<Answer> {
  const { services } = session;
  for (let tries = 0; tries < appendTriesMax; tries++) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    if (warm.stage.inputs.length > 0) return takeMessages(session, { messages: [], isTick: true });
    if (!(await makeRoom(warm))) return refuse('ring-full');
    if (warm.lane !== undefined && !isKeptDue(warm.newest.head)) {
      const outcome = await forgetPositions(session, warm, warm.lane);
      if (outcome === 'lost') continue;
    }
    const hasEnded = isEndDue(warm);
    const silenced = decideSilence(warm.newest.head, { strategy: strategyOf(warm.stage.operators[0]), nowMs: services.clock.now() });
    const ran = await run(warm, services, (host) => {
      const hasFired = fireTimers(host, services.clock.now());
      if (silenced?.watermark !== undefined) while (!host.advanceWatermark(silenced.watermark));
      if (silenced?.isIdleNow === true) host.broadcast({ kind: 'idle' });
      if (hasEnded) end(host);
      return hasFired;
    });
    if (ran.kind === 'failed') throw ran.error;
    if (!ran.value && !hasEnded && silenced === undefined) {
      warm.state.abandonUnit();
      return done;
    }
    const { messages, sent } = warm.outbox.pack(ran.effects.emissions, warm.newest.head);
    const { splits, watermark } = { ...warm.newest.head, ...silenced };
    const head = { splits, watermark: watermark ?? warm.newest.head.watermark, sent, ...(hasEnded ? { hasEnded } : {}) };
    const proposal = await proposalOf(warm, ran, { head, messages, services });
    if ((await session.commit(warm, proposal)) === 'committed') return done;
  }
  return refuse('contended');
}
