// reservation.ts keeps, under AT_MOST_ONCE, how far each source subtask may have gone: positions are set aside before records are handed
// out, so that a restore goes on behind the last reservation. What lay between state and reservation is lost, counted, and never repeated.
//   V1  A record is handed out only when its index lies below a reservation that is durable.
//   V2  A reservation never goes back, and replaces the one before it atomically.

import { join } from 'node:path';
import type { FileSystem } from '../core/ports.ts';
import { isReservationName, reservationName } from './layout.ts';
import { readSealed, writeSealed } from './sealed.ts';

/** Records set aside at once. */
export const reservationRecords = 65_536;
/** A reservation that is older is renewed although it is not used up, with what a subtask reads in that time. */
export const reservationMs = 1_000;

/** All records of a split below `index` may have been handed out. */
export interface Reservation {
  /** `<source uid>/<split id>`: the number of a source's stage changes with the plan. */
  readonly split: string;
  readonly index: number;
}

/** Stores the reservations of one source subtask, in place of the ones before. Durable when it resolves. */
export async function storeReservations(
  files: FileSystem,
  attempt: string,
  stage: number,
  subtask: number,
  reservations: readonly Reservation[],
): Promise<void> {
  await writeSealed(files, join(attempt, reservationName(stage, subtask)), { reservations });
}

/**
 * The reservations of all source subtasks of the attempts so far, by split; of a split that several name, the highest.
 * @throws SluiceError `CHECKPOINT_DAMAGED`, `FORMAT_NEWER`
 */
export async function loadReservations(files: FileSystem, attempt: string): Promise<ReadonlyMap<string, number>> {
  const splits = new Map<string, number>();
  for (const entry of await files.list(attempt)) {
    if (!isReservationName(entry.name)) continue;
    const { reservations } = (await readSealed(files, join(attempt, entry.name))).content as {
      readonly reservations: readonly Reservation[];
    };
    for (const { split, index } of reservations) splits.set(split, Math.max(splits.get(split) ?? 0, index));
  }
  return splits;
}

/** Removes all reservations: a job that begins from the start owes nothing to the ones before it. */
export async function removeReservations(files: FileSystem, attempt: string): Promise<void> {
  for (const entry of await files.list(attempt)) {
    if (isReservationName(entry.name)) await files.removeFile(join(attempt, entry.name));
  }
}

export interface ReservationFacts {
  readonly nowMs: number;
  /** When the last reservation was stored; `undefined` before the first. */
  readonly storedMs: number | undefined;
  /** Records that the last one still covers, of the split that is read. */
  readonly left: number;
  /** Records handed out since the last one was stored. */
  readonly usedSince: number;
}

export type ReservationDecision =
  | { readonly kind: 'enough' }
  /** `records` more than have been handed out. */
  | { readonly kind: 'reserve'; readonly records: number };

/**
 * Whether a reservation is due: when the last one is used up, or is a second old and was used. The new one covers 64 Ki records, or, for a
 * slow source, what a second brings (doubled, so that it is not met at once): what a crash loses is about a second of input.
 */
export function decideReservation(facts: ReservationFacts): ReservationDecision {
  const ageMs = facts.storedMs === undefined ? 0 : Math.max(0, facts.nowMs - facts.storedMs);
  if (facts.left > 0 && (ageMs < reservationMs || facts.usedSince === 0)) return { kind: 'enough' };
  if (facts.storedMs === undefined || ageMs === 0) return { kind: 'reserve', records: reservationRecords };
  const perSecond = Math.ceil((facts.usedSince * reservationMs) / ageMs);
  return { kind: 'reserve', records: Math.min(Math.max(2 * perSecond, 1), reservationRecords) };
}
