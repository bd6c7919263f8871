// Redrive: a parked record is run again, at the user's wish, on the state of today. The letter goes in the entry that has the effect; whoever asks
// twice, or after a restore took the letter back, finds nothing to do.

import type { RecordBatch } from '../../core/batch.ts';
import type { Stage } from '../../graph/plan.ts';
import { WatermarkGenerator } from '../../operators/watermark-generator.ts';
import type { Answer } from '../invocation.ts';
import { appendTriesMax } from '../limits.ts';
import { isRecordsFault } from '../poison/attempts.ts';
import { decideRedrive, letterAddress, redrivenWrite } from '../poison/dead-letters.ts';
import { isReplayDue } from '../source-intake.ts';
import { makeRoom } from './commit.ts';
import { withLetters } from './failing-run.ts';
import { proposalOf } from './proposal.ts';
import { run } from './run.ts';
import { done, refuse, type Session } from './session.ts';

/** @param id  of the letter */
export async function redrive(session: Session, id: string): Promise<Answer> {
  const { services } = session;
  for (let tries = 0; tries < appendTriesMax; tries++) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    const { head } = warm.newest;
    if (head.splits.some(isReplayDue)) return refuse('replay-first');
    // Nothing may follow the end that was sent on.
    if (head.hasEnded && warm.stage.outlets.length > 0) return refuse('not-running');
    if (!(await makeRoom(warm))) return refuse('ring-full');
    const decision = decideRedrive(await warm.state.read(letterAddress(session.subtask, id)));
    if (decision.kind === 'not-parked') return done;
    const { letter } = decision;
    if (letter.isExcerpt) return refuse('record-failed');
    const ran = await run(warm, services, (host) => host.process(stamped(letter.batch, warm.stage), letter.input));
    if (ran.kind === 'failed') {
      if (isRecordsFault(ran.error)) return refuse('record-failed');
      throw ran.error;
    }
    const { messages, sent } = warm.outbox.pack(ran.effects.emissions, head);
    const proposal = await proposalOf(warm, withLetters(ran, [redrivenWrite(session.subtask, id)]), { head: { sent }, messages, services });
    if ((await session.commit(warm, proposal)) === 'committed') return done;
  }
  return refuse('contended');
}

/** A record of a source was parked as it came. */
function stamped(batch: RecordBatch, stage: Stage): RecordBatch {
  const head = stage.operators[0];
  const spec = head?.node.operator;
  if (head === undefined || spec?.kind !== 'source' || spec.watermarks === undefined) return batch;
  const own = { ...batch };
  new WatermarkGenerator(spec.watermarks, `source ${head.uid}`).stamp(own);
  return own;
}
