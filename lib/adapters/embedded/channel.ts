// A bounded queue between one sender and one receiver subtask.
//   C1  Elements leave in the order they came.
//   C2  The bound is asked for before work starts (`hasRoom`), so one step of a sender may overshoot it by what that step emits: a barrier
//       or an end is never refused.

import type { StreamElement } from '../../core/batch.ts';
import { batchRecordsMax } from '../../core/batch.ts';

/** Records that may wait in a channel before its sender pauses. */
const channelRecordsMax = 4 * batchRecordsMax;
/** Elements of any kind that may wait, so that tiny batches are bounded too. */
const channelElementsMax = 64;

export class Channel {
  /** Input (0 or 1) of the receiving operator. */
  readonly input: 0 | 1;
  #elements: StreamElement[] = [];
  #first = 0;
  #records = 0;

  constructor(input: 0 | 1) {
    this.input = input;
  }

  get isEmpty(): boolean {
    return this.#first === this.#elements.length;
  }

  get hasRoom(): boolean {
    return this.#records < channelRecordsMax && this.#elements.length - this.#first < channelElementsMax;
  }

  push(element: StreamElement): void {
    if (element.kind === 'records') this.#records += element.batch.count;
    this.#elements.push(element);
  }

  shift(): StreamElement {
    const element = this.#elements[this.#first] as StreamElement;
    this.#first += 1;
    if (this.#first === this.#elements.length) {
      this.#elements = [];
      this.#first = 0;
    } else if (this.#first === channelElementsMax) {
      // A channel that is never quite empty must not keep what has left it.
      this.#elements = this.#elements.slice(this.#first);
      this.#first = 0;
    }
    if (element.kind === 'records') this.#records -= element.batch.count;
    return element;
  }
}
