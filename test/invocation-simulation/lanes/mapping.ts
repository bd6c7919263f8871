// The event source mapping of a queue: takes messages, hands them over as an event that may mix lanes, and deletes what was settled. Several work at
// once.

import type { Plan } from '../../../lib/graph/plan.ts';
import type { Answer, Invocation } from '../../../lib/invocation/invocation.ts';
import { queueOfStage, splitByLane } from '../../../lib/invocation/lane/queues.ts';
import type { FakeQueue, QueueDelivered } from '../../../lib/testing/index.ts';
import type { ActorOptions } from '../actor.ts';
import { pause } from '../fleet.ts';
import type { LaneCounts } from './counts.ts';

export interface MappingOptions extends ActorOptions {
  readonly queue: FakeQueue;
  readonly plan: Plan;
  readonly happened: LaneCounts;
  readonly restMs: number;
}

export async function runMapping(o: MappingOptions): Promise<void> {
  const { world, fleet, queue, happened, random } = o;
  const of = queueOfStage(o.plan, 0)!;
  while (!o.isOver()) {
    await pause(world, random.skewed(o.restMs));
    const given = queue.receive({ max: random.between(1, 10) });
    if (given.length === 0) continue;
    if (given.some(({ message }) => message.receives > 1)) happened.count('received again');
    const messages = given.map(({ message }) => message);
    const parts = splitByLane(messages, of);
    if (parts.length > 1) happened.count('event of several lanes');
    settle(o, given, parts, await fleet.event(parts));
  }
}

/** One answer to the whole event: when a part has none, nothing is deleted. */
function settle(
  { world, chaos, random, queue, happened }: MappingOptions,
  given: readonly QueueDelivered[],
  parts: readonly Invocation[],
  answers: readonly (Answer | undefined)[],
): void {
  if (answers.length < parts.length || answers.includes(undefined)) return;
  if (answers.some((answer) => answer?.kind === 'partial')) happened.count('part of the messages settled');
  const settled = new Set(parts.flatMap((part, i) => settledIn(part, answers[i]!)));
  const receipts = given.filter(({ message }) => settled.has(message.id)).map(({ receipt }) => receipt);
  const left = given.filter(({ message }) => !settled.has(message.id)).map(({ receipt }) => receipt);
  world.alarm(random.skewed(5) - 1, () => {
    if (chaos.happens(0.02)) return;
    queue.settle(receipts);
    if (random.chance(0.5)) queue.release({ receipts: left, delayMs: random.skewed(40) });
  });
}

function settledIn(part: Invocation, answer: Answer): readonly string[] {
  if (part.kind !== 'queue') return [];
  if (answer.kind === 'done') return part.messages.map(({ id }) => id);
  return answer.kind === 'partial' ? (answer.settled ?? []) : [];
}
