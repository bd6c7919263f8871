// errors.ts owns the one family of errors. What is wrong is `code`, where it is wrong is `details`, and what happens next is `next`,
// so that the runtime and the person who reads the line come to the same conclusion. Duplicates, stale messages and lost races are
// results of calls and never come through here.

/** What should happen after an error; the runtime acts on it and the command line prints it. */
export type Next =
  | 'retry-invocation'
  | 'recover-subtask'
  | 'dead-letter-record'
  | 'fix-the-job'
  | 'fix-the-command'
  | 'repair-state'
  | 'try-again'
  | 'report-a-bug';

const advice: Readonly<Record<Next, string>> = {
  'retry-invocation': 'nothing to do, the same work is tried again',
  'recover-subtask': 'nothing to do, the subtask recovers from its last checkpoint',
  'dead-letter-record': 'look at the parked record, then redrive or drop it',
  'fix-the-job': 'change the job and run it again',
  'fix-the-command': 'correct the command line or the configuration',
  'repair-state': 'choose another checkpoint or savepoint, or repair this one',
  'try-again': 'run it again later; if it stays, look at the cause',
  'report-a-bug': 'this is a defect of Sluice, please report it with this text',
};

export function isNext(text: string): text is Next {
  return Object.hasOwn(advice, text);
}

/** The fields of a `SluiceError`: the sentence, the consequence, the cause, and the place in the user's words. */
export interface SluiceErrorFields extends Record<string, unknown> {
  /** One sentence that names the thing, the value and the limit. */
  readonly message: string;
  readonly next: Next;
  readonly cause?: unknown;
}

const brand: unique symbol = Symbol.for('sluice.error');

/**
 * The only error class of Sluice.
 *
 * `code` is stable upper snake case (the catalogue is `errorCodes` in error-codes.ts); `details` holds every further field given, such
 * as `job`, `operator`, `state`, `path` or `line`.
 */
export class SluiceError extends Error {
  readonly code: string;
  readonly next: Next;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, o: SluiceErrorFields) {
    const { message, next, cause, ...details } = o;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SluiceError';
    this.code = code;
    this.next = next;
    this.details = Object.freeze(details);
    Object.defineProperty(this, brand, { value: true });
  }

  /** The same error told with more of its place; what the error already knows about its place wins. */
  at(place: Readonly<Record<string, unknown>>): SluiceError {
    const told = new SluiceError(this.code, { ...place, ...this.details, message: this.message, next: this.next, cause: this.cause });
    if (this.stack !== undefined) told.stack = this.stack;
    return told;
  }

  override toString(): string {
    return lineOf(this);
  }
}

/** True for errors of this family, also when they come from a second copy of the package. */
export function isSluiceError(e: unknown): e is SluiceError {
  return e instanceof SluiceError || (typeof e === 'object' && e !== null && (e as { [brand]?: unknown })[brand] === true);
}

const placeNames = ['job', 'operator', 'state', 'key', 'path', 'file', 'line', 'column', 'record'] as const;
const causesToldMax = 4; // deeper causes repeat what was said

/**
 * What a person should read: one line that says what is wrong and where, one short line for each cause, and one that says what to do
 * next. No stack traces.
 */
export function describeError(e: unknown): string {
  const lines = [lineOf(e)];
  let cause = causeOf(e);
  for (let told = 0; cause !== undefined && told < causesToldMax; told++) {
    const line = lineOf(cause);
    if (!lines[0]!.includes(line)) lines.push(`  because: ${line}`);
    cause = causeOf(cause);
  }
  if (isSluiceError(e)) lines.push(`  next: ${adviceOf(e)}`);
  return lines.join('\n');
}

function adviceOf(e: SluiceError): string {
  const own = e.details.advice;
  return typeof own === 'string' ? own : advice[e.next];
}

function causeOf(e: unknown): unknown {
  return e instanceof Error || isSluiceError(e) ? e.cause : undefined;
}

function lineOf(e: unknown): string {
  if (isSluiceError(e)) return `${e.code}: ${oneLine(e.message)}${placeOf(e)}`;
  if (e instanceof Error) return oneLine(e.name === 'Error' ? e.message : `${e.name}: ${e.message}`);
  try {
    return oneLine(String(e));
  } catch {
    return 'a thrown value that has no text';
  }
}

function placeOf(e: SluiceError): string {
  const parts: string[] = [];
  for (const name of placeNames) {
    const value = e.details[name];
    if (value === undefined || value === null) continue;
    const text = oneLine(textOf(value));
    if (!tells(e.message, name, text)) parts.push(`${name} ${text}`);
  }
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

/** Whether a sentence names this place already: as a word of its own, and a bare number only behind its name or a colon. */
function tells(message: string, name: string, text: string): boolean {
  if (/^\d*$/.test(text)) return message.includes(`${name} ${text}`) || message.includes(`:${text}`);
  for (let at = message.indexOf(text); at >= 0; at = message.indexOf(text, at + 1)) {
    if (!isWordCharacter(message[at - 1]) && !isWordCharacter(message[at + text.length])) return true;
  }
  return false;
}

function isWordCharacter(c: string | undefined): boolean {
  return c !== undefined && /[\w-]/.test(c);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return (typeof value === 'object' ? JSON.stringify(value) : undefined) ?? String(value);
  } catch {
    return 'a value that has no text';
  }
}

const lineCharactersMax = 1_000; // an excerpt of a huge record must not flood a log

const spaces = /[\t-\r\u0085\u2028\u2029]+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would act on these.
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of somebody else as one line that a terminal only shows: what it would act on, or turn around what stands beside it, is written out. */
export function plainLine(text: string): string {
  return text.replace(spaces, ' ').replace(controls, escapeOf);
}

function escapeOf(c: string): string {
  const code = c.charCodeAt(0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`;
}

function oneLine(text: string): string {
  const flat = plainLine(text.slice(0, lineCharactersMax * 2)).trim();
  return flat.length <= lineCharactersMax && text.length <= lineCharactersMax * 2 ? flat : `${flat.slice(0, lineCharactersMax)}…`;
}
