// configuration.ts owns where settings and parameters from outside are written: `--set`, `SLUICE_` variables, and `sluice.yaml` in the working
// directory. What a name means is adapters/embedded/settings.ts.
//   F1  In the file, nested and dotted names are the same thing: `state: { backend: x }` is `state.backend: x`.
//   F2  Names below `params:` are parameters; a job need not read all of them, because one file serves several jobs.
//   F3  A top-level name without a dot that is no setting may be a parameter too. Nobody can tell a misspelled setting from it before a job
//       was built, so it is kept apart, and whoever builds a job refuses what was not read.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GlobalSettings } from '../adapters/embedded/run-types.ts';
import { type GivenSetting, isSettingName, readSettings, settingNames, unknownSetting } from '../adapters/embedded/settings.ts';
import { variableOf } from '../api/params.ts';
import { SluiceError } from '../core/errors.ts';
import { usageError } from './arguments.ts';

export const configurationFile = 'sluice.yaml';

export interface Configuration {
  readonly settings: GlobalSettings;
  /** The same as they were written, by name. */
  readonly settingTexts: ReadonlyMap<string, string>;
  /** Parameters of the file, by name. */
  readonly params: ReadonlyMap<string, string>;
  /** Those of them that stand at the top level (F3). */
  readonly looseParams: ReadonlySet<string>;
}

export interface Sources {
  readonly directory: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** `key=value` of each `--set`, in order. */
  readonly set: readonly string[];
}

/**
 * Reads and merges what is configured outside the job.
 *
 * @throws SluiceError `CONFIGURATION_INVALID` for a file that cannot be read or is no map of plain values; `SETTING_UNKNOWN`,
 *   `SETTING_INVALID`, `DURATION_INVALID` for what it says; `COMMAND_LINE_INVALID` for a `--set` without `=`
 */
export async function loadConfiguration({ directory, variables, set }: Sources): Promise<Configuration> {
  const settings = new Map<string, GivenSetting>();
  const params = new Map<string, string>();
  const looseParams = new Set<string>();

  const text = readOptional(join(directory, configurationFile));
  for (const [name, value] of text === undefined ? [] : await valuesOf(text)) {
    if (name.startsWith('params.')) params.set(name.slice('params.'.length), value);
    else if (isSettingName(name)) settings.set(name, { text: value, origin: configurationFile });
    else if (name.includes('.')) throw unknownSetting(name, configurationFile);
    else {
      looseParams.add(name);
      if (!params.has(name)) params.set(name, value);
    }
  }
  for (const name of settingNames) {
    const value = variables[variableOf(name)];
    if (value !== undefined) settings.set(name, { text: value, origin: variableOf(name) });
  }
  for (const assignment of set) {
    const at = assignment.indexOf('=');
    if (at < 1) throw usageError(`--set ${assignment} has no value; write --set key=value`);
    const name = assignment.slice(0, at).trim();
    if (!isSettingName(name)) throw unknownSetting(name, '--set');
    settings.set(name, { text: assignment.slice(at + 1), origin: '--set' });
  }
  const settingTexts = new Map([...settings].map(([name, { text: written }]) => [name, written]));
  return { settings: readSettings(settings), settingTexts, params, looseParams };
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw invalid('it cannot be read', error);
  }
}

/** The plain values of the file under their dotted names. */
async function valuesOf(text: string): Promise<readonly (readonly [string, string])[]> {
  const { parseDocument } = await import('yaml'); // loaded only where a file exists: it would cost every other start 20 ms and more
  const document = parseDocument(text, { prettyErrors: true });
  const [first] = document.errors;
  if (first !== undefined) throw invalid(firstLine(first.message)); // it names the line
  const root: unknown = document.toJS({ maxAliasCount: 100 });
  if (root === null || root === undefined) return [];
  if (!isPlainMap(root)) throw invalid('it must be a map of names to values');
  const values: (readonly [string, string])[] = [];
  flatten('', root, values);
  const seen = new Set<string>();
  for (const [name] of values) {
    if (seen.has(name)) throw invalid(`the key '${name}' is there twice, nested and dotted`);
    seen.add(name);
  }
  return values;
}

function flatten(prefix: string, map: Readonly<Record<string, unknown>>, into: (readonly [string, string])[]): void {
  for (const [key, value] of Object.entries(map)) {
    const name = prefix === '' ? key : `${prefix}.${key}`;
    if (isPlainMap(value)) flatten(name, value, into);
    else if (value === null || value === undefined) throw invalid(`the key '${name}' has no value`);
    else if (typeof value === 'object') throw invalid(`the key '${name}' is a list, but a single value is expected`);
    else into.push([name, String(value)]);
  }
}

function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.replace(/:$/, '');
}

function invalid(why: string, cause?: unknown): SluiceError {
  return new SluiceError('CONFIGURATION_INVALID', { message: `${configurationFile}: ${why}`, next: 'fix-the-command', cause });
}
