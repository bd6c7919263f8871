// job-file.ts turns the path of a job's module into its job. Everything that can be wrong with such a file is told in one line that names the
// file and, where Node knows it, the line.
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isJob, type Job } from '../api/job.ts';
import { SluiceError } from '../core/errors.ts';
import { loadingJob } from './ending.ts';
import { installModuleHooks } from './module-hooks.ts';

/**
 * Loads the job that a module exports as its default.
 *
 * @param file  path of a TypeScript or JavaScript module, relative to the working directory
 * @throws SluiceError `JOB_FILE_MISSING`, `JOB_FILE_SYNTAX`, `JOB_FILE_IMPORT` when one of its imports does not resolve, `JOB_FILE_THREW` when
 *   its top level throws, `JOB_FILE_WITHOUT_JOB`
 */
export async function loadJob(file: string): Promise<Job> {
  const path = checkedPath(file);
  let loaded: Loaded;
  try {
    loaded = await loadingJob(file, () => import(pathToFileURL(path).href));
  } catch (error) {
    throw whyItDidNotLoad(file, error);
  }
  return jobOf(file, loaded);
}

/**
 * The same at once, for callers that cannot wait: a module that awaits at its top level is refused.
 *
 * @throws SluiceError as `loadJob`
 */
export function loadJobNow(file: string): Job {
  const path = checkedPath(file);
  let loaded: Loaded;
  try {
    loaded = createRequire(import.meta.url)(path);
  } catch (error) {
    throw whyItDidNotLoad(file, error);
  }
  return jobOf(file, loaded);
}

function checkedPath(file: string): string {
  const path = resolve(file);
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind === undefined) throw problem('JOB_FILE_MISSING', `there is no file ${file}`, { file, next: 'fix-the-command' });
  if (!kind.isFile())
    throw problem('JOB_FILE_MISSING', `${file} is not a file, but a job's module is one`, { file, next: 'fix-the-command' });
  installModuleHooks();
  return path;
}

type Loaded = { readonly default?: unknown };

function jobOf(file: string, loaded: Loaded): Job {
  if (isJob(loaded.default)) return loaded.default;
  throw withoutJob(file, loaded);
}

function problem(
  code: string,
  message: string,
  o: { readonly file: string; readonly next?: 'fix-the-command'; readonly cause?: unknown },
): SluiceError {
  return new SluiceError(code, { next: 'fix-the-job', ...o, message });
}

function withoutJob(file: string, loaded: Readonly<Record<string, unknown>>): SluiceError {
  const elsewhere = Object.keys(loaded).find((name) => isJob(loaded[name]));
  const hint = elsewhere === undefined ? 'write `export default defineJob(name, build)`' : `write \`export default ${elsewhere}\``;
  const what = !('default' in loaded) ? 'has no default export' : `exports ${kindOf(loaded.default)} as its default, which is no job`;
  return problem('JOB_FILE_WITHOUT_JOB', `${file} ${what}; ${hint}`, { file });
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === 'object' ? 'an object' : typeof value === 'function' ? 'a function' : `a ${typeof value}`;
}

/** The error of an import, in the terms of who wrote the file. */
function whyItDidNotLoad(file: string, error: unknown): SluiceError {
  if (!(error instanceof Error))
    return problem('JOB_FILE_THREW', `${file} threw a value that is no error when it was loaded`, { file, cause: error });
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED' || code === 'ERR_UNSUPPORTED_DIR_IMPORT') {
    const hint = /'[^']*\/[^'.]*'/.test(error.message) ? '; a relative import needs its ending, as in ./clicks.ts' : '';
    return problem('JOB_FILE_IMPORT', `${file} does not load: ${error.message}${hint}`, { file, cause: error });
  }
  if (code === 'ERR_REQUIRE_ASYNC_MODULE')
    return problem('JOB_FILE_IMPORT', `${file} awaits at its top level, so it cannot be loaded at once`, { file, cause: error });
  if (error instanceof SyntaxError) {
    const place = placeOf(error); // absent when the engine itself stopped at it, perhaps in a module that the file imports
    return problem('JOB_FILE_SYNTAX', `${place ?? `${file} does not load`}: SyntaxError: ${error.message}`, { file, cause: error });
  }
  return problem('JOB_FILE_THREW', `${file} threw when it was loaded: ${error.name}: ${error.message}`, { file, cause: error });
}

/** `file:line`, which Node puts in front of the stack of a syntax error. */
function placeOf(error: Error): string | undefined {
  const match = /^(file:\/\/\S+?|\/\S+?):(\d+)\n/.exec(error.stack ?? '');
  if (match === null) return undefined;
  const path = match[1]!.startsWith('file:') ? fileURLToPath(match[1]!) : match[1]!;
  return `${path}:${match[2]}`;
}
