import { isNext, type Next, SluiceError } from '../../core/errors.ts';

/**
 * Pure: what a function threw, under its own code when it has one, with what it says is to be done. A caller that makes the same call again whatever
 * was thrown need not look at that.
 */
export function thrownByFunction(name: string, said: unknown): SluiceError {
  const { errorType, errorMessage = '' } = (said ?? {}) as { readonly errorType?: string; readonly errorMessage?: string };
  const { code, message, next, advice } = parsed(errorMessage);
  return new SluiceError(code ?? 'FUNCTION_FAILED', {
    message: `${name}: ${code === undefined ? `${errorType ?? 'an error'}: ${errorMessage || 'without a message'}` : message}`,
    next: next ?? 'try-again',
    function: name,
    ...(advice === undefined ? {} : { advice }),
  });
}

interface Parsed {
  readonly code: string | undefined;
  readonly message: string;
  readonly next: Next | undefined;
  readonly advice: string | undefined;
}

function parsed(text: string): Parsed {
  const [, code, message = text, next = '', advice] = /^([A-Z][A-Z0-9_]+): ([\s\S]*?)(?:\nnext: ([a-z-]+)(?:: (.*))?)?$/.exec(text) ?? [];
  return { code, message, next: isNext(next) ? next : undefined, advice };
}
