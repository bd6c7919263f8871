import { SluiceError } from '../core/errors.ts';
import { nameOfKind } from '../core/kinds.ts';
import { nearest } from '../core/suggest.ts';

// option-checks.ts refuses options that nobody would read: an option with a typing error must not silently do nothing.

/**
 * Checks the names of an options object.
 * @throws SluiceError `OPTION_UNKNOWN` naming the option and the nearest known one; `OPTION_INVALID` when it is no object
 */
export function checkOptions(owner: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new SluiceError('OPTION_INVALID', {
      message: `${owner}: options are an object, not ${nameOfKind(options)}`,
      next: 'fix-the-job',
    });
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const close = nearest(name, known);
    const hint = close === undefined ? `known are ${known.join(', ')}` : `did you mean '${close}'?`;
    throw new SluiceError('OPTION_UNKNOWN', { message: `${owner} has no option '${name}'; ${hint}`, next: 'fix-the-job', option: name });
  }
}

/** @throws SluiceError `OPTION_INVALID` when it is not a whole number from `least` to `most` */
export function checkWhole(owner: string, name: string, value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new SluiceError('OPTION_INVALID', {
    message: `${owner}: ${name} is a whole number ${range}, not ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    next: 'fix-the-job',
    option: name,
    value,
  });
}

/** @throws SluiceError `OPTION_INVALID` when it is none of the allowed words */
export function checkOneOf<T extends string>(owner: string, name: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((word) => word === value);
  if (found !== undefined) return found;
  throw new SluiceError('OPTION_INVALID', {
    message: `${owner}: ${name} is one of ${allowed.join(', ')}, not ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    next: 'fix-the-job',
    option: name,
    value,
  });
}

/** @throws SluiceError `OPTION_INVALID` when it is not a function */
export function checkFunction(owner: string, f: unknown): void {
  if (typeof f === 'function') return;
  throw new SluiceError('OPTION_INVALID', { message: `${owner} takes a function, not ${nameOfKind(f)}`, next: 'fix-the-job' });
}
