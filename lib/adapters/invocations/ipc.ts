// What the main process and its workers say to each other. Both ends are of one build, so nothing here outlives a run; what does (entries,
// messages, items) has formats of its own.

import { describeError, isSluiceError, type Next, SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { Answer, Invocation } from '../../invocation/invocation.ts';
import type { PrintPlace } from '../../invocation/unit/services.ts';
import type { GlobalSettings } from '../embedded/run-types.ts';

/** Everything a worker needs to be an environment of the job. */
export interface WorkerStart {
  /** Path of the job's module. */
  readonly file: string;
  readonly params: readonly (readonly [name: string, value: string])[];
  readonly global: GlobalSettings;
  readonly parallelism: number | undefined;
  readonly planHash: string;
  /** Path of the SQLite file. */
  readonly database: string;
  /** Time that an invocation may take before it is delivered again, ms. */
  readonly redeliveryMs: number;
}

export type ToWorker =
  | { readonly kind: 'start'; readonly start: WorkerStart }
  /** @param leftMs  time until it is delivered again */
  | { readonly kind: 'invoke'; readonly id: number; readonly invocation: Uint8Array; readonly leftMs: number }
  /** Tells the results of the accumulators that this worker knows. @param values  by name, one for each subtask that has it */
  | { readonly kind: 'accumulators'; readonly id: number; readonly values: AccumulatorValues }
  /** End once what is under way has been answered. */
  | { readonly kind: 'leave' };

/** Encoded accumulators by name. */
export type AccumulatorValues = readonly (readonly [name: string, values: readonly Uint8Array[]])[];

/** What a worker has counted since it said so last. */
export type Counts = Readonly<Record<string, number>>;

export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly next: Next;
  readonly details: Readonly<Record<string, unknown>>;
}

/** @param index  of the line among those of one sink in one entry */
export type LinePlace = PrintPlace & { readonly index: number };

export type FromWorker =
  | { readonly kind: 'ready' }
  /** The job cannot be loaded or opened: another worker would say the same. */
  | { readonly kind: 'unusable'; readonly error: ToldError }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer; readonly counts: Counts }
  | { readonly kind: 'failed'; readonly id: number; readonly error: ToldError; readonly counts: Counts }
  /** @param results  encoded, by name; those that this worker does not know are left out */
  | { readonly kind: 'accumulated'; readonly id: number; readonly results: readonly (readonly [name: string, result: Uint8Array])[] }
  | { readonly kind: 'print'; readonly line: string; readonly place: LinePlace | undefined }
  | { readonly kind: 'notice'; readonly message: string };

/** @throws SluiceError `VALUE_NOT_ENCODABLE` for a record that cannot be handed to another process */
export function encodeInvocation(invocation: Invocation): Uint8Array {
  return encodeValue(invocation);
}

export function decodeInvocation(bytes: Uint8Array): Invocation {
  const invocation = decodeValue(bytes) as Invocation;
  if (invocation.kind !== 'records') return invocation;
  return { ...invocation, reread: () => (decodeValue(bytes) as typeof invocation).records };
}

/** An error in a form that crosses processes; only plain details go along. */
export function toldError(error: unknown): ToldError {
  if (!isSluiceError(error)) return { code: 'UNEXPECTED', message: describeError(error), next: 'try-again', details: {} };
  const because = error.cause === undefined ? '' : `; because: ${describeError(error.cause).split('\n', 1)[0]}`;
  const plain = Object.entries(error.details).filter(([, v]) => ['string', 'number', 'boolean'].includes(typeof v));
  return { code: error.code, message: `${error.message}${because}`, next: error.next, details: Object.fromEntries(plain) };
}

export function errorOf({ code, message, next, details }: ToldError): Error {
  return code === 'UNEXPECTED' ? new Error(message) : new SluiceError(code, { ...details, message, next });
}
