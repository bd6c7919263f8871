// How often a record that throws is tried. The count is committed together with what came before the record, so it survives environments, is the same
// for all of them, and rolls back with the state that it belongs to.
//   T1  Up to the bound a record is tried, each time by an invocation of its own; then a dead letter takes its place.
//   T2  A count is of one record: it goes when the record is settled, and says nothing about the one behind it.
//   T3  A record that has used up its tries is left out of every later run of its unit, until the unit is committed with the letter.

import { isSluiceError } from '../../core/errors.ts';
import type { Attempt } from '../entry.ts';

/** Place and position of a record; see `RecordPlace`. */
export type RecordName = Pick<Attempt, 'place' | 'record'>;

export function isSameRecord(a: RecordName, b: RecordName): boolean {
  return a.place === b.place && a.record === b.record;
}

/** What a record can be blamed for: tried again with the same state it would throw again, and others would not. */
const blamed: ReadonlySet<string> = new Set([
  'FIELD_NOT_SUMMABLE',
  'KEY_NOT_SUPPORTED',
  'PARTITION_OUT_OF_RANGE',
  'RECORD_DAMAGED',
  'RECORD_WITHOUT_TIMESTAMP',
  'ROW_TOO_LARGE',
  'TIMER_INVALID',
  'TIMESTAMP_INVALID',
  'USER_FUNCTION_FAILED',
  'VALUE_NOT_ENCODABLE',
]);

/** Whether an error, thrown while a record was processed, is the record's fault. Everything else is ours or the services', and says nothing about it. */
export function isRecordsFault(error: unknown): boolean {
  return isSluiceError(error) && blamed.has(error.code);
}

export function triesOf(attempts: readonly Attempt[], name: RecordName): number {
  return attempts.find((attempt) => isSameRecord(attempt, name))?.count ?? 0;
}

/** T3. */
export function isGivenUp(attempts: readonly Attempt[], name: RecordName, attemptsMax: number): boolean {
  return triesOf(attempts, name) >= attemptsMax;
}

export type FailureDecision =
  /** Commit what came before the record, with these counts; the record and what follows it come again. */
  | { readonly kind: 'try-again'; readonly attempts: readonly Attempt[] }
  /** A dead letter takes its place now. */
  | { readonly kind: 'park'; readonly attempts: readonly Attempt[] };

/** A record threw. */
export function decideFailure(attempts: readonly Attempt[], name: RecordName, attemptsMax: number): FailureDecision {
  const count = triesOf(attempts, name) + 1;
  const others = attempts.filter((attempt) => !isSameRecord(attempt, name));
  return { kind: count >= attemptsMax ? 'park' : 'try-again', attempts: [...others, { ...name, count }] };
}

/** Counts that are left when these records are settled: processed, or replaced by their letters. */
export function withoutSettled(attempts: readonly Attempt[], isSettled: (name: RecordName) => boolean): readonly Attempt[] {
  return attempts.filter((attempt) => !isSettled(attempt));
}
