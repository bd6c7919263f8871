// What must have come of every message at the end of a world.
//   I7  It had its effect once, or is parked; or the queue dropped it before anybody had taken it. Messages of a group had theirs in order.

import type { QueueMessage } from '../../../lib/invocation/invocation.ts';
import { listLetters, lookAt } from '../../../lib/invocation/unit/look.ts';
import type { UnitServices } from '../../../lib/invocation/unit/services.ts';
import { effects, keyOf, type LaneSetting, type Letter } from './job.ts';
import type { SentMessages } from './sent-messages.ts';

/** `buggy`: throws until the code is mended. */
export type Kind = 'fine' | 'throws' | 'kills' | 'buggy';

export interface Sent {
  readonly letter: Letter;
  readonly kind: Kind;
  readonly message: QueueMessage;
  /** By generation. */
  readonly kills: Map<number, number>;
  /** An entry has settled it, in this generation or one before. */
  wasTaken: boolean;
  /** A redrive was asked for. */
  isRedriven: boolean;
  /** A redrive took its letter away. */
  hasLeft: boolean;
}

/** Times that a message may kill in one generation: a few for each halving, and as often as it is tried alone. */
const killsMax = 15;

export interface EndOfLanes {
  readonly services: UnitServices;
  readonly sent: SentMessages;
  readonly order: LaneSetting['order'];
  /** Ids of messages that the queue has dropped. */
  readonly dropped: ReadonlySet<string>;
}

/** What is wrong with what became of them. */
export async function* judgedMessages({ services, sent, order, dropped }: EndOfLanes): AsyncGenerator<string> {
  const parked = new Set((await listLetters(services)).map((one) => sent.parkedIn(one)));
  const lists = new Map<string, readonly number[]>();
  for (const one of sent.list) {
    const key = keyOf(one.letter, order);
    if (!lists.has(key)) lists.set(key, await seenBy(services, sent.keeperOf(one), key));
    yield* judged(one, { seen: lists.get(key)!, isParked: parked.has(one), isDropped: dropped.has(one.message.id) });
  }
  if (order === 'standard') return;
  for (const [group, seen] of lists) {
    if (!isInOrder(seen, (id) => sent.list[id]!.isRedriven)) yield `order within ${group}: ${seen.join(' ')}`;
  }
}

function* judged(
  sent: Sent,
  p: { readonly seen: readonly number[]; readonly isParked: boolean; readonly isDropped: boolean },
): Generator<string> {
  const { letter, kind, kills, wasTaken } = sent;
  const { seen, isParked, isDropped } = p;
  const effects = seen.filter((id) => id === letter.id).length;
  const what = `message ${letter.id} (${kind}, group ${letter.group})`;
  const isLost = isDropped && !wasTaken && effects === 0 && !isParked;
  if (effects + (isParked ? 1 : 0) !== 1 && !isLost) yield `I7: ${what} has ${effects} effects and is ${isParked ? '' : 'not '}parked`;
  if ((kind === 'throws' || kind === 'kills') !== isParked && !isLost) yield `${what} is ${isParked ? '' : 'not '}parked at the end`;
  for (const times of kills.values()) if (times > killsMax) yield `${what} has killed ${times} times in one generation`;
}

/** @param isRedriven  a redrive comes when it comes */
function isInOrder(seen: readonly number[], isRedriven: (id: number) => boolean): boolean {
  const order = seen.filter((id) => !isRedriven(id));
  return order.join() === order.toSorted((a, b) => a - b).join();
}

/** Messages that had their effect on a key, as the newest entry has it. */
async function seenBy(services: UnitServices, subtask: string, key: string): Promise<readonly number[]> {
  const { state, stage } = await lookAt(services, subtask);
  const spec = stage.operators.find(({ uid }) => uid === effects.operator)!.node.operator;
  const shape = spec.kind === 'keyedProcess' ? spec.state : {};
  for (;;) {
    const backend = state.createKeyedState({ shape, operator: effects.operator, maxParallelism: stage.maxParallelism, hasTimers: false });
    state.beginUnit();
    try {
      backend.selectKey(key);
      const seen = (backend.handles[effects.state] as { value(): readonly number[] | undefined }).value();
      if (!state.isSuspended) return seen ?? [];
    } catch (error) {
      if (!state.isSuspended) throw error;
    } finally {
      state.abandonUnit();
    }
    await state.loadMissing();
  }
}
