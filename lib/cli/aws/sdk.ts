// Loads the AWS clients of a command. They are optional: whoever only runs jobs in a process does not install them.
import { SluiceError } from '../../core/errors.ts';

/** Where a call goes; what is absent comes from the SDK's own variables and files. */
export interface AwsPlace {
  /** An emulator's address, such as `http://127.0.0.1:4566`. */
  readonly endpoint: string | undefined;
}

/**
 * @param load  the import of the client's package
 * @throws SluiceError `PACKAGE_MISSING` naming what to install
 */
export async function loadClient<M>(name: string, load: () => Promise<M>): Promise<M> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new SluiceError('PACKAGE_MISSING', {
      message: `${name} is needed for jobs on AWS and is not installed`,
      next: 'fix-the-command',
      advice: `npm install ${name}`,
      cause: error,
    });
  }
}
