// job-call.ts is what `run` and `plan` have in common: a job, built from the parameters and settings of this call, with everything that was
// given and that nobody read refused.
import type { GlobalSettings } from '../adapters/embedded/run-types.ts';
import { defaultsOf, unknownSetting } from '../adapters/embedded/settings.ts';
import type { JobDescription } from '../api/description.ts';
import type { Job } from '../api/job.ts';
import { ParamValues, variableOf } from '../api/params.ts';
import { maxParallelismMax } from '../core/limits.ts';
import { describe } from '../operators/describe.ts';
import { positiveInteger, unknownFlag } from './arguments.ts';
import type { Call } from './commands.ts';
import { type Configuration, configurationFile, loadConfiguration } from './configuration.ts';
import { loadJob } from './job-file.ts';

export interface JobCall {
  readonly job: Job;
  readonly description: JobDescription;
  /** What the job reads and was given, by name. */
  readonly params: ReadonlyMap<string, string>;
  readonly settings: GlobalSettings;
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
  const job = await loadJob(given.positionals[0]!);

  const values = new GivenParams(given.params, process.env, configuration.params);
  const reader = new ParamValues(values);
  let description: JobDescription | undefined;
  let failure: unknown;
  try {
    description = describe(job, reader, defaultsOf(configuration.settings, parallelism));
  } catch (error) {
    failure = error;
  }
  // A parameter that is missing and a flag that nobody reads are mostly one mistake, and the misspelled flag is the better hint.
  if (failure === undefined || codeOf(failure) === 'PARAM_MISSING') {
    refuseUnread(
      reader.namesRead,
      configuration,
      (name) => unknownFlag(name, shape, [...reader.namesRead, ...shape.flags.map((f) => f.name)]),
      given.params,
    );
  }
  if (description === undefined) throw failure;
  const params = new Map([...reader.namesRead].flatMap((name) => present(name, values.get(name))));
  return { job, description, params, settings: configuration.settings, parallelism };
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

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null | undefined)?.code;
}
