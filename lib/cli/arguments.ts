// arguments.ts owns how words of a command line become positionals, the command's own flags, and the flags of the job.
//   A1  A flag that the command does not declare belongs to the job: which names a job reads is known only after `build` ran, so nothing is
//       refused here that the job may want. Commands that run no job refuse it at once.
//   A2  `--name value` and `--name=value` mean the same. A value that begins with `--` needs the second form; a negative number does not.
//   A3  An undeclared flag takes the next word as its value unless that is a flag; without one it is `true`.
//   A4  Behind a lone `--` every flag is the job's, also one that the command knows.
import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';

/** One flag that a command declares. */
export interface Flag {
  readonly name: string;
  /** What the value stands for, such as `N`; a flag without one is a switch. */
  readonly value?: string;
  readonly repeats?: boolean;
  /** One line for `--help`. */
  readonly help: string;
  /** It is part of the contract but does nothing in this version: using it is refused by name. */
  readonly notYet?: boolean;
}

export interface CommandShape {
  /** As typed, such as `checkpoints list`. */
  readonly name: string;
  /** Names of the positionals that are required. */
  readonly positionals: readonly string[];
  /** Names of those that may follow. */
  readonly optional?: readonly string[];
  readonly flags: readonly Flag[];
  /** Flags that are not declared go to the job. */
  readonly takesParams: boolean;
}

export interface Arguments {
  readonly positionals: readonly string[];
  /** Values of the command's own flags, in order; a switch has `'true'`. */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  /** Flags for the job; of two with one name the last counts. */
  readonly params: ReadonlyMap<string, string>;
}

/** Flags that every command has. */
export const commonFlags: readonly Flag[] = [
  { name: 'json', help: 'one JSON object a line; the last is the result' },
  { name: 'verbose', help: 'show stack traces' },
  { name: 'help', help: 'show this text' },
];

/** Wrong use of the command line: exit code 2. */
export function usageError(message: string, details: Readonly<Record<string, unknown>> = {}): SluiceError {
  return new SluiceError('COMMAND_LINE_INVALID', { ...details, message, next: 'fix-the-command' });
}

export function notAvailableYet(what: string): SluiceError {
  return new SluiceError('NOT_AVAILABLE_YET', {
    message: `${what} is not available yet in this version`,
    next: 'fix-the-command',
    advice: 'leave it out; `sluice --help` lists what is there',
  });
}

/**
 * Reads the words behind the command's name.
 *
 * @throws SluiceError `COMMAND_LINE_INVALID` for a missing or surplus positional, a flag without its value, an unknown flag of a command
 *   that runs no job; `NOT_AVAILABLE_YET` for a flag of a later version
 */
export function parseArguments(words: readonly string[], shape: CommandShape): Arguments {
  const declared = new Map([...commonFlags, ...shape.flags].map((flag) => [flag.name, flag]));
  const positionals: string[] = [];
  const flags = new Map<string, string[]>();
  const params = new Map<string, string>();
  let ownFlagsEnded = false;

  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === '--') {
      ownFlagsEnded = true;
      continue;
    }
    const spelled = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? (word === '-h' ? ['', 'help', undefined] : undefined);
    if (spelled === undefined) {
      if (/^-[A-Za-z]/.test(word)) throw usageError(`'${word}' is no flag of \`sluice ${shape.name}\`; flags begin with two dashes`);
      positionals.push(word);
      continue;
    }
    const name = spelled[1]!;
    const inline = spelled[2];
    const flag = ownFlagsEnded ? undefined : declared.get(name);
    if (flag === undefined) {
      if (!shape.takesParams) throw unknownFlag(name, shape, declared.keys());
      params.set(name, inline ?? (isValue(words[i + 1]) ? words[++i]! : 'true'));
      continue;
    }
    if (flag.notYet === true) throw notAvailableYet(`--${name}`);
    const value = flag.value === undefined ? switchOf(flag, inline) : (inline ?? (isValue(words[i + 1]) ? words[++i]! : undefined));
    if (value === undefined) throw usageError(`--${name} needs a value, as in \`--${name} ${flag.value}\``);
    const before = flags.get(name);
    if (before === undefined) flags.set(name, [value]);
    else if (flag.repeats === true) before.push(value);
    else if (flag.value !== undefined) throw usageError(`--${name} is given twice, as ${before[0]} and as ${value}`);
  }

  if (!flags.has('help')) checkPositionals(positionals, shape);
  return { positionals, flags, params };
}

function isValue(word: string | undefined): word is string {
  return word !== undefined && !word.startsWith('--');
}

function switchOf(flag: Flag, inline: string | undefined): string {
  if (inline !== undefined) throw usageError(`--${flag.name} takes no value, but '${inline}' was given`);
  return 'true';
}

function checkPositionals(given: readonly string[], shape: CommandShape): void {
  const missing = shape.positionals[given.length];
  if (missing !== undefined) throw usageError(`\`sluice ${shape.name}\` needs ${missing}`);
  const names = [...shape.positionals, ...(shape.optional ?? [])];
  const surplus = given[names.length];
  if (surplus !== undefined) {
    throw usageError(`\`sluice ${shape.name}\` takes ${names.join(' ')} and nothing else, but '${surplus}' was given`);
  }
}

/** The error for a flag that nobody reads, with the name that was most likely meant. */
export function unknownFlag(name: string, shape: CommandShape, known: Iterable<string>): SluiceError {
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : `; did you mean --${meant}?`;
  const reader = shape.takesParams ? `neither \`sluice ${shape.name}\` nor the job reads` : `\`sluice ${shape.name}\` does not know`;
  return usageError(`${reader} --${name}${hint}`, { flag: name });
}

/** A whole number from 1 on, such as a parallelism. */
export function positiveInteger(name: string, text: string, max: number): number {
  const n = Number(text);
  if (!/^[0-9]+$/.test(text) || n < 1 || n > max) throw usageError(`${name} is '${text}', but it must be a whole number from 1 to ${max}`);
  return n;
}
