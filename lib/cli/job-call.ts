// job-call.ts is what `run` and `plan` have in common: a job, built from the parameters and settings of this call, with everything that was
// given and that nobody read refused.
import type { GlobalSettings } from '../adapters/embedded/run-types.ts';
import { defaultsOf, unknownSetting } from '../adapters/embedded/settings.ts';
import type { JobDescription } from '../api/description.ts';
import type { Job } from '../api/job.ts';
import { ParamValues, variableOf } from '../api/params.ts';
import { isSluiceError, type SluiceError } from '../core/errors.ts';
import { maxParallelismMax } from '../core/limits.ts';
import { nearest } from '../core/suggest.ts';
import { describe } from '../operators/describe.ts';
import { type CommandShape, positiveInteger, unknownFlag, usageError } from './arguments.ts';
import type { Call } from './commands.ts';
import { type Configuration, configurationFile, loadConfiguration } from './configuration.ts';
import { loadJob } from './job-file.ts';

export interface JobCall {
  readonly job: Job;
  readonly description: JobDescription;
  /** What the job reads and was given, by name. */
  readonly params: ReadonlyMap<string, string>;
  readonly settings: GlobalSettings;
  /** Settings as they were written, by name. */
  readonly settingTexts: ReadonlyMap<string, string>;
  readonly parallelism: number | undefined;
}

/** Flags win over variables, and these over the file. A variable can only be looked up: which there are depends on what the job asks for. */
class GivenParams extends Map<string, string> {
  readonly #flags: ReadonlyMap<string, string>;
  readonly #variables: Readonly<Record<string, string | undefined>>;
  readonly #file: ReadonlyMap<string, string>;

  constructor(
    flags: ReadonlyMap<string, string>,
    variables: Readonly<Record<string, string | undefined>>,
    file: ReadonlyMap<string, string>,
  ) {
    super();
    this.#flags = flags;
    this.#variables = variables;
    this.#file = file;
  }

  override get(name: string): string | undefined {
    return this.#flags.get(name) ?? this.#variables[variableOf(name)] ?? this.#file.get(name);
  }
}

/**
 * Loads the job of the call and builds it once.
 *
 * @throws SluiceError whatever is wrong with flags, configuration, the file or the job; `COMMAND_LINE_INVALID` and `SETTING_UNKNOWN` for a
 *   flag or key that neither the command nor the job has read
 */
export async function prepareJob({ shape, arguments: given }: Call): Promise<JobCall> {
  const asked = given.flags.get('parallelism')?.[0];
  const parallelism = asked === undefined ? undefined : positiveInteger('--parallelism', asked, maxParallelismMax);
  const set = given.flags.get('set') ?? [];
  const configuration = await loadConfiguration({ directory: process.cwd(), variables: process.env, set });
  const settings = { ...configuration.settings, ...bindOf(shape, given.flags.get('bind')) };
  const job = await loadJob(given.positionals[0]!);

  const values = new GivenParams(given.params, process.env, configuration.params);
  const reader = new ParamValues(values);
  let description: JobDescription | undefined;
  let failure: unknown;
  try {
    description = describe(job, reader, defaultsOf(settings, parallelism));
  } catch (error) {
    failure = error;
  }
  const unknown = (name: string): SluiceError => unknownFlag(name, shape, [...reader.namesRead, ...shape.flags.map((f) => f.name)]);
  if (failure === undefined) refuseUnread(reader.namesRead, configuration, unknown, given.params);
  if (description === undefined) throw misspelledFlag(failure, reader.namesRead, given.params, unknown) ?? failure;
  const params = new Map([...reader.namesRead].flatMap((name) => present(name, values.get(name))));
  return { job, description, params, settings, settingTexts: configuration.settingTexts, parallelism };
}

/**
 * A parameter that is missing and a flag that looks like it are one mistake, and the misspelled flag is the better hint. Of other flags nothing is
 * known: the job stopped before it could have read them.
 */
function misspelledFlag(
  failure: unknown,
  read: ReadonlySet<string>,
  flags: ReadonlyMap<string, string>,
  unknown: (flag: string) => SluiceError,
): SluiceError | undefined {
  if (!isSluiceError(failure) || failure.code !== 'PARAM_MISSING') return undefined;
  const meant = [...flags.keys()].find((name) => !read.has(name) && nearest(name, [String(failure.details.param)]) !== undefined);
  return meant === undefined ? undefined : unknown(meant);
}

/** A run needs a target for every name; a plan can be shown without. */
function bindOf({ name: command }: CommandShape, given: readonly string[] | undefined): Pick<GlobalSettings, 'bind'> {
  if (given === undefined && command !== 'run') return {};
  return { bind: readBind(given ?? [], 'PATH') };
}

/**
 * Pure. The `name=target` of each --bind.
 * @param what  a target is called, in errors
 * @throws SluiceError `COMMAND_LINE_INVALID`
 */
export function readBind(given: readonly string[], what: string): Readonly<Record<string, string>> {
  const bind: Record<string, string> = {};
  for (const assignment of given) {
    const at = assignment.indexOf('=');
    if (at < 1 || at === assignment.length - 1) throw usageError(`--bind ${assignment} has no target; write --bind name=${what}`);
    const name = assignment.slice(0, at);
    if (Object.hasOwn(bind, name)) throw usageError(`--bind ${name} is given twice, as ${bind[name]} and as ${assignment.slice(at + 1)}`);
    bind[name] = assignment.slice(at + 1);
  }
  return bind;
}

function refuseUnread(
  read: ReadonlySet<string>,
  configuration: Configuration,
  unknown: (flag: string) => Error,
  flags: ReadonlyMap<string, string>,
): void {
  for (const name of flags.keys()) if (!read.has(name)) throw unknown(name);
  for (const name of configuration.looseParams) if (!read.has(name)) throw unknownSetting(name, configurationFile, read);
}

function present(name: string, value: string | undefined): readonly (readonly [string, string])[] {
  return value === undefined ? [] : [[name, value]];
}
