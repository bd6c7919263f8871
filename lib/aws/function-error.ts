// Lambda keeps the name and the message of an error and nothing else, so that the code goes in front of the message.
import { describeError, isSluiceError } from '../core/errors.ts';

export function functionError(error: unknown): Error {
  const told = isSluiceError(error) ? `${error.code}: ${error.message}` : describeError(error);
  const thrown = new Error(told, { cause: error });
  thrown.name = isSluiceError(error) ? 'SluiceError' : error instanceof Error ? error.name : 'Error';
  return thrown;
}

/** For the log: one line. */
export function errorLine(error: unknown): string {
  return JSON.stringify({ level: 'error', ...(isSluiceError(error) ? { code: error.code } : {}), message: describeError(error) });
}
