import { OutputTag } from '../../api/functions.ts';
import { checkOptions, checkWhole } from '../../api/option-checks.ts';
import { SluiceError } from '../../core/errors.ts';
import { nameOfKind } from '../../core/kinds.ts';
import { type FormatOptions, type OnError, recordBytesMaxDefault } from './format.ts';

/**
 * The options that every format has, with their defaults.
 * @param known  further options of the format
 * @throws SluiceError `OPTION_UNKNOWN`, `OPTION_INVALID`
 */
export function formatOptions(
  owner: string,
  o: FormatOptions,
  known: readonly string[] = [],
): { readonly onError: OnError; readonly recordBytesMax: number } {
  checkOptions(owner, o, ['onError', 'recordBytesMax', ...known]);
  const { onError = 'fail', recordBytesMax = recordBytesMaxDefault } = o;
  if (onError !== 'fail' && onError !== 'skip' && !(onError instanceof OutputTag)) {
    const shown = typeof onError === 'string' ? `'${String(onError)}'` : nameOfKind(onError);
    throw invalid(`${owner}: onError is 'fail', 'skip' or an OutputTag, not ${shown}`);
  }
  checkWhole(owner, 'recordBytesMax', recordBytesMax, 1);
  return { onError, recordBytesMax };
}

/** @throws SluiceError `OPTION_INVALID` for what is no format */
export function checkFormat(owner: string, format: unknown): void {
  const { createDecoder, createEncoder } = (format ?? {}) as { createDecoder?: unknown; createEncoder?: unknown };
  if (typeof createDecoder === 'function' && typeof createEncoder === 'function') return;
  const hint = typeof format === 'function' ? 'a function (call it)' : nameOfKind(format);
  throw invalid(`${owner}: format is a format, such as ndjson(), not ${hint}`);
}

/** @throws SluiceError `OPTION_INVALID` for what is no text */
export function checkPath(owner: string, path: unknown): void {
  if (typeof path !== 'string') throw invalid(`${owner}: path is text, not ${nameOfKind(path)}`);
}

function invalid(message: string): SluiceError {
  return new SluiceError('OPTION_INVALID', { message, next: 'fix-the-job' });
}
