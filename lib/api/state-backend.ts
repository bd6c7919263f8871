import { SluiceError } from '../core/errors.ts';
import { formatBytes, MiB } from '../core/limits.ts';
import { checkOptions, checkWhole } from './option-checks.ts';

// state-backend.ts holds the choice of a backend as users write it. The backends themselves are in state/; a class here is only a name and
// its arguments.

/** Where keyed state lives while the job runs, and what a checkpoint of it looks like. */
export interface StateBackend {
  /** The name it has in `state.backend`. */
  readonly backend: string;
}

export type BackendSettings =
  | {
      readonly kind: 'memory';
      readonly stateBytesMax: number;
      readonly asynchronous: boolean;
      /** Nobody chose it; a runtime may have a better one. */
      readonly isDefault?: true;
    }
  | { readonly kind: 'filesystem' }
  /** `table`: of the embedded runtime; elsewhere the runtime has one. */
  | { readonly kind: 'dynamodb'; readonly table: string | undefined };

/** State on the heap; a checkpoint of it lies inside the checkpoint's metadata, so it has to be small. */
export class MemoryStateBackend implements StateBackend {
  readonly backend = 'jobmanager' as const;
  /** Bytes that one state of one subtask may have in a checkpoint; more fails the checkpoint. */
  readonly maxStateSize: number;
  /** Whether records flow on while a snapshot is written. */
  readonly asynchronous: boolean;

  /**
   * @param maxStateSize  bytes, 5 MiB by default
   * @param asynchronous  true by default
   * @throws SluiceError `OPTION_INVALID`
   */
  constructor(maxStateSize: number = 5 * MiB, asynchronous = true) {
    this.maxStateSize = checkWhole('MemoryStateBackend', 'maxStateSize', maxStateSize, 1);
    if (typeof asynchronous !== 'boolean') {
      throw new SluiceError('OPTION_INVALID', { message: 'MemoryStateBackend: asynchronous is true or false', next: 'fix-the-job' });
    }
    this.asynchronous = asynchronous;
    Object.freeze(this);
  }

  /** As plans show it. */
  toString(): string {
    return `memory (at most ${formatBytes(this.maxStateSize)})`;
  }
}

/** State on the heap; a checkpoint of it is files, written while records flow on. */
export class FsStateBackend implements StateBackend {
  readonly backend = 'filesystem' as const;
  /** A `file:` URI or a path. */
  readonly uri: string;

  /**
   * @param uri  where its checkpoints go: a `file:` URI or a path
   * @throws SluiceError `OPTION_INVALID` when it is empty, `FEATURE_NOT_AVAILABLE` for other schemes
   */
  constructor(uri: string) {
    this.uri = checkFileUri('FsStateBackend', uri);
    Object.freeze(this);
  }

  toString(): string {
    return `filesystem (${this.uri})`;
  }
}

export interface DynamoDbStateBackendOptions {
  /** Name of the table; its keys are two texts, `p` and `s`. */
  readonly table: string;
}

/**
 * State in a DynamoDB table that keeps versions: a checkpoint writes what has changed since the one before it and copies nothing, and it can be restored on
 * another machine.
 *
 * With `sluice run` all state of a job lies on the heap while it runs, and a restore reads the table once. One table holds the state of one job. It needs
 * the packages `@aws-sdk/client-dynamodb` and `@smithy/node-http-handler`. With `--runtime invocations` and in a deployed job the runtime's own table is
 * used, and this one is not.
 */
export class DynamoDbStateBackend implements StateBackend {
  readonly backend = 'dynamodb' as const;
  readonly table: string;

  /** @throws SluiceError `OPTION_UNKNOWN` with the name that was meant, `OPTION_INVALID` */
  constructor(o: DynamoDbStateBackendOptions) {
    const given: Partial<DynamoDbStateBackendOptions> = (o as unknown) ?? {}; // without types nobody has said that there has to be one
    checkOptions('DynamoDbStateBackend', given, ['table']);
    this.table = checkTableName('DynamoDbStateBackend', given.table);
    Object.freeze(this);
  }

  /** As plans show it. */
  toString(): string {
    return `dynamodb (${this.table})`;
  }
}

export function isTableName(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z0-9_.-]{3,255}$/.test(name);
}

function checkTableName(owner: string, name: unknown): string {
  if (isTableName(name)) return name;
  throw new SluiceError('OPTION_INVALID', {
    message: `${owner}: table is ${name === undefined ? 'missing' : 'no name'}: 3 to 255 letters, digits, '_', '-' and '.'`,
    next: 'fix-the-job',
    advice: `write new ${owner}({ table: 'NAME' })`,
    value: name,
  });
}

/** @throws SluiceError `OPTION_INVALID` when it is empty, `FEATURE_NOT_AVAILABLE` for other schemes than `file:` */
export function checkFileUri(owner: string, uri: string): string {
  if (typeof uri !== 'string' || uri === '') {
    throw new SluiceError('OPTION_INVALID', {
      message: `${owner}: the place is a file: URI or a path, and not empty`,
      next: 'fix-the-job',
    });
  }
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(uri)?.[1]?.toLowerCase(); // one letter is a drive, not a scheme
  if (scheme === undefined || scheme === 'file') return uri;
  throw new SluiceError('FEATURE_NOT_AVAILABLE', {
    message: `${owner}: ${scheme}: is not available yet, only file: URIs and paths are; got '${uri}'`,
    next: 'fix-the-job',
    value: uri,
  });
}
