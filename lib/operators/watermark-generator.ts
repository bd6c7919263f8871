// Makes watermarks from the event times of one sequence of records (a split, or the input of assignTimestampsAndWatermarks): the largest
// timestamp so far, less the bound, less 1 ms. When one is due is decided by record counts, never by the clock.

import type { WatermarkStrategy } from '../api/watermark.ts';
import { noTimestamp, noWatermark, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import { excerpt } from './operator.ts';

export class WatermarkGenerator {
  readonly #strategy: WatermarkStrategy<unknown>;
  readonly #place: string;
  /** Largest event time seen; kept in checkpoints so that a replay judges lateness the same. */
  largest: number;

  constructor(strategy: WatermarkStrategy<unknown>, place: string, largest: number = noWatermark) {
    this.#strategy = strategy;
    this.#place = place;
    this.largest = largest;
  }

  /** Notes the event times of a batch, reading them from the records where the strategy says how. */
  stamp(batch: RecordBatch): void {
    const { count, values } = batch;
    const read = this.#strategy.timestamps;
    const given = batch.timestamps;
    let { largest } = this;
    if (read !== undefined) {
      const stamped: number[] = new Array(count);
      let i = 0;
      try {
        for (; i < count; i++) {
          const before = given === undefined || given[i] === noTimestamp ? undefined : given[i];
          const time = read(values[i], before);
          if (!(typeof time === 'number' && time >= -8.64e15 && time <= 8.64e15)) throw this.#noTime(time, values[i]);
          stamped[i] = time;
          if (time > largest) largest = time;
        }
      } catch (error) {
        throw error instanceof SluiceError ? error : this.#failed(error, values[i]);
      }
      batch.timestamps = stamped;
    } else if (given !== undefined) {
      for (let i = 0; i < count; i++) if ((given[i] as number) > largest) largest = given[i] as number;
    }
    this.largest = largest;
  }

  current(): number {
    if (this.#strategy.kind === 'none' || this.largest === noWatermark) return noWatermark;
    return this.largest - this.#strategy.boundMs - 1;
  }

  #noTime(time: unknown, record: unknown): SluiceError {
    return new SluiceError('TIMESTAMP_INVALID', {
      message: `the timestamp of a record at ${this.#place} is ${String(time)}, which is no time in ms; record ${excerpt(record)}`,
      next: 'fix-the-job',
    });
  }

  #failed(cause: unknown, record: unknown): SluiceError {
    const thrown = cause instanceof Error ? cause.message : String(cause);
    return new SluiceError('USER_FUNCTION_FAILED', {
      message: `the function of withTimestamps at ${this.#place} failed: ${thrown}; record ${excerpt(record)}`,
      next: 'fix-the-job',
      cause,
    });
  }
}
