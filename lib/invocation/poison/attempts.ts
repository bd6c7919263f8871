// How often a record that throws is tried. The count is committed together with what came before the record, so it survives environments, is the same
// for all of them, and rolls back with the state that it belongs to.
//   T1  Up to the bound a record is tried, each time by an invocation of its own; then a dead letter takes its place.
//   T2  A count is of one record: it goes when the record is settled, and says nothing about the one behind it.
//   T3  A message of the exchange is taken whole. A record in it that has used up its tries is remembered as such until the message is committed.

import { isSluiceError } from '../../core/errors.ts';
import type { Attempt } from '../entry.ts';

/** Place and position of a record; see `RecordPlace`. A `record` that ends with a slash is a whole message of the exchange. */
export type RecordName = Pick<Attempt, 'place' | 'record'>;

/** Whether a record is the one that is named, or in the message that is named. */
export function covers(name: RecordName, { place, record }: RecordName): boolean {
  if (place !== name.place) return false;
  return name.record.endsWith('/') ? record.startsWith(name.record) : record === name.record;
}

/** What a record can be blamed for: tried again with the same state it would throw again. */
const blamed: ReadonlySet<string> = new Set([
  'FIELD_NOT_SUMMABLE',
  'FUNCTION_ASYNC',
  'KEY_NOT_SUPPORTED',
  'PARTITION_OUT_OF_RANGE',
  'RECORD_WITHOUT_TIMESTAMP',
  'TIMER_INVALID',
  'TIMESTAMP_INVALID',
  'USER_FUNCTION_FAILED',
  'VALUE_NOT_ENCODABLE',
]);

/** Whether an error, thrown while a record was processed, is the record's fault. Everything else is ours or the services', and says nothing about it. */
export function isRecordsFault(error: unknown): boolean {
  return isSluiceError(error) && blamed.has(error.code);
}

export function triesOf(attempts: readonly Attempt[], { place, record }: RecordName): number {
  return attempts.find((attempt) => attempt.place === place && attempt.record === record)?.count ?? 0;
}

/** Records that become dead letters without being tried again, as soon as what they belong to is taken (T3). */
export function isGivenUp(attempts: readonly Attempt[], name: RecordName, attemptsMax: number): boolean {
  return attempts.some((attempt) => attempt.count >= attemptsMax && covers(attempt, name));
}

export type FailureDecision =
  /** Commit what came before the record, with these counts; the record and what follows it come again. */
  | { readonly kind: 'try-again'; readonly attempts: readonly Attempt[] }
  /** A dead letter takes its place now. With these counts, if the message around it cannot be taken yet. */
  | { readonly kind: 'park'; readonly attempts: readonly Attempt[] };

/** A record threw. */
export function decideFailure(attempts: readonly Attempt[], name: RecordName, attemptsMax: number): FailureDecision {
  const count = triesOf(attempts, name) + 1;
  const others = attempts.filter(({ place, record }) => place !== name.place || record !== name.record);
  return { kind: count >= attemptsMax ? 'park' : 'try-again', attempts: [...others, { ...name, count }] };
}

/** Counts that are left when these records are settled: processed, or replaced by their letters. */
export function withoutSettled(attempts: readonly Attempt[], isSettled: (name: RecordName) => boolean): readonly Attempt[] {
  return attempts.filter((attempt) => !isSettled(attempt));
}
