// The operators of a subtask as an entry left them. The host is the one of the embedded runtime; what it keeps between two units besides keyed
// state (operator state, accumulators, event time) goes through the entry's head.

import type { OperatorListSnapshot, OperatorRestore, SubtaskRestore } from '../../checkpoint/snapshot.ts';
import { equalBytes } from '../../core/bytes.ts';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { OperatorHost } from '../../runtime/host.ts';
import { SubtaskMetrics } from '../../runtime/metrics.ts';
import type { EntryHead } from '../entry.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** By operator: uid, lists, accumulators. */
type StoredOperator = readonly [
  uid: string,
  lists: readonly StoredList[],
  accumulators: readonly (readonly [name: string, value: Uint8Array])[],
];
type StoredList = readonly [name: string, redistribution: OperatorListSnapshot['redistribution'], elements: readonly Uint8Array[]];

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
  host.takeEffects(); // what opening passed on is in the entries that were committed
  services.observer?.opened(host, metrics);
  warm.host = host;
  return host;
}

/** Forgets the operators: a run was abandoned, and what they keep outside of state is not what any entry says. */
export async function dropOperators(warm: WarmSubtask): Promise<void> {
  const { host } = warm;
  warm.host = undefined;
  await host?.close();
}

/** Operator state and accumulators after a unit; `undefined` when there are none. */
export function operatorStateOf(host: OperatorHost, epoch: number, now: number): Uint8Array | undefined {
  const stored: StoredOperator[] = [];
  for (const [index, operator] of host.operators.entries()) {
    const { lists, keyed } = operator.snapshot({ checkpointId: epoch, timestamp: now });
    keyed?.running.cancel();
    const accumulators = host.accumulators[index]?.snapshot() ?? [];
    if (lists.length === 0 && accumulators.length === 0) continue;
    stored.push([
      operator.environment.uid,
      lists.map((list): StoredList => [list.name, list.redistribution, list.elements]),
      accumulators.map(({ name, value }) => [name, value] as const),
    ]);
  }
  return stored.length === 0 ? undefined : encodeValue(stored);
}

/** Keeps the old reference when nothing changed, so that a large state is stored once. */
export async function referenceTo(
  bytes: Uint8Array | undefined,
  p: { readonly warm: WarmSubtask; readonly known: Uint8Array | undefined; readonly services: UnitServices; readonly name: string },
): Promise<EntryHead['operatorState']> {
  const { warm, known, services, name } = p;
  if (bytes === undefined) return undefined;
  if (known !== undefined && equalBytes(bytes, known)) return warm.newest.head.operatorState;
  if (bytes.length <= services.limits.inlineOperatorStateBytesMax) return { bytes, object: undefined };
  await services.ports.objects.putIfAbsent(name, bytes);
  warm.operatorState = { object: name, bytes };
  return { bytes: undefined, object: name };
}

/** The bytes behind the newest entry's reference. */
export async function storedOperatorState(warm: WarmSubtask, services: UnitServices): Promise<Uint8Array | undefined> {
  const reference = warm.newest.head.operatorState;
  if (reference?.object === undefined) return reference?.bytes;
  if (warm.operatorState?.object === reference.object) return warm.operatorState.bytes;
  const bytes = await services.ports.objects.get(reference.object);
  if (bytes !== undefined) {
    warm.operatorState = { object: reference.object, bytes };
    return bytes;
  }
  throw new SluiceError('OBJECT_MISSING', {
    message: `operator state of subtask ${warm.ring.subtask} is gone: object ${reference.object} does not exist`,
    next: 'repair-state',
    subtask: warm.ring.subtask,
  });
}

async function restoreOf(warm: WarmSubtask, services: UnitServices): Promise<SubtaskRestore | undefined> {
  const bytes = await storedOperatorState(warm, services);
  if (bytes === undefined) return undefined;
  return { checkpoint: warm.newest.head.lastBarrier?.checkpoint ?? 0, operators: decodeOperatorState(bytes) };
}

/** The inverse of `decodeOperatorState`. */
export function encodeOperatorState(operators: readonly OperatorRestore[]): Uint8Array | undefined {
  const stored = operators
    .filter(({ lists, accumulators }) => lists.length > 0 || accumulators.length > 0)
    .map(
      ({ uid, lists, accumulators }): StoredOperator => [
        uid,
        lists.map(({ name, redistribution, elements }) => [name, redistribution, elements] as const),
        accumulators.map(({ name, value }) => [name, value] as const),
      ],
    );
  return stored.length === 0 ? undefined : encodeValue(stored);
}

/** What `operatorStateOf` encoded. */
export function decodeOperatorState(bytes: Uint8Array): readonly OperatorRestore[] {
  return (decodeValue(bytes) as readonly StoredOperator[]).map(
    ([uid, lists, accumulators]): OperatorRestore => ({
      uid,
      lists: lists.map(([name, redistribution, elements]) => ({ name, redistribution, elements })),
      keyed: [],
      sinkStates: [],
      accumulators: accumulators.map(([name, value]) => ({ name, value })),
    }),
  );
}
