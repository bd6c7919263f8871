// Redrive: a parked record is run again, at the user's wish, on the state of today. The letter goes in the entry that has the effect; whoever asks
// twice, or after a restore took the letter back, finds nothing to do.

import type { SourceOutput } from '../../api/source.ts';
import { UnreadableRecord } from '../../api/unreadable.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { keyOfEncoded } from '../../core/key-codec.ts';
import { outputOrigin } from '../../core/origins.ts';
import { WatermarkGenerator } from '../../operators/watermark-generator.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { sourceOf } from '../coordinator/owners.ts';
import { replayEndsOf } from '../coordinator/restored-entry.ts';
import type { Answer } from '../invocation.ts';
import { encodeUnit } from '../lane/kept-format.ts';
import { isKeptDue } from '../lane/kept-input.ts';
import { appendTriesMax } from '../limits.ts';
import { isRecordsFault } from '../poison/attempts.ts';
import { type DeadLetter, decodeLetter, letterAddress, redrivenWrite } from '../poison/dead-letters.ts';
import { isReplayDue } from '../replay-end.ts';
import { makeRoom, type Proposal } from './commit.ts';
import { withLetters } from './failing-run.ts';
import { readBody, sideOrigin } from './lane-run.ts';
import { checkOfOutput } from './output-check.ts';
import { proposalOf } from './proposal.ts';
import { type Ran, type RunOutcome, run } from './run.ts';
import type { UnitServices } from './services.ts';
import { done, refuse, type Session } from './session.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** @param id  of the letter */
export async function redrive(session: Session, id: string): Promise<Answer> {
  const { services } = session;
  for (let tries = 0; tries < appendTriesMax; tries++) {
    const admission = await session.admit(true);
    if (admission.kind === 'refused') return refuse(admission.why);
    const { warm } = admission;
    const { head } = warm.newest;
    const ends = replayEndsOf(warm.item, session.subtask, sourceOf(warm.stage));
    if (head.splits.some((split) => isReplayDue(split, ends)) || isKeptDue(head)) return refuse('replay-first');
    // Nothing may follow the end that was sent on, and what follows the barrier behind it may be in no checkpoint any more.
    if (head.hasEnded && (warm.stage.outlets.length > 0 || head.kind !== 'data')) return refuse('ended');
    if (!(await makeRoom(warm))) return refuse('ring-full');
    const stored = await warm.state.read(letterAddress(session.subtask, id));
    if (stored === undefined) return done;
    if (decodeLetter(stored).isExcerpt) return refuse('record-failed');
    const ran = await runLetter(warm, services, stored);
    if (ran.kind === 'failed') {
      if (isRecordsFault(ran.error)) return refuse('record-failed');
      throw ran.error;
    }
    const kept = services.keepsInput ? [encodeUnit({ kind: 'redrive', letter: id })] : [];
    const proposal = { ...(await redriveProposal(session, warm, { ran, id })), lane: { kept, replayed: 0, buckets: undefined } };
    if ((await session.commit(warm, proposal)) === 'committed') return done;
  }
  return refuse('contended');
}

/** @param stored  the letter; each run is given a record of its own */
export function runLetter(warm: WarmSubtask, services: UnitServices, stored: Uint8Array): Promise<RunOutcome<void>> {
  return run(warm, services, (host) => {
    const letter = decodeLetter(stored);
    const { timer, operator, input } = letter;
    const checkOutput = checkOfOutput(host);
    if (timer === undefined) host.process(givenAgain(letter, warm, host), input);
    else host.fireAgain(operator, timer.domain, { time: timer.time, key: keyOfEncoded(timer.key), cause: timer.cause });
    checkOutput();
  });
}

/** The effect, and the end of the letter. */
export async function redriveProposal(
  session: Session,
  warm: WarmSubtask,
  { ran, id }: { readonly ran: Ran<void>; readonly id: string },
): Promise<Proposal> {
  const { messages, sent } = warm.outbox.pack(ran.effects.emissions, warm.newest.head);
  const { services, subtask } = session;
  return proposalOf(warm, withLetters(ran, [redrivenWrite(subtask, id)]), { head: { sent }, messages, services });
}

/** A record of a source was parked as it came: without its event time, and of a queue, or damaged, as what the service handed over. */
function givenAgain({ batch, error }: DeadLetter, { stage }: WarmSubtask, host: OperatorHost): RecordBatch {
  const head = stage.operators[0];
  const spec = head?.node.operator;
  if (head === undefined || spec?.kind !== 'source') return batch;
  const own = { ...batch };
  const { queue, readRecord } = spec.source;
  const isDamaged = error.code === 'RECORD_DAMAGED' && readRecord !== undefined;
  if (queue !== undefined || isDamaged) {
    const values: unknown[] = [];
    let malformed = 0;
    const side: SourceOutput<unknown>['side'] = (tag, value) =>
      host.emitSide(tag.id, value, Number.NEGATIVE_INFINITY, batch.origins && sideOrigin(batch.origins.at(0), malformed++));
    const out: SourceOutput<unknown> = { values, count: 0, side };
    if (isDamaged) readRecord(batch.values[0] as Uint8Array, out);
    else readBody({ stage }, batch.values[0], out);
    for (const value of values) if (value instanceof UnreadableRecord) throw value.error;
    const { origins } = batch;
    Object.assign(own, {
      values,
      count: out.count,
      origins:
        origins === undefined ? undefined : { at: (n: number) => (out.count === 1 ? origins.at(0) : outputOrigin(origins.at(0), n)) },
    });
  }
  if (spec.watermarks !== undefined) new WatermarkGenerator(spec.watermarks, `source ${head.uid}`).stamp(own);
  return own;
}
