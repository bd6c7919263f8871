// The services of AWS that a job of `sluice run` may use, loaded when it does.
import { systemClock, systemRandom } from '../../adapters/embedded/system-clock.ts';
import type { KeyedStore, KeyedStoreRequest } from '../../checkpoint/keyed-store.ts';
import { SluiceError } from '../../core/errors.ts';

const packages = ['@aws-sdk/client-dynamodb', '@smithy/node-http-handler'];

/** @throws SluiceError `PACKAGE_MISSING` with what to install */
export async function openKeyedStore(request: KeyedStoreRequest): Promise<KeyedStore> {
  const { openKeyedTable } = await loaded('DynamoDbStateBackend', () => import('../../adapters/aws/state/open-keyed-table.ts'));
  return openKeyedTable(request, { clock: systemClock, random: systemRandom });
}

export async function loaded<M>(what: string, load: () => Promise<M>): Promise<M> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new SluiceError('PACKAGE_MISSING', {
      message: `${what} needs ${packages.join(' and ')}, and one of them is not installed`,
      next: 'fix-the-command',
      advice: `npm install ${packages.join(' ')}`,
      cause: error,
    });
  }
}
