// Which errors are defects, and which are part of the game.

import { isSluiceError } from '../../lib/index.ts';

const passing: ReadonlySet<string> = new Set(['try-again', 'retry-invocation', 'recover-subtask']);

/** What services that were made to fail say, and that somebody who has died or is silent does not answer. */
export function isPassing(error: unknown): boolean {
  if (isSluiceError(error) && passing.has(error.next)) return true;
  return error instanceof Error && /^no answer from |^nobody answered /.test(error.message);
}

export function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
