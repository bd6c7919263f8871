// Records of a queue without positions of its own: a lane takes many groups, and each group remembers how far it has come.
//   Q1  The unit of order is the group, not the lane: a record that waits for its next try holds back its own group only.
//   Q2  A position may be forgotten when its record cannot come again: when the queue has dropped it, and no invocation that held it can still run.
//       It is reckoned from when the record was sent, not from when the position was written.

/** How far a group has been settled. */
export interface GroupPosition {
  readonly group: string;
  /** Sequence number of the last record settled; in queues without order, of the only record of the group. */
  readonly sequence: bigint;
  /** When the queue took that record, ms since the epoch. */
  readonly sentMs: number;
}

export interface GroupRecord {
  readonly group: string;
  readonly sequence: bigint;
}

/** Records of a delivery by group, in order of the first of each; within a group as they came. */
export function byGroup<R extends GroupRecord>(records: readonly R[]): readonly (readonly [group: string, records: readonly R[]])[] {
  const groups = new Map<string, R[]>();
  for (const record of records) {
    const group = groups.get(record.group);
    if (group === undefined) groups.set(record.group, [record]);
    else group.push(record);
  }
  return [...groups];
}

/** @param positions  of the lane, by group */
export function isSettled(positions: ReadonlyMap<string, GroupPosition>, record: GroupRecord): boolean {
  const position = positions.get(record.group);
  return position !== undefined && record.sequence <= position.sequence;
}

/**
 * @param facts.retentionMs  how long the queue keeps a record
 * @param facts.invocationMs  the longest life of an invocation, which may hold a record that the queue has dropped
 */
export function mayForget(
  position: GroupPosition,
  facts: { readonly nowMs: number; readonly retentionMs: number; readonly invocationMs: number },
): boolean {
  return facts.nowMs > position.sentMs + facts.retentionMs + facts.invocationMs;
}
