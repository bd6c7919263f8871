import type { PlanView, StageView } from './plan-view.ts';
import type { PlannedState } from './states.ts';

// compare.ts says what becomes of the state of one plan under another: what a restore would keep, lose or refuse. It knows what plans declare;
// whether a checkpoint really holds something there is for checkpoint/compatibility.ts.

export interface StateChange {
  readonly operator: string;
  readonly state: string;
  readonly before: Pick<PlannedState, 'kind' | 'version'>;
  readonly after: Pick<PlannedState, 'kind' | 'version'>;
  /** A newer version is migrated; another kind, or an older version, is refused. */
  readonly isRestorable: boolean;
}

export interface PlanComparison {
  /** Nothing that decides where state and records go has changed. */
  readonly isSame: boolean;
  /** Operators with state whose uid is gone: their state would be lost. */
  readonly lostOperators: readonly string[];
  /** States that their operator no longer declares. */
  readonly lostStates: readonly { readonly operator: string; readonly state: string }[];
  readonly changedStates: readonly StateChange[];
  /** Operators with keyed state whose key groups would mean other keys. */
  readonly maxParallelismChanges: readonly { readonly operator: string; readonly before: number; readonly after: number }[];
  /** Operators with state that start empty. */
  readonly newOperators: readonly string[];
}

interface Declared {
  readonly maxParallelism: number;
  readonly states: readonly PlannedState[];
}

/** Compares by uid and state name; everything else may change freely. */
export function comparePlans(before: PlanView, after: PlanView): PlanComparison {
  const old = statefulOf(before.stages);
  const now = statefulOf(after.stages);
  const both = [...old].flatMap(([uid, was]) => {
    const is = now.get(uid);
    return is === undefined ? [] : [{ uid, was, is }];
  });
  return {
    isSame: before.hash === after.hash,
    lostOperators: [...old.keys()].filter((uid) => !now.has(uid)),
    lostStates: both.flatMap(({ uid, was, is }) =>
      was.states.filter((state) => find(is, state) === undefined).map(({ name }) => ({ operator: uid, state: name })),
    ),
    changedStates: both.flatMap(({ uid, was, is }) => was.states.flatMap((state) => changeOf(uid, state, find(is, state)))),
    maxParallelismChanges: both.flatMap(({ uid, was, is }) =>
      was.states.some(({ scope }) => scope === 'keyed') && was.maxParallelism !== is.maxParallelism
        ? [{ operator: uid, before: was.maxParallelism, after: is.maxParallelism }]
        : [],
    ),
    newOperators: [...now.keys()].filter((uid) => !old.has(uid)),
  };
}

function statefulOf(stages: readonly StageView[]): ReadonlyMap<string, Declared> {
  return new Map(
    stages.flatMap(({ maxParallelism, operators }) =>
      operators.filter(({ isStateful }) => isStateful).map(({ uid, states }) => [uid, { maxParallelism, states }] as const),
    ),
  );
}

function find({ states }: Declared, { name, scope }: PlannedState): PlannedState | undefined {
  return states.find((state) => state.name === name && state.scope === scope);
}

function changeOf(operator: string, was: PlannedState, is: PlannedState | undefined): readonly StateChange[] {
  if (is === undefined || (was.kind === is.kind && was.version === is.version)) return [];
  const isRestorable = was.kind === is.kind && is.version > was.version;
  const told = ({ kind, version }: PlannedState): Pick<PlannedState, 'kind' | 'version'> => ({ kind, version });
  return [{ operator, state: was.name, before: told(was), after: told(is), isRestorable }];
}
