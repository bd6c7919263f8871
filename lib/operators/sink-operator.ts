// The end of a chain: rows pass through as they are; what becomes of them is the sink writer's part, which lies with the runtime.

import type { RecordBatch } from '../core/batch.ts';
import { isSluiceError, SluiceError } from '../core/errors.ts';
import { excerpt, type OperatorEnvironment, userError } from './operator.ts';
import { BatchOperator } from './stateless.ts';

export class SinkOperator extends BatchOperator {
  readonly #check: ((row: unknown) => void) | undefined;

  /** @param check  throws for a row that the target can never take */
  constructor(environment: OperatorEnvironment, check?: (row: unknown) => void) {
    super(environment);
    this.#check = check;
  }

  transform(batch: RecordBatch): RecordBatch {
    if (this.#check !== undefined) this.#checkAll(this.#check, batch);
    return batch;
  }

  #checkAll(check: (row: unknown) => void, { values, count }: RecordBatch): void {
    for (let i = 0; i < count; i++) {
      try {
        check(values[i]);
      } catch (error) {
        throw refusedRow(error, this.environment, values[i]);
      }
    }
  }
}

function refusedRow(error: unknown, environment: OperatorEnvironment, row: unknown): SluiceError {
  if (!isSluiceError(error)) return userError(error, environment, 'check', row);
  return new SluiceError(error.code, {
    ...error.details,
    message: `${environment.name} (${environment.uid}) cannot take a row: ${error.message}; row ${excerpt(row)}`,
    next: error.next,
    cause: error.cause,
    operator: environment.uid,
  });
}
