// compatibility.ts finds out, before anything runs, whether a checkpoint can be restored into a plan. Pure.

import { SluiceError } from '../core/errors.ts';
import type { Plan } from '../graph/plan.ts';
import type { CheckpointMetadata, OperatorHandle } from './handles.ts';
import type { StateInfo } from './snapshot.ts';

export interface CompatibilityRequest {
  readonly allowNonRestoredState: boolean;
  /** Keyed states that the code declares, by uid of the operator; operators that are absent are not compared. */
  readonly states?: ReadonlyMap<string, readonly StateInfo[]>;
  /** Uids of operators of a kind that keeps no list state, such as `map`. */
  readonly withoutLists?: readonly string[];
  /** Uids of sinks that show rows at once, and would not know what to do about a promise of another sink that had their uid. */
  readonly withoutPromises?: readonly string[];
}

export interface Compatibility {
  /** Uids whose state no operator wants; only with `allowNonRestoredState`. */
  readonly nonRestored: readonly string[];
  /** Sentences for the user. */
  readonly notices: readonly string[];
}

/**
 * @throws SluiceError
 *   `CHECKPOINT_OF_ANOTHER_JOB` when another job took it;
 *   `MAX_PARALLELISM_CHANGED` when an operator with keyed state has another maximum parallelism now (its key groups would mean other keys);
 *   `STATE_WITHOUT_OPERATOR` when state, or promised output, has no operator and that is not allowed;
 *   `STATE_INCOMPATIBLE` when a state has another kind now, or the code's version of it is older than the stored one
 */
export function checkCompatible(checkpoint: CheckpointMetadata, plan: Plan, request: CompatibilityRequest): Compatibility {
  if (checkpoint.job !== plan.job) {
    throw refused('CHECKPOINT_OF_ANOTHER_JOB', checkpoint, {
      message: `checkpoint ${checkpoint.checkpoint} was taken by job '${checkpoint.job}', and this is job '${plan.job}'`,
      job: plan.job,
    });
  }
  const stages = new Map(plan.stages.flatMap((stage) => stage.operators.map((o) => [o.uid, stage] as const)));
  const stored = storedState(checkpoint);
  for (const [uid, state] of stored) {
    const maxParallelism = checkpoint.operators.find((o) => o.uid === uid)?.maxParallelism;
    const now = stages.get(uid)?.maxParallelism;
    if (state.hasKeys && now !== undefined && maxParallelism !== undefined && now !== maxParallelism) {
      throw refused('MAX_PARALLELISM_CHANGED', checkpoint, {
        message: `operator '${uid}' has maximum parallelism ${now}, and its state in checkpoint ${checkpoint.checkpoint} was taken with ${maxParallelism}; it is part of the state and cannot change`,
        advice: `set the maximum parallelism of '${uid}' to ${maxParallelism} again, or start without the checkpoint`,
        job: plan.job,
        operator: uid,
      });
    }
  }
  const undeclared: string[] = [];
  for (const [uid, declared] of request.states ?? []) {
    undeclared.push(
      ...checkStates(checkpoint, plan.job, uid, stored.get(uid)?.states ?? [], declared).map((state) => `'${state}' of '${uid}'`),
    );
  }
  for (const uid of request.withoutLists ?? []) undeclared.push(...(stored.get(uid)?.lists ?? []).map((name) => `'${name}' of '${uid}'`));
  const forgetful = (request.withoutPromises ?? []).filter((uid) => stored.get(uid)?.hasTransactions === true);
  undeclared.push(...forgetful.map((uid) => `${promised} of '${uid}'`));
  return nonRestored(checkpoint, plan, { stages, stored, undeclared }, request.allowNonRestoredState);
}

function nonRestored(
  checkpoint: CheckpointMetadata,
  plan: Plan,
  found: {
    readonly stages: ReadonlyMap<string, unknown>;
    readonly stored: ReadonlyMap<string, StoredState>;
    /** States that an operator held and no longer declares, as text. */
    readonly undeclared: readonly string[];
  },
  isAllowed: boolean,
): Compatibility {
  const { stages, stored, undeclared } = found;
  // A uid that was derived from an operator's place is no name that anybody could give back: what lies under it starts anew.
  const uids = [...stored.keys()].filter((uid) => !stages.has(uid) && !uid.includes('~'));
  if (uids.length === 0 && undeclared.length === 0) return { nonRestored: [], notices: [] };
  const told = [...uids.map((uid) => `'${uid}' (${describe(stored.get(uid)!)})`), ...undeclared].join(', ');
  if (!isAllowed) {
    throw refused('STATE_WITHOUT_OPERATOR', checkpoint, {
      message: `checkpoint ${checkpoint.checkpoint} holds state that the job no longer has: ${told}`,
      advice: 'give the operators their uids and states back, or drop that state with --allow-non-restored-state',
      job: plan.job,
      operators: uids,
    });
  }
  return { nonRestored: uids, notices: [`state without an operator is dropped: ${told}`] };
}

