// What a delay still holds when a world ends, by what its subtasks have in their operator state: so many rows may be missing behind it, and no more.

import type { EntryHead } from '../../lib/invocation/entry.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import { decodeOperatorState, withParts } from '../../lib/invocation/unit/operator-state.ts';

export interface StoredHeads {
  readonly item: JobItem;
  head(generation: number, subtask: string): EntryHead | undefined;
  /** Content of an object. */
  object(name: string): Uint8Array | undefined;
}

/** Elements of list state, by uid of the operator, over all subtasks. */
export function heldRows({ item, head, object }: StoredHeads): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const { subtask } of item.owners) {
    const stored = head(item.generation, subtask)?.operatorState;
    const base = stored?.object === undefined ? undefined : object(stored.object);
    const bytes = base === undefined ? stored?.bytes : withParts(base, stored?.bytes);
    for (const { uid, lists } of bytes === undefined ? [] : decodeOperatorState(bytes)) {
      const rows = lists.reduce((n, { elements }) => n + elements.length, 0);
      held.set(uid, (held.get(uid) ?? 0) + rows);
    }
  }
  return held;
}
