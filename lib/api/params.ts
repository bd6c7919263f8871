import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';

// params.ts reads the values that a job is given from outside: `--name value` flags, `SLUICE_NAME` variables, `sluice.yaml`. Who wins was
// decided before; here a name has one text.

/** The values that a job is given from outside, by name. */
export interface Params {
  /** @throws SluiceError `PARAM_MISSING` */
  required(name: string): string;
  get(name: string, fallback: string): string;
  /** A decimal number. @throws SluiceError `PARAM_MISSING` without a fallback, `PARAM_INVALID` */
  number(name: string, fallback?: number): number;
  /** `true` or `false`; a flag without a value is `true`. @throws SluiceError `PARAM_MISSING` without a fallback, `PARAM_INVALID` */
  boolean(name: string, fallback?: boolean): boolean;
  /** Milliseconds; the space before the unit may be missing. @throws SluiceError `PARAM_MISSING` without a fallback, `DURATION_INVALID` */
  duration(name: string, fallback?: Duration): number;
}

const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** `Params` over a map, which remembers what was asked for. */
export class ParamValues implements Params {
  readonly #values: ReadonlyMap<string, string>;
  readonly #namesRead = new Set<string>();

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /** Names that the job has asked for so far; a flag that is not among them after `build` was meant for nobody. */
  get namesRead(): ReadonlySet<string> {
    return this.#namesRead;
  }

  required(name: string): string {
    const text = this.#read(name);
    if (text === undefined) throw missing(name);
    return text;
  }

  get(name: string, fallback: string): string {
    return this.#read(name) ?? fallback;
  }

  number(name: string, fallback?: number): number {
    const text = this.#read(name)?.trim();
    if (text === undefined) return this.#or(name, fallback);
    const value = decimal.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) throw invalid(name, text, 'a number, such as 42 or 0.5');
    return value;
  }

  boolean(name: string, fallback?: boolean): boolean {
    const text = this.#read(name)?.trim().toLowerCase();
    if (text === undefined) return this.#or(name, fallback);
    if (text === 'true' || text === '') return true;
    if (text === 'false') return false;
    throw invalid(name, text, 'true or false');
  }

  duration(name: string, fallback?: Duration): number {
    const text = this.#read(name);
    if (text !== undefined) return parseDuration(text, { lenient: true, name: `--${name}` });
    return parseDuration(this.#or(name, fallback), { name: `params.duration('${name}')` });
  }

  #read(name: string): string | undefined {
    this.#namesRead.add(name);
    return this.#values.get(name);
  }

  #or<T>(name: string, fallback: T | undefined): T {
    if (fallback === undefined) throw missing(name);
    return fallback;
  }
}

/** The environment variable that stands for a parameter: `max-rows` and `maxRows` are `SLUICE_MAX_ROWS`. */
export function variableOf(name: string): string {
  return `SLUICE_${name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()}`;
}

function missing(name: string): SluiceError {
  return new SluiceError('PARAM_MISSING', {
    message: `the job needs the parameter '${name}'; pass --${name} VALUE or set ${variableOf(name)}`,
    next: 'fix-the-command',
    param: name,
  });
}

function invalid(name: string, text: string, expected: string): SluiceError {
  return new SluiceError('PARAM_INVALID', {
    message: `the parameter '${name}' is ${expected}, not '${text}'`,
    next: 'fix-the-command',
    param: name,
    value: text,
  });
}
