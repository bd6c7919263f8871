// When each generation of a job began. Tags of rows begin with it (lib/api/row-tag.ts), because a generation's number says nothing beside those of another
// job that wrote to the same target before: one of the same name whose state was deleted, or one whose table this one is a copy of.
//   B1  It is drawn in the write that makes the job, or that raises its generation, and kept.
//   B2  It grows with each generation of a job, whatever the clock says.

import type { JobItem } from './job-item.ts';

/** @returns the generation itself where an older version of Sluice began it: below all that is a time, and in order */
export function begunMsOf({ begins = [] }: Pick<JobItem, 'begins'>, generation: number): number {
  return begins.find(([g]) => g === generation)?.[1] ?? generation;
}

/** The list with one that begins now. */
export function withBegin(begins: JobItem['begins'], generation: number, nowMs: number): NonNullable<JobItem['begins']> {
  const latest = begins?.at(-1)?.[1] ?? 0;
  return [...(begins ?? []), [generation, Math.max(nowMs, latest + 1)]];
}
