// Hands a batch to the operators record by record, so that when one throws it is known which. Only done when a record of the unit has thrown before:
// the results are the same as of whole batches, and slower.

import { partOfBatch, type RecordBatch } from '../../core/batch.ts';
import type { RecordPlace } from '../intake.ts';
import { isSameRecord, type RecordName } from './attempts.ts';

export interface SingleRecord {
  readonly name: RecordName;
  readonly batch: RecordBatch;
  readonly input: 0 | 1;
}

/** One run of a unit. */
export class OneByOne {
  /** The record under way: after a run that threw, the one to blame; `undefined` when it was none. */
  current: RecordName | undefined;
  /** After a run that threw: it was no record's fault. */
  isApart = false;
  /** Records that were left out because letters take their place. */
  readonly parked: SingleRecord[] = [];
  /** Records that were processed, in order. */
  readonly processed: RecordName[] = [];
  readonly #settled: RecordName[] = [];
  readonly #isParked: (name: RecordName) => boolean;
  readonly #checkOutput: () => void;

  /** @param checkOutput  throws when what a record left cannot be stored */
  constructor(isParked: (name: RecordName) => boolean, checkOutput: () => void = () => undefined) {
    this.#isParked = isParked;
    this.#checkOutput = checkOutput;
  }

  feed(batch: RecordBatch, input: 0 | 1, at: RecordPlace, process: (batch: RecordBatch, input: 0 | 1) => void): void {
    for (let index = 0; index < batch.count; index++) {
      const name = { place: at.place, record: at.record(index) };
      const single = partOfBatch(batch, index, index + 1);
      if (this.#isParked(name)) this.parked.push({ name, batch: single, input });
      else {
        this.current = name;
        process(single, input);
        this.#checkOutput();
        this.current = undefined;
        this.processed.push(name);
      }
      this.#settled.push(name);
    }
  }

  /** Runs what belongs to a record besides its processing, so that it is to blame for that too. */
  during<R>(name: RecordName, work: () => R): R {
    this.current = name;
    const result = work();
    this.current = undefined;
    return result;
  }

  /** Runs what is no record's fault: what timers throw. */
  apart(work: () => void): void {
    const { current } = this;
    this.current = undefined;
    this.isApart = true;
    work();
    this.isApart = false;
    this.current = current;
  }

  /** The run got past the record, by processing it or by leaving it out. */
  isSettled(name: RecordName): boolean {
    return this.#settled.some((settled) => isSameRecord(name, settled));
  }
}
