// The operators of a subtask as an entry left them. The host is the one of the embedded runtime; what it keeps between two units besides keyed
// state (operator state, accumulators, event time) goes through the entry's head.

import type { SubtaskRestore } from '../../checkpoint/snapshot.ts';
import { OperatorHost } from '../../runtime/host.ts';
import { SubtaskMetrics } from '../../runtime/metrics.ts';
import { decodeOperatorState } from './operator-state.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** Makes the operators anew when they are not known to be as the newest entry left them. */
export async function operatorsOf(warm: WarmSubtask, services: UnitServices): Promise<OperatorHost> {
  if (warm.host !== undefined) return warm.host;
  const { head } = warm.newest;
  const metrics = new SubtaskMetrics();
  const host = new OperatorHost({
    stage: warm.stage,
    subtask: warm.owner.index,
    stages: services.plan.stages,
    createKeyedState: warm.state.createKeyedState,
    metrics,
    random: services.random,
    now: () => services.clock.now(),
    restore: await restoreOf(warm, services),
    timerWatch: warm.timers,
  });
  await host.open();
  for (const [index, watermark] of head.operatorWatermarks.entries()) {
    const operator = host.operators[index];
    if (operator !== undefined) operator.watermark = watermark;
  }
  metrics.keep();
  host.takeEffects(); // what opening passed on is in the entries that were committed
  services.observer?.opened(host, metrics);
  warm.host = host;
  warm.metrics = metrics;
  return host;
}

/** Forgets the operators: a run was abandoned, and what they keep outside of state is not what any entry says. */
export async function dropOperators(warm: WarmSubtask): Promise<void> {
  const { host } = warm;
  warm.host = undefined;
  warm.metrics?.undo();
  await host?.close();
}

/** The state behind the newest entry's reference. */
export function storedOperatorState(warm: WarmSubtask, { ports }: UnitServices): Promise<Uint8Array | undefined> {
  return warm.operatorState.read(warm.newest.head.operatorState, { objects: ports.objects, subtask: warm.ring.subtask });
}

async function restoreOf(warm: WarmSubtask, services: UnitServices): Promise<SubtaskRestore | undefined> {
  const bytes = await storedOperatorState(warm, services);
  if (bytes === undefined) return undefined;
  return { checkpoint: warm.newest.head.lastBarrier?.checkpoint ?? 0, operators: decodeOperatorState(bytes) };
}
