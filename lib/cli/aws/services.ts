// The services of AWS that a job of `sluice run` may use, loaded when it does.
import { systemClock, systemRandom } from '../../adapters/embedded/system-clock.ts';
import { type BoundService, serviceBehind } from '../../api/bound-service.ts';
import type { Targets } from '../../api/targets.ts';
import type { KeyedStore, KeyedStoreRequest } from '../../checkpoint/keyed-store.ts';
import { SluiceError } from '../../core/errors.ts';

const keyedStorePackages = ['@aws-sdk/client-dynamodb', '@smithy/node-http-handler'];
const targetPackages = [...keyedStorePackages, '@aws-sdk/client-kinesis', '@aws-sdk/client-s3', '@aws-sdk/client-sqs'] as const;

/** @throws SluiceError `PACKAGE_MISSING` with what to install */
export async function openKeyedStore(request: KeyedStoreRequest): Promise<KeyedStore> {
  const load = () => import('../../adapters/aws/state/open-keyed-table.ts');
  const { openKeyedTable } = await loaded('DynamoDbStateBackend', keyedStorePackages, load);
  return openKeyedTable(request, { clock: systemClock, random: systemRandom });
}

export interface BoundTargets {
  readonly targets: Targets;
  close(): void;
}

/**
 * @param bind  of `--bind`, name → path or service
 * @returns `undefined`: all of them are paths
 * @throws SluiceError `PACKAGE_MISSING` with what to install, and as `serviceBehind`
 */
export async function openBound(bind: Readonly<Record<string, string>> = {}): Promise<BoundTargets | undefined> {
  const services: Record<string, BoundService> = {};
  for (const [name, target] of Object.entries(bind)) {
    const service = serviceBehind(name, target);
    if (service !== undefined) services[name] = service;
  }
  const [first] = Object.entries(services);
  if (first === undefined) return undefined;
  const load = () => import('../../adapters/aws/targets/open-bound.ts');
  const { openBoundTargets } = await loaded(`--bind ${first[0]}=${first[1].kind}:…`, targetPackages, load);
  return openBoundTargets(services);
}

export async function loaded<M>(what: string, packages: readonly string[], load: () => Promise<M>): Promise<M> {
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
