// ending.ts owns how the process of a command ends. Code of a job runs in it too, and may end it or let it wait for what never comes.
import { SluiceError } from '../core/errors.ts';

let isOwnEnd = false;
let jobFile: string | undefined;
let isLoading = false;

/** Ends the process, as the command wants it. */
export function endProcess(code: number): never {
  isOwnEnd = true;
  process.exit(code);
}

/** Remembers whose code is loaded, and runs from then on. */
export async function loadingJob<T>(file: string, load: () => Promise<T>): Promise<T> {
  jobFile = file;
  isLoading = true;
  try {
    return await load();
  } finally {
    isLoading = false;
  }
}

/** Why the process ends with `code` now; `undefined` when it was `endProcess` that ended it. */
export function endedByOthers(code: number): SluiceError | undefined {
  if (isOwnEnd) return undefined;
  const call = `process.exit(${code})`;
  const message =
    jobFile === undefined
      ? `${call} was called before the work was done`
      : `${jobFile}, or what it imports, called ${call} before the work was done`;
  return new SluiceError('PROCESS_EXITED', {
    message,
    next: 'fix-the-job',
    advice: 'let a job throw an error where something is wrong; a command ends the process itself when its work is done',
    ...(jobFile === undefined ? {} : { file: jobFile }),
  });
}

/** Why nothing is left that could go on; `undefined` when that is no fault of the job's file. */
export function waitsForNothing(): SluiceError | undefined {
  if (!isLoading || jobFile === undefined) return undefined;
  return new SluiceError('JOB_FILE_UNFINISHED', {
    message: `${jobFile}, or what it imports, awaits something at its top level that never comes, so that it does not finish loading`,
    next: 'fix-the-job',
    file: jobFile,
  });
}
