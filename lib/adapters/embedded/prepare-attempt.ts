// From a checkpoint (or nothing) to subtasks that are ready for their first step.

import { checkCompatible } from '../../checkpoint/compatibility.ts';
import type { CheckpointCoordinator } from '../../checkpoint/coordinator.ts';
import type { KeyedStore } from '../../checkpoint/keyed-store.ts';
import type { LoadedCheckpoint } from '../../checkpoint/reading.ts';
import { type SinkTransaction, transactionsOf } from '../../checkpoint/redistribute.ts';
import { loadReservations, removeReservations } from '../../checkpoint/reservation.ts';
import { readSubtask, tablesOf } from '../../checkpoint/restore.ts';
import type { StateInfo, SubtaskRestore } from '../../checkpoint/snapshot.ts';
import type { CheckpointStorage } from '../../checkpoint/storage.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import { statesOf } from '../../graph/states.ts';
import { HeapState } from '../../state/heap/heap-state.ts';
import { type Assembled, type Assembly, assemble, settleSinks } from './assemble.ts';
import type { Attempt } from './attempt.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { EmbeddedPorts, RunRequest } from './run-types.ts';
import { SourceReservations } from './source-reservations.ts';
import type { SubtaskServices } from './subtask.ts';

export interface Preparation {
  readonly attempt: Attempt;
  readonly coordinator: CheckpointCoordinator;
  readonly storage: CheckpointStorage;
  readonly loaded: LoadedCheckpoint | undefined;
  readonly generation: number;
  /** A run without `--from` that has not begun its line of checkpoints yet. */
  readonly isFromStart: boolean;
  readonly ports: EmbeddedPorts;
  readonly request: RunRequest;
  readonly meter: ProgressMeter;
  readonly keyedStore: KeyedStore | undefined;
}

/**
 * To be asked before a checkpoint is adopted: one that is refused must leave the others as they were.
 * @returns sentences for the user
 * @throws SluiceError as `checkCompatible`
 */
export function checkRestorable(loaded: LoadedCheckpoint, plan: Plan, request: RunRequest): readonly string[] {
  const allowNonRestoredState = request.allowNonRestoredState ?? false;
  const without = { withoutLists: operatorsWithoutLists(plan), withoutPromises: sinksWithoutPromises(plan) };
  const facts = { allowNonRestoredState, states: declaredStates(plan), ...without };
  return checkCompatible(loaded.metadata, plan, facts).notices;
}

export async function prepareAttempt(preparation: Preparation): Promise<Assembled> {
  const assembled = await assemble(await assemblyOf(preparation));
  await preparation.keyedStore?.begin();
  return assembled;
}

/** The job begins from the start and owes nothing to the runs before it; to be called before the first record. */
export async function startOver({ storage, ports }: Preparation): Promise<void> {
  await storage.startOver();
  await removeReservations(ports.files, storage.path);
}

/** A finished job runs no more, but the run that finished it may have died before every sink had kept its promise. */
export async function settleFinished(preparation: Preparation): Promise<void> {
  await settleSinks(await assemblyOf(preparation));
}

async function assemblyOf(preparation: Preparation): Promise<Assembly> {
  const { attempt, storage, loaded, generation, isFromStart, ports, request, meter } = preparation;
  const { plan } = attempt;
  await loadKeyed(preparation);
  const restores = await readRestores(preparation, plan);
  const abandoned = new Map<string, Uint8Array[]>();
  for (const { uid, transaction } of await storage.abandonedTransactions(loaded))
    abandoned.set(uid, [...(abandoned.get(uid) ?? []), transaction]);
  const { settings } = plan;
  const reservationsOf = await reservations(preparation, plan);
  return {
    plan,
    ports,
    generation,
    begunMs: ports.clock.now(),
    createKeyedState: (wanted) => new HeapState(wanted),
    isAligned: settings.checkpoints?.mode !== 'AT_LEAST_ONCE',
    restoredCheckpoint: loaded?.metadata.checkpoint ?? 0,
    restoreOf: (stage, subtask) => restores.get(placeOf(stage, subtask)),
    promised: promises(plan, loaded === undefined ? await storage.promisesOfOldLine(isFromStart) : transactionsOf(loaded.metadata)),
    abandoned,
    noteTransaction: (after, note) =>
      storage.note(after, note).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        request.report({ kind: 'notice', message: `a transaction of sink ${note.uid} could not be noted when it began: ${why}` });
      }),
    print: request.print,
    report: (message) => request.report({ kind: 'notice', message }),
    count: (counter, by) => meter.count(counter, by),
    countLost: (split, from, to) => meter.countLost(split, from, to),
    reservationsOf,
    servicesOf: (stage, subtask) => servicesOf(preparation, stage, subtask),
  };
}

