// map, filter and flatMap: one loop each, one fresh array per batch.

import type { RecordBatch } from '../core/batch.ts';
import { listedOrigins, type Origins, outputOrigin, pickedOrigins } from '../core/origins.ts';
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
    return { values: mapped, count, keys: undefined, timestamps, origins: batch.origins };
  }
}

export class FilterOperator extends BatchOperator {
  readonly #keep: (value: unknown) => boolean;

  constructor(environment: OperatorEnvironment, keep: (value: unknown) => boolean) {
    super(environment);
    this.#keep = keep;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps, origins } = batch;
    const picks: number[] | undefined = origins === undefined ? undefined : [];
    const keep = picks === undefined ? this.#keep : notingKept(this.#keep, picks);
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
    const keptOrigins = picks === undefined ? undefined : pickedOrigins(origins as Origins, picks);
    return { values: kept, count: keptCount, keys: undefined, timestamps: times, origins: keptOrigins };
  }
}

export class FlatMapOperator extends BatchOperator {
  readonly #flatMap: (value: unknown) => Iterable<unknown>;

  constructor(environment: OperatorEnvironment, flatMap: (value: unknown) => Iterable<unknown>) {
    super(environment);
    this.#flatMap = flatMap;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps, origins } = batch;
    const made: unknown[] = [];
    const starts: number[] | undefined = origins === undefined ? undefined : [];
    const flatMap = starts === undefined ? this.#flatMap : notingStarts(this.#flatMap, made, starts);
    const times: number[] | undefined = timestamps === undefined ? undefined : [];
    let i = 0;
    try {
      for (; i < count; i++) {
        for (const value of flatMap(values[i])) {
          if (times !== undefined) times.push((timestamps as number[])[i] as number);
          made.push(value);
        }
      }
    } catch (error) {
      throw userError(error, this.environment, 'flatMap', values[i]);
    }
    const madeOrigins = starts === undefined ? undefined : numberedOrigins(origins as Origins, starts, made.length);
    return { values: made, count: made.length, keys: undefined, timestamps: times, origins: madeOrigins };
  }
}

// Batches that carry origins run through the same loops; what must be known of each record is noted by a wrapper around the user's function.

/** Notes the index of each record that is kept. */
function notingKept(keep: (value: unknown) => boolean, picks: number[]): (value: unknown) => boolean {
  let index = 0;
  return (value) => {
    const isKept = keep(value);
    if (isKept) picks.push(index);
    index += 1;
    return isKept;
  };
}

/** Notes for each record how many outputs there were before it. */
function notingStarts(
  flatMap: (value: unknown) => Iterable<unknown>,
  made: readonly unknown[],
  starts: number[],
): (value: unknown) => Iterable<unknown> {
  return (value) => {
    starts.push(made.length);
    return flatMap(value);
  };
}

function numberedOrigins(from: Origins, starts: readonly number[], count: number): Origins {
  const texts: string[] = new Array(count);
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? count;
    if (start === end) continue;
    const cause = from.at(index);
    for (let at = start; at < end; at++) texts[at] = outputOrigin(cause, at - start);
  }
  return listedOrigins(texts);
}
