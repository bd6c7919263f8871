// Where an operator's output lands until the batch is done. Arrays are fresh for each batch and never touched again once taken, so whoever
// gets them may keep them.

import type { Collector } from '../api/functions.ts';
import { noTimestamp, type RecordBatch } from '../core/batch.ts';

export class Emitter implements Collector<unknown> {
  /** Event time given to what is collected next. */
  timestamp: number = noTimestamp;
  #values: unknown[] = [];
  #timestamps: number[] | undefined;
  #count = 0;

  /**
   * Starts a batch.
   * @param hasTimestamps  whether its records carry event times
   * @param expected       how many records it will probably have: room for so many is made at once
   */
  begin(hasTimestamps: boolean, expected = 0): void {
    if (this.#count > 0) return;
    this.#values = new Array(expected);
    this.#timestamps = hasTimestamps ? new Array(expected) : undefined;
    this.timestamp = noTimestamp;
  }

  collect(value: unknown): void {
    const at = this.#count++;
    this.#values[at] = value;
    if (this.#timestamps !== undefined) this.#timestamps[at] = this.timestamp;
  }

  take(): RecordBatch | undefined {
    if (this.#count === 0) return undefined;
    const batch: RecordBatch = {
      values: this.#values,
      count: this.#count,
      keys: undefined,
      timestamps: this.#timestamps,
      origins: undefined,
    };
    this.#values = [];
    this.#count = 0;
    return batch;
  }
}
