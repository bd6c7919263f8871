import type { KeyedStore } from '../../checkpoint/keyed-store.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import type { EmbeddedPorts } from './run-types.ts';

/**
 * Opens the table of a job whose backend is one.
 * @returns `undefined`: its state lies in checkpoints
 * @throws SluiceError `OPTION_INVALID` without a name, `FEATURE_NOT_AVAILABLE`, `PACKAGE_MISSING`, `STORE_MISSING`, `STORE_FORBIDDEN`
 */
export async function openKeyedStore(ports: EmbeddedPorts, { job, settings }: Plan): Promise<KeyedStore | undefined> {
  const { backend } = settings;
  if (backend.kind !== 'dynamodb') return undefined;
  if (backend.table === undefined) {
    throw new SluiceError('OPTION_INVALID', {
      message: 'state.backend is dynamodb, and no table is named',
      next: 'fix-the-command',
      advice: 'set state.backend.dynamodb.table, or call env.setStateBackend(new DynamoDbStateBackend({ table }))',
    });
  }
  if (ports.openKeyedStore !== undefined) return ports.openKeyedStore({ job, table: backend.table });
  throw new SluiceError('FEATURE_NOT_AVAILABLE', {
    message: `this run has no way to table ${backend.table}, which the job's DynamoDbStateBackend names`,
    next: 'fix-the-job',
  });
}
