// Which base a job's backend means.

import type { BackendSettings } from '../../api/state-backend.ts';
import type { Patience } from '../patience.ts';
import type { InvocationPorts } from '../ports.ts';
import type { StateBase } from './base.ts';
import type { VersionView } from './contract.ts';
import { SnapshotBase } from './snapshot-base.ts';
import { TableBase } from './table-base.ts';

export interface BaseOptions {
  readonly ports: Pick<InvocationPorts, 'table' | 'objects'>;
  readonly patience: Patience;
  readonly backend: BackendSettings;
}

export function createBaseOf({ ports, patience, backend }: BaseOptions): (p: {
  readonly subtask: string;
  /** What the newest entry names. */
  readonly snapshot: string | undefined;
  readonly view: Pick<VersionView, 'generation' | 'restores'>;
}) => StateBase {
  const { table, objects } = ports;
  return ({ subtask, snapshot, view }) => {
    if (usesTable(backend)) return new TableBase({ table, objects, view, patience });
    const limitBytes = backend.kind === 'memory' ? backend.stateBytesMax : undefined;
    return new SnapshotBase({ objects, snapshot, limitBytes, subtask });
  };
}

/** Whether keyed state lies in the versioned table; otherwise it is a snapshot. */
export function usesTable(backend: BackendSettings): boolean {
  return backend.kind === 'dynamodb' || (backend.kind === 'memory' && backend.isDefault === true);
}
