// When each generation of a job began. Tags of rows begin with it (lib/api/row-tag.ts), because a generation's number says nothing beside those of another
// job that wrote to the same target before: one of the same name whose state was deleted, or one whose table this one is a copy of.
//   B1  It is drawn in the write that makes the job, or that raises its generation, and kept.
//   B2  It grows with each generation of a job, whatever the clock says.
//   B3  A generation whose restore was given up is listed too, though it never begins. Who slept may still remove its rings and objects by their names, so
//       no other restore may have its number, also when nothing of it is left.

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

/** A restore is given up. */
export function withoutRestore<I extends Pick<JobItem, 'begins' | 'restoring'>>(item: I): I {
  if (item.restoring === undefined) return item;
  return { ...item, restoring: undefined, begins: withBegin(item.begins, item.restoring.generation, 0) };
}

/** Above every generation that was ever named, also by a restore that was given up. */
export function freshGeneration({
  generation,
  restoring,
  begins = [],
  rings,
}: Pick<JobItem, 'generation' | 'restoring' | 'begins' | 'rings'>): number {
  const named = [generation, restoring?.generation ?? 0, ...begins.map(([g]) => g), ...rings.map((name) => Number.parseInt(name, 10))];
  return Math.max(...named) + 1;
}
