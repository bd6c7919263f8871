import { SluiceError } from './errors.ts';

/** The units a duration may be written in. */
export type Unit = 'ms' | 's' | 'min' | 'h' | 'd';

/** A number of milliseconds, or text such as `'10 s'`: decimal digits, one space, a unit. */
export type Duration = number | `${number} ${Unit}`;

/** How `parseDuration` reads; the default is the strict rule of the API. */
export interface ParseDurationOptions {
  /** Text from outside (configuration, flags): the space may be missing, and digits alone are milliseconds. */
  readonly lenient?: boolean;
  /** Only a time relation such as the bounds of an interval join may be negative. */
  readonly allowNegative?: boolean;
  /** What is being read, for the error message. */
  readonly name?: string;
}

const unitMs: Readonly<Record<Unit, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const strictForm = /^(-?)([0-9]+) (ms|s|min|h|d)$/;
const lenientForm = /^(-?)([0-9]+)(?: ?(ms|s|min|h|d))?$/;

/**
 * Reads a duration.
 *
 * @param d  whole milliseconds, or decimal digits, exactly one space and `ms`, `s`, `min`, `h` or `d`; no fraction, exponent or plus sign
 * @returns whole milliseconds, within the safe integers
 * @throws SluiceError `DURATION_INVALID` with the text, its name and the form that would be right
 */
export function parseDuration(d: number | string, o: ParseDurationOptions = {}): number {
  const ms = typeof d === 'number' ? d : typeof d === 'string' ? msOfText(d, o) : Number.NaN;
  if (!Number.isSafeInteger(ms)) throw invalid(d, o, typeof d === 'number' ? 'a number of milliseconds is a whole number' : hintFor(d));
  if (ms < 0 && o.allowNegative !== true) throw invalid(d, o, 'it cannot be negative here');
  return ms === 0 ? 0 : ms;
}

function msOfText(text: string, o: ParseDurationOptions): number {
  const match = (o.lenient === true ? lenientForm : strictForm).exec(o.lenient === true ? text.trim() : text);
  if (match === null) return Number.NaN;
  const ms = Number(match[2]) * unitMs[(match[3] ?? 'ms') as Unit];
  return match[1] === '-' ? -ms : ms;
}

function hintFor(d: unknown): string {
  const text = String(d).trim();
  const fraction = /^-?([0-9]*\.[0-9]+) ?(ms|s|min|h|d)$/.exec(text);
  if (fraction !== null) {
    const ms = Number(fraction[1]) * unitMs[fraction[2] as Unit];
    if (Number.isSafeInteger(ms)) return `a fraction is written in a smaller unit, here '${formatDuration(ms)}'`;
  }
  const close = /^([0-9]+)\s*([a-z]+)$/i.exec(text);
  const unit = close === null ? undefined : unitOf(close[2]!);
  if (close !== null && unit !== undefined && Number.isSafeInteger(Number(close[1]) * unitMs[unit]))
    return `write '${Number(close[1])} ${unit}'`;
  return `write decimal digits, one space and a unit (ms, s, min, h, d), as in '10 s'`;
}

function unitOf(word: string): Unit | undefined {
  // biome-ignore format: one row for each unit
  const known: Readonly<Record<string, Unit>> = {
    ms: 'ms', milli: 'ms', millis: 'ms', millisecond: 'ms', milliseconds: 'ms',
    s: 's', sec: 's', secs: 's', second: 's', seconds: 's',
    m: 'min', min: 'min', mins: 'min', minute: 'min', minutes: 'min',
    h: 'h', hour: 'h', hours: 'h',
    d: 'd', day: 'd', days: 'd',
  };
  return Object.hasOwn(known, word.toLowerCase()) ? known[word.toLowerCase()] : undefined;
}

function invalid(d: unknown, o: ParseDurationOptions, why: string): SluiceError {
  const shown = typeof d === 'string' ? `'${d}'` : String(d);
  const subject = o.name === undefined ? `${shown} is not a duration` : `${o.name}: ${shown} is not a duration`;
  return new SluiceError('DURATION_INVALID', {
    message: `${subject}; ${why}`,
    next: o.lenient === true ? 'fix-the-command' : 'fix-the-job',
    value: d,
  });
}

/**
 * The shortest exact text of a duration, in the largest unit that divides it: 90000 is `'90 s'`. `parseDuration` reads it back.
 *
 * @param ms  whole milliseconds
 */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0 ms';
  for (const unit of ['d', 'h', 'min', 's'] as const) if (ms % unitMs[unit] === 0) return `${ms / unitMs[unit]} ${unit}`;
  return `${ms} ms`;
}