/** Every attempt goes on behind what earlier ones reserved, unless the job begins from the start. */
async function reservations({ storage, ports, isFromStart }: Preparation, plan: Plan): Promise<Assembly['reservationsOf']> {
  const { files, clock } = ports;
  const { path } = storage;
  if (plan.settings.checkpoints?.mode !== 'AT_MOST_ONCE') return () => undefined;
  const earlier = isFromStart ? new Map<string, number>() : await loadReservations(files, path);
  return (stage, subtask) => new SourceReservations({ files, clock, path, stage, subtask, earlier });
}

/** Keyed states by uid; none for operators that have no keys, so that what one of them held under keys before is missed. */
const kindsWithoutLists: ReadonlySet<string> = new Set(['map', 'filter', 'flatMap', 'sink']);

function operatorsWithoutLists(plan: Plan): readonly string[] {
  const operators = plan.stages.flatMap((stage) => stage.operators);
  return operators.filter(({ node }) => kindsWithoutLists.has(node.operator.kind)).map(({ uid }) => uid);
}

/** A checkpoint lists what was promised, also when it has become visible since: nobody but the sink that promised it can tell. */
function sinksWithoutPromises(plan: Plan): readonly string[] {
  const isImmediate = ({ node }: PlannedOperator): boolean =>
    node.operator.kind === 'sink' && node.operator.create().detached?.kind === 'immediate';
  return plan.stages.flatMap(({ operators }) => operators.filter(isImmediate).map(({ uid }) => uid));
}

function declaredStates(plan: Plan): ReadonlyMap<string, readonly StateInfo[]> {
  const operators = plan.stages.flatMap((stage) => stage.operators);
  return new Map(operators.map(({ uid, node }) => [uid, statesOf(node.operator).filter(({ scope }) => scope === 'keyed')]));
}

function placeOf(stage: number, subtask: number): string {
  return `${stage}/${subtask}`;
}

/** @throws SluiceError `STATE_INCOMPATIBLE` when keyed state lies where this job's backend does not look */
async function loadKeyed({ loaded, keyedStore }: Preparation): Promise<void> {
  const [first] = loaded === undefined ? [] : tablesOf(loaded);
  if (keyedStore !== undefined)
    return keyedStore.load(first === undefined ? undefined : { handle: first.table, checkpoint: loaded!.metadata.checkpoint });
  if (first === undefined) return;
  throw new SluiceError('STATE_INCOMPATIBLE', {
    message: `the keyed state of checkpoint ${loaded!.metadata.checkpoint} lies in the DynamoDB table ${first.table.table}, and the job has another backend`,
    next: 'fix-the-job',
    advice: `give it new DynamoDbStateBackend({ table: '${first.table.table}' }) again, or start without the checkpoint`,
  });
}

async function readRestores({ ports, loaded, keyedStore }: Preparation, plan: Plan): Promise<ReadonlyMap<string, SubtaskRestore>> {
  const restores = new Map<string, SubtaskRestore>();
  if (loaded === undefined) return restores;
  for (const { id, operators, parallelism, maxParallelism } of plan.stages) {
    const uids = operators.map(({ uid }) => uid);
    for (let subtask = 0; subtask < parallelism; subtask++) {
      restores.set(
        placeOf(id, subtask),
        await readSubtask(ports.files, loaded, uids, { subtask, parallelism, maxParallelism }, keyedStore),
      );
    }
  }
  return restores;
}

function promises(plan: Plan, transactions: readonly SinkTransaction[]): ReadonlyMap<string, readonly Uint8Array[]> {
  const uids = plan.stages.flatMap(({ operators }) => operators.filter(({ node }) => node.operator.kind === 'sink').map(({ uid }) => uid));
  return new Map(uids.map((uid) => [uid, transactions.filter((t) => t.uid === uid).map(({ transaction }) => transaction)]));
}

function servicesOf({ attempt, coordinator, ports }: Preparation, stage: Stage, subtask: number): SubtaskServices {
  const { backend } = attempt.plan.settings;
  const head = stage.operators[0]?.node.operator;
  return {
    now: () => ports.clock.now(),
    wake: () => attempt.bell.ring(),
    fail: (error) => attempt.fail(error),
    store: (checkpoint, snapshot) => coordinator.store(checkpoint, snapshot),
    announce: (checkpoint, uid, transactions) => coordinator.announce(checkpoint, { stage: stage.id, subtask, uid, transactions }),
    checkpointEnded: (checkpoint, { reason, error }) =>
      coordinator.decline(checkpoint, { stage: stage.id, subtask }, error ?? new Error(reason)),
    slice: (entries) => ports.scheduler.slice?.(entries) ?? entries,
    isSnapshotAsynchronous: backend.kind !== 'memory' || backend.asynchronous,
    idleAfterMs: head?.kind === 'source' ? head.watermarks?.idlenessMs : undefined,
  };
}
