import type { OperatorSpec } from '../api/description.ts';
import type { StateKind, StateShape } from '../api/state.ts';

/** A state as checkpoints know it. */
export interface PlannedState {
  readonly name: string;
  readonly kind: StateKind;
  readonly version: number;
  /** Broadcast state is the same on every subtask; other declared state is kept by key. */
  readonly scope: 'keyed' | 'broadcast';
}

/** The states that an operator declares, by scope and name. Operator state is asked for at run time and is not known here. */
export function statesOf(operator: OperatorSpec): readonly PlannedState[] {
  switch (operator.kind) {
    case 'keyedProcess':
    case 'coProcess':
      return listOf(operator.state, 'keyed');
    case 'broadcastProcess':
      return [...listOf(operator.state, 'keyed'), ...listOf(operator.broadcastState, 'broadcast')];
    default:
      return [];
  }
}

function listOf(shape: StateShape, scope: PlannedState['scope']): readonly PlannedState[] {
  return Object.entries(shape)
    .map(([property, { name, kind, version }]) => ({ name: name ?? property, kind, version, scope }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
