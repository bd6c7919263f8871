import { SluiceError } from '../../core/errors.ts';

/** Pure: what a function threw, under its own code when it has one. */
export function thrownByFunction(name: string, said: unknown): SluiceError {
  const { errorType, errorMessage } = (said ?? {}) as { readonly errorType?: string; readonly errorMessage?: string };
  const coded = /^([A-Z][A-Z0-9_]+): ([\s\S]*)$/.exec(errorMessage ?? '');
  const code = coded?.[1] ?? 'FUNCTION_FAILED';
  const message = coded?.[2] ?? `${errorType ?? 'an error'}: ${errorMessage ?? 'without a message'}`;
  return new SluiceError(code, { message: `${name}: ${message}`, next: 'try-again', function: name });
}
