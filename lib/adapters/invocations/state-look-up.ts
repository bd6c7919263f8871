// State of one key, as the newest committed entry has it, while the job runs or stands still.
//   L1  What is read counts only when nobody has appended meanwhile: a list in pieces, or a value and what lies over it, must be of one moment.
//   L2  Where several subtasks may hold a key, one that has changed it since it was last in the base knows better than those that only read the base.

import type { StateDescriptor, StateKind, StateShape } from '../../api/state.ts';
import { SluiceError } from '../../core/errors.ts';
import { encodedOf, normalizeKey, type StateKey } from '../../core/key-codec.ts';
import { keyGroupOf, subtaskOfKeyGroup } from '../../core/key-group.ts';
import { nearest } from '../../core/suggest.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import { readExistingJob } from '../../invocation/coordinator/read-job.ts';
import { readNewer } from '../../invocation/ring.ts';
import { lookAt } from '../../invocation/unit/look.ts';
import type { UnitServices } from '../../invocation/unit/services.ts';
import type { WarmSubtask } from '../../invocation/unit/warm-subtask.ts';

export interface StateLookUp {
  /** uid */
  readonly operator: string;
  readonly state: string;
  readonly key: unknown;
}

export interface FoundState {
  readonly kind: StateKind;
  /** Something is kept for the key. When nothing is, `value` is what user code would read: the default. */
  readonly found: boolean;
  /** Of a map, its entries. */
  readonly value: unknown;
  readonly subtask: string;
  /** The entry that it is as of. */
  readonly generation: number;
  readonly n: number;
}

/** Others may append this often while one key is read; more means that the value is read in one piece anyway. */
const looksMax = 30;

/** @throws SluiceError `STATE_UNKNOWN` naming what there is, `KEY_NOT_SUPPORTED` */
export async function lookUpState(services: UnitServices, wanted: StateLookUp): Promise<FoundState> {
  const { stage, operator } = operatorOf(services.plan, wanted.operator);
  const { property, descriptor, shape } = stateOf(operator, wanted);
  const key = normalizeKey(wanted.key);
  const subtasks = await subtasksOf(services, stage, key);
  const place = { operator: operator.uid, state: descriptor.name ?? property, key: encodedOf(key) };
  const looks: Look[] = [];
  for (const subtask of subtasks) {
    const look = async (warm: WarmSubtask) => ({
      isStored: (await warm.state.list(place)).length > 0,
      isNewest: warm.state.hasUnflushed(place),
      ...(await read(warm, { operator, shape, property, kind: descriptor.kind, key })),
    });
    looks.push(await settledLook(services, subtask, look));
  }
  const best = looks.find(({ isNewest }) => isNewest) ?? looks.find(({ isStored }) => isStored) ?? looks[0];
  if (best !== undefined) {
    const { isStored, isNewest: _, ...state } = best;
    return { ...state, found: isStored && !isNothing(state.value) };
  }
  throw new SluiceError('SUBTASK_UNKNOWN', { message: `nobody owns keys of ${wanted.operator} now`, next: 'try-again' });
}

interface Seen {
  readonly kind: StateKind;
  readonly value: unknown;
  readonly isStored: boolean;
  readonly isNewest: boolean;
}

type Look = Seen & Omit<FoundState, 'found'>;

async function settledLook(services: UnitServices, subtask: string, look: (warm: WarmSubtask) => Promise<Seen>): Promise<Look> {
  for (let looks = 1; ; looks++) {
    const warm = await lookAt(services, subtask);
    const seen = await look(warm);
    const { generation, n } = warm.newest.head;
    const newer = await readNewer(services.ports.changelog, warm.ring, warm.item.ringSlots, n);
    if (newer.length === 0 || looks === looksMax) return { ...seen, subtask, generation, n };
  }
}

interface Handle {
  readonly operator: PlannedOperator;
  readonly shape: StateShape;
  readonly property: string;
  readonly kind: StateKind;
  readonly key: StateKey;
}

async function read(warm: WarmSubtask, { operator, shape, property, kind, key }: Handle) {
  const { state, stage } = warm;
  for (;;) {
    const request = { shape, operator: operator.uid, maxParallelism: stage.maxParallelism, hasTimers: false };
    const backend = state.createKeyedState(request);
    state.beginUnit();
    try {
      backend.selectKey(key);
      const value = readHandle(kind, backend.handles[property]);
      if (!state.isSuspended) return { kind, value };
    } catch (error) {
      if (!state.isSuspended) throw error;
    } finally {
      state.abandonUnit();
    }
    await state.loadMissing();
  }
}

function readHandle(kind: StateKind, handle: unknown): unknown {
  switch (kind) {
    case 'value':
      return (handle as { value(): unknown }).value();
    case 'map':
      return [...(handle as { entries(): Iterable<unknown> }).entries()];
    default:
      return (handle as { get(): unknown }).get();
  }
}

function isNothing(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

function operatorOf(plan: Plan, uid: string): { readonly stage: Stage; readonly operator: PlannedOperator } {
  for (const stage of plan.stages) {
    const operator = stage.operators.find((candidate) => candidate.uid === uid);
    if (operator !== undefined) return { stage, operator };
  }
  const uids = plan.stages.flatMap(({ operators }) => operators.map((operator) => operator.uid));
  throw unknown('operator', uid, uids);
}

function stateOf(operator: PlannedOperator, { state }: StateLookUp) {
  const spec = operator.node.operator;
  const shape: StateShape = spec.kind === 'keyedProcess' || spec.kind === 'coProcess' || spec.kind === 'broadcastProcess' ? spec.state : {};
  const found = Object.entries(shape).find(([property, descriptor]) => (descriptor.name ?? property) === state);
  if (found !== undefined) return { property: found[0], descriptor: found[1] as StateDescriptor<unknown>, shape };
  throw unknown(
    `state of ${operator.uid}`,
    state,
    Object.entries(shape).map(([property, descriptor]) => descriptor.name ?? property),
  );
}

/** Behind an exchange a key has one owner; a source that is partitioned by the key gives it to whom it likes. */
async function subtasksOf(services: UnitServices, stage: Stage, key: StateKey): Promise<readonly string[]> {
  const { item } = await readExistingJob(services.ports);
  const owners = item.owners.filter((owner) => owner.stage === stage.id);
  if (stage.inputs.length === 0) return owners.map(({ subtask }) => subtask);
  const group = keyGroupOf(encodedOf(key), stage.maxParallelism);
  const index = subtaskOfKeyGroup(group, stage.maxParallelism, stage.parallelism);
  return owners.filter((owner) => owner.index === index).map(({ subtask }) => subtask);
}

function unknown(what: string, name: string, known: readonly string[]): SluiceError {
  const meant = nearest(name, known);
  const hint = meant !== undefined ? `did you mean '${meant}'?` : known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
  return new SluiceError('STATE_UNKNOWN', { message: `there is no ${what} named '${name}'; ${hint}`, next: 'fix-the-command' });
}
