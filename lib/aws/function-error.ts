// Lambda keeps the name and the message of an error and nothing else, so that the code goes in front of the message, and what is to be done, for a
// program and for a person, behind it (adapters/aws/thrown.ts reads it).
import { describeError, isSluiceError } from '../core/errors.ts';

export function functionError(error: unknown): Error {
  const told = isSluiceError(error)
    ? `${error.code}: ${error.message}\nnext: ${error.next}${adviceText(error.details.advice)}`
    : describeError(error);
  const thrown = new Error(told, { cause: error });
  thrown.name = isSluiceError(error) ? 'SluiceError' : error instanceof Error ? error.name : 'Error';
  return thrown;
}

function adviceText(advice: unknown): string {
  return typeof advice === 'string' ? `: ${advice}` : '';
}

/** For the log: one line. */
export function errorLine(error: unknown): string {
  return JSON.stringify({ level: 'error', ...(isSluiceError(error) ? { code: error.code } : {}), message: describeError(error) });
}
