// A run of a unit whose records may fail: what it wants sent is part of it, because what cannot be encoded is the fault of a record too.

import type { OperatorHost } from '../../runtime/host.ts';
import { emptyBody, type StateWrite } from '../entry.ts';
import type { Outgoing } from '../outbox.ts';
import type { OneByOne } from '../poison/one-by-one.ts';
import type { Committed } from './commit.ts';
import { Failures } from './failures.ts';
import { dropOperators } from './operators.ts';
import { checkOfOutput } from './output-check.ts';
import { type Ran, run } from './run.ts';
import type { UnitServices } from './services.ts';
import type { Session } from './session.ts';
import { withCounts } from './timer-failures.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export type { Failures } from './failures.ts';

export type RanOutgoing<W> = Ran<W> & { readonly outgoing: Outgoing };

/** @param attemptsMax  tries of a record before a letter takes its place */
export function failuresOf(session: Session, attemptsMax: number): Failures {
  const { services, subtask } = session;
  return new Failures({ subtask, attemptsMax, clock: services.clock, isOutOfTime: () => session.isOutOfTime });
}

/**
 * @param work  given the run's book of records; it is to be used when `failures.isCareful`
 * @returns `again`: a record or a timer failed, and the next run leaves it out, stops before it, or finds out which one it was; `wait`: timers
 *   failed and are to be tried again, so that the counts are all that may be committed (`commitCounts`)
 * @throws what is no record's fault
 */
export async function tryRun<W>(
  warm: WarmSubtask,
  services: UnitServices,
  failures: Failures,
  work: (host: OperatorHost, one: OneByOne) => W,
): Promise<RanOutgoing<W> | 'again' | 'wait'> {
  failures.timers.begin(warm.newest.head);
  warm.timers.to = failures.timers;
  const ran = await run(warm, services, (host) => work(host, failures.newRun(checkOfOutput(host))));
  warm.timers.to = undefined;
  if (ran.kind === 'failed') {
    failures.blame(ran.error);
    return failures.hasEnoughTimers ? 'wait' : 'again';
  }
  if (failures.timers.isWaiting) {
    warm.state.abandonUnit();
    await dropOperators(warm);
    return 'wait';
  }
  try {
    return { ...ran, outgoing: warm.outbox.pack(ran.effects.emissions, warm.newest.head) };
  } catch (error) {
    warm.state.abandonUnit();
    await dropOperators(warm);
    failures.blame(error);
    return 'again';
  }
}

/** K1: all that is committed of a unit whose timers are tried again. */
export function commitCounts(session: Session, warm: WarmSubtask, failures: Failures): Promise<Committed> {
  warm.state.beginUnit();
  return session.commit(warm, { kind: 'data', head: withCounts(warm.newest.head, failures.timers.counts), body: emptyBody });
}

/** Letters are state of the subtask, committed with the positions that pass their records by. */
export function withLetters<R extends Ran<unknown>>(ran: R, letters: readonly StateWrite[]): R {
  if (letters.length === 0) return ran;
  return { ...ran, delta: { ...ran.delta, writes: [...ran.delta.writes, ...letters] } };
}
