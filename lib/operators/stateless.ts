// map, filter and flatMap: one loop each, one fresh array per batch.

import type { RecordBatch } from '../core/batch.ts';
import { Operator, type OperatorEnvironment, userError } from './operator.ts';

/** Operators whose output batch is made by a loop of their own instead of a collector. */
export abstract class BatchOperator extends Operator {
  #result: RecordBatch | undefined;

  abstract transform(batch: RecordBatch): RecordBatch;

  process(batch: RecordBatch): void {
    this.#result = this.transform(batch);
  }

  takeResult(): RecordBatch | undefined {
    const result = this.#result;
    this.#result = undefined;
    return result === undefined || result.count === 0 ? undefined : result;
  }
}

export class MapOperator extends BatchOperator {
  readonly #map: (value: unknown) => unknown;

  constructor(environment: OperatorEnvironment, map: (value: unknown) => unknown) {
    super(environment);
    this.#map = map;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps } = batch;
    const map = this.#map;
    const mapped: unknown[] = new Array(count);
    let i = 0;
    try {
      for (; i < count; i++) mapped[i] = map(values[i]);
    } catch (error) {
      throw userError(error, this.environment, 'map', values[i]);
    }
    return { values: mapped, count, keys: undefined, timestamps };
  }
}

export class FilterOperator extends BatchOperator {
  readonly #keep: (value: unknown) => boolean;

  constructor(environment: OperatorEnvironment, keep: (value: unknown) => boolean) {
    super(environment);
    this.#keep = keep;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps } = batch;
    const keep = this.#keep;
    const kept: unknown[] = [];
    const times: number[] | undefined = timestamps === undefined ? undefined : [];
    let keptCount = 0;
    let i = 0;
    try {
      for (; i < count; i++) {
        const value = values[i];
        if (!keep(value)) continue;
        if (times !== undefined) times[keptCount] = (timestamps as number[])[i] as number;
        kept[keptCount++] = value;
      }
    } catch (error) {
      throw userError(error, this.environment, 'filter', values[i]);
    }
    return { values: kept, count: keptCount, keys: undefined, timestamps: times };
  }
}

export class FlatMapOperator extends BatchOperator {
  readonly #flatMap: (value: unknown) => Iterable<unknown>;

  constructor(environment: OperatorEnvironment, flatMap: (value: unknown) => Iterable<unknown>) {
    super(environment);
    this.#flatMap = flatMap;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps } = batch;
    const made: unknown[] = [];
    const times: number[] | undefined = timestamps === undefined ? undefined : [];
    let i = 0;
    try {
      for (; i < count; i++) {
        for (const value of this.#flatMap(values[i])) {
          if (times !== undefined) times.push((timestamps as number[])[i] as number);
          made.push(value);
        }
      }
    } catch (error) {
      throw userError(error, this.environment, 'flatMap', values[i]);
    }
    return { values: made, count: made.length, keys: undefined, timestamps: times };
  }
}
