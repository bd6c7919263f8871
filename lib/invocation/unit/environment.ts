// An environment: a process, or a Lambda sandbox, that works on whatever subtask it is asked to. What it keeps between two invocations is a
// cache; it has no affinity, and it may be frozen in the middle and go on later.

import { isSluiceError } from '../../core/errors.ts';
import type { Answer, Invocation } from '../invocation.ts';
import { takeBarrier } from './barrier.ts';
import { takeMessages } from './messages.ts';
import { queueOfSubtask, takeQueue } from './queue.ts';
import { takeRecords } from './records.ts';
import { redrive } from './redrive.ts';
import { replay } from './replay.ts';
import { replayKept } from './replay-kept.ts';
import type { UnitServices } from './services.ts';
import { commitReserveMs, Session } from './session.ts';
import { tick } from './tick.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export interface InvokeOptions {
  /** When the invocation will be killed, ms of the clock; what is not committed some time before comes again. Default: never. */
  readonly deadlineMs?: number;
}

export class Environment {
  readonly #services: UnitServices;
  readonly #cache = new Map<string, WarmSubtask>();

  constructor(services: UnitServices) {
    this.#services = services;
  }

  /**
   * Carries out one unit, or several where an alignment ends in it.
   * @returns what is committed and delivered; see `Answer`
   * @throws what ports, sinks and user code throw; then nothing that is not in the changelog has happened, and the input comes again
   */
  async invoke(invocation: Invocation, o: InvokeOptions = {}): Promise<Answer> {
    const { subtask } = invocation;
    const warm = this.#cache.get(subtask);
    this.#cache.delete(subtask);
    const deadlineMs = (o.deadlineMs ?? Number.POSITIVE_INFINITY) - commitReserveMs;
    let session = new Session(this.#services, { subtask, warm, deadlineMs });
    let answer: Answer;
    try {
      answer = await carryOut(session, invocation);
    } catch (error) {
      await session.forget();
      if (!isGone(error)) throw error;
      // What is known here may be so old that the clean-up has taken what it points to. Only the newest entries say that something is lost.
      session = new Session(this.#services, { subtask, warm: undefined, deadlineMs });
      answer = await carryOut(session, invocation);
    }
    await this.#keep(session);
    return answer;
  }

  /** What was answered stands, whatever comes of making room for the next one. */
  async #keep(session: Session): Promise<void> {
    try {
      await session.tidy();
    } catch {
      await session.forget();
    }
    if (session.warm !== undefined) this.#cache.set(session.subtask, session.warm);
  }

  /** Forgets everything, as a new environment would. */
  drop(): void {
    this.#cache.clear();
  }
}

function isGone(error: unknown): boolean {
  return isSluiceError(error) && (error.code === 'OBJECT_MISSING' || error.code === 'CLAIM_EXPIRED');
}

function carryOut(session: Session, invocation: Invocation): Promise<Answer> {
  switch (invocation.kind) {
    case 'records':
      return takeRecords(session, { ...invocation, isReplay: false });
    case 'messages':
      return takeMessages(session, invocation);
    case 'queue':
      return takeQueue(session, invocation);
    case 'barrier':
      return takeBarrier(session, invocation);
    case 'replay':
      return queueOfSubtask(session.services, invocation.subtask) === undefined
        ? replay(session, invocation)
        : replayKept(session, invocation);
    case 'redrive':
      return redrive(session, invocation.letter);
    case 'tick':
      return tick(session);
  }
}