function checkStates(
  checkpoint: CheckpointMetadata,
  job: string,
  operator: string,
  stored: readonly StateInfo[],
  declared: readonly StateInfo[],
): readonly string[] {
  const undeclared: string[] = [];
  for (const old of stored) {
    const now = declared.find((d) => d.name === old.name);
    if (now === undefined) {
      undeclared.push(old.name);
      continue;
    }
    const place = { job, operator, state: old.name };
    if (now.kind !== old.kind) {
      throw refused('STATE_INCOMPATIBLE', checkpoint, {
        message: `state '${old.name}' of operator '${operator}' is a ${now.kind} state now, and checkpoint ${checkpoint.checkpoint} holds it as ${old.kind}`,
        advice: 'give the new state another name, or restore with the old kind',
        ...place,
      });
    }
    if (now.version < old.version) {
      throw refused('STATE_INCOMPATIBLE', checkpoint, {
        message: `state '${old.name}' of operator '${operator}' has version ${now.version} in the code, and version ${old.version} in checkpoint ${checkpoint.checkpoint}`,
        advice: 'run the code that wrote it, or a later one',
        ...place,
      });
    }
  }
  return undeclared;
}

interface StoredState {
  /** Something lies under keys: states, or timers alone. */
  readonly hasKeys: boolean;
  readonly states: readonly StateInfo[];
  readonly lists: readonly string[];
  readonly hasTransactions: boolean;
}

/** What operators hold that would be lost without them; accumulators are not counted, they only report, and neither is what we keep for ourselves. */
function storedState(checkpoint: CheckpointMetadata): ReadonlyMap<string, StoredState> {
  const found = new Map<string, StoredState>();
  for (const subtask of checkpoint.subtasks) {
    for (const operator of subtask.operators) {
      const before = found.get(operator.uid) ?? nothingStored;
      const own = stateOf(operator);
      const states = [...before.states, ...own.states.filter((s) => !before.states.some((b) => b.name === s.name))];
      const lists = [...new Set([...before.lists, ...own.lists])];
      const hasKeys = before.hasKeys || own.hasKeys;
      const hasTransactions = before.hasTransactions || own.hasTransactions;
      if (hasKeys || lists.length > 0 || hasTransactions) found.set(operator.uid, { hasKeys, states, lists, hasTransactions });
    }
  }
  return found;
}

const nothingStored: StoredState = { hasKeys: false, states: [], lists: [], hasTransactions: false };

/** Begins the names of lists that operators keep beside those of the user's function. */
const ownListPrefix = 'sluice:';

function stateOf(operator: OperatorHandle): StoredState {
  const hasKeys = (operator.keyed?.groups.length ?? 0) > 0 || operator.keyed?.table?.isEmpty === false;
  return {
    hasKeys,
    states: hasKeys ? operator.keyed!.states : [],
    lists: operator.lists.filter((l) => l.count > 0 && !l.name.startsWith(ownListPrefix)).map((l) => l.name),
    hasTransactions: (operator.sink?.transactions.length ?? 0) > 0,
  };
}

const promised = 'output that is not yet visible';

function describe({ hasKeys, states, lists, hasTransactions }: StoredState): string {
  const keyed = hasKeys && states.length === 0 ? ['timers'] : states.map((s) => s.name);
  const names = [...keyed, ...lists].join(', ');
  return [names, hasTransactions ? promised : ''].filter((t) => t !== '').join(' and ');
}

function refused(
  code: string,
  checkpoint: CheckpointMetadata,
  o: { readonly message: string; readonly [detail: string]: unknown },
): SluiceError {
  return new SluiceError(code, { next: 'repair-state', checkpoint: checkpoint.checkpoint, ...o });
}
