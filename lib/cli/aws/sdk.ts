// Loads the AWS clients of a command. They are optional: whoever only runs jobs in a process does not install them.
import { errorOf } from '../../adapters/aws/errors.ts';
import { isSluiceError, SluiceError } from '../../core/errors.ts';

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

/** As Node calls what keeps a request from its server. */
const unreachable = /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/;

/**
 * One request of a command.
 * @param what  action and resource, such as `lambda:InvokeFunction on clicks-Query`
 * @throws SluiceError `ENDPOINT_UNREACHABLE` where nobody answers, and as adapters/aws/errors.ts says
 */
export async function asked<T>(what: string, { endpoint }: AwsPlace, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (isSluiceError(error)) throw error;
    if (!isNobody(error)) throw errorOf(error, what);
    throw new SluiceError('ENDPOINT_UNREACHABLE', {
      message: `${what}: nobody answers${endpoint === undefined ? '' : ` at ${endpoint}`}`,
      next: 'fix-the-command',
      advice:
        endpoint === undefined
          ? 'look at the network, and at AWS_REGION and AWS_ENDPOINT_URL'
          : '--endpoint is the address of an emulator; `npm run emulator` of this project starts one; leave it out for an account',
      cause: error,
    });
  }
}

function isNobody(error: unknown): boolean {
  const { code, name } = error as { readonly code?: string; readonly name?: string };
  return unreachable.test(code ?? '') || name === 'TimeoutError' || /Invalid URL/.test(String(error));
}
