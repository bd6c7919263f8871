// failure.ts owns how an error leaves the process: which exit code it means, and what is shown of it. A stack trace is shown only when it
// was asked for, because the line that says what is wrong is lost above one.
import { describeError, isSluiceError, SluiceError } from '../core/errors.ts';
import type { Output } from './output.ts';

export const exitCodes = { done: 0, failed: 1, wrongUse: 2, interrupted: 130, terminated: 143, pipeClosed: 141 } as const;

/** 2 when the command line or the configuration has to change, else 1. */
export function exitCodeOf(error: unknown): number {
  return isSluiceError(error) && error.next === 'fix-the-command' ? exitCodes.wrongUse : exitCodes.failed;
}

/** The fields of a failure under `--json`. */
export function failureFields(error: unknown, verbose: boolean): Readonly<Record<string, unknown>> {
  const known = isSluiceError(error);
  return {
    code: known ? error.code : 'UNEXPECTED',
    message: known ? error.message : describeError(error),
    next: known ? error.next : undefined,
    text: describeError(error),
    details: known && Object.keys(error.details).length > 0 ? error.details : undefined,
    stack: verbose ? stackOf(error) : undefined,
  };
}

/** Shows the failure, as the last line under `--json`. @returns the exit code */
export function tellFailure(output: Output, thrown: unknown, fields: Readonly<Record<string, unknown>> = {}): number {
  const error = endOf(thrown);
  output.status('');
  output.note(`sluice: ${describeError(error)}`);
  if (output.verbose) output.note(stackOf(error));
  else if (!isSluiceError(error)) output.note('  --verbose shows where it was thrown');
  output.object({ ...fields, state: 'failed', error: failureFields(error, output.verbose) });
  return exitCodeOf(error);
}

/** What a running job would try again by itself is told otherwise by a command that ends with it. */
function endOf(error: unknown): unknown {
  if (!isSluiceError(error) || (error.next !== 'recover-subtask' && error.next !== 'retry-invocation')) return error;
  const told = new SluiceError(error.code, { ...error.details, message: error.message, next: 'try-again', cause: error.cause });
  if (error.stack !== undefined) told.stack = error.stack;
  return told;
}

/** The stack of an error and those of its causes. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  const seen = new Set<unknown>();
  for (let e = error; e !== undefined && e !== null && !seen.has(e); e = (e as { cause?: unknown }).cause) {
    seen.add(e);
    stacks.push(e instanceof Error ? (e.stack ?? String(e)) : String(e));
  }
  return stacks.join('\ncaused by: ');
}
