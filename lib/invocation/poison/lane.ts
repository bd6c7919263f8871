// Records of a queue without positions of its own: a lane takes many groups, and remembers of each how far it has come.
//   Q1  The unit of order is the group, not the lane: a position, a count of tries and a record that waits for its next try are of one group and
//       say nothing about the others. In a queue without order every record is a group of its own.
//   Q2  A position may be forgotten when its record cannot come again: when the queue has dropped it, and no invocation that held it can still run.
//       It is reckoned from when the record was sent, not from when the position was written.
//   Q3  What is replayed from kept input is not held against positions: it may be older than anything that is remembered.

export interface GroupRecord {
  readonly group: string;
  /** Grows within the group. */
  readonly sequence: bigint;
}

/** What the position of a record is kept under. */
export function positionName(record: Pick<GroupRecord, 'group'>): string {
  return record.group;
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

/** @param settled  sequence number of the last record of the group that is settled; `undefined`: none is remembered */
export function isSettled(settled: bigint | undefined, record: GroupRecord): boolean {
  return settled !== undefined && record.sequence <= settled;
}

/**
 * @param sentMs  when the queue took the last record that the position knows of
 * @param facts.retentionMs  how long the queue keeps a record
 * @param facts.marginMs  the longest life of an invocation, which may hold a record that the queue has dropped, and what clocks may be wrong by
 */
export function mayForget(
  sentMs: number,
  facts: { readonly nowMs: number; readonly retentionMs: number; readonly marginMs: number },
): boolean {
  return facts.nowMs > sentMs + facts.retentionMs + facts.marginMs;
}
