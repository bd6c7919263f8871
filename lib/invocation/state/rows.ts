// Rows of a sink that wait for a barrier. Each lies at its number, and how many there are is a piece of its own: appending needs the count alone.
//   W1  Numbers begin at 0 again after `clear`, so a sink has as many addresses as rows ever waited for one barrier.

import type { StateAddress, StateWrite } from '../entry.ts';
import type { RowBuffer } from './contract.ts';
import type { Layers } from './layers.ts';
import { notKnown } from './not-resident.ts';
import { partitionText } from './overlay.ts';
import { decodeCount, encodeCount } from './value-format.ts';

export const rowsState = '#rows';
const digits = 12; // more rows than memory holds; fixed, so that numbers sort as texts

export class WaitingRows implements RowBuffer {
  readonly #layers: Layers;
  readonly #countAddress: StateAddress;
  readonly #partition: string;
  /** Committed rows; `undefined`: not known. */
  #count: number | undefined;
  #isCleared = false;
  /** Of this unit. */
  #appended: Uint8Array[] = [];

  constructor(layers: Layers, name: string, subtask: string) {
    this.#layers = layers;
    this.#countAddress = { operator: rowsState, state: name, key: subtask, sub: '' };
    this.#partition = partitionText(this.#countAddress);
  }

  append(bytes: Uint8Array): void {
    if (this.#committed() !== undefined) this.#appended.push(bytes);
  }

  all(): readonly Uint8Array[] | undefined {
    const count = this.#committed();
    if (count === undefined) return undefined;
    if (this.#isCleared) return [...this.#appended];
    const rows: Uint8Array[] = [];
    for (let i = 0; i < count; i++) {
      const address = this.#addressOf(i);
      const bytes = this.#layers.peek(address, this.#partition);
      if (bytes === notKnown) this.#layers.miss(address, this.#partition);
      else if (bytes !== undefined) rows.push(bytes);
    }
    return this.#layers.isSuspended ? undefined : [...rows, ...this.#appended];
  }

  clear(): void {
    if (this.#committed() === undefined) return;
    this.#isCleared = true;
    this.#appended = [];
  }

  writeDelta(writes: StateWrite[]): void {
    if (!this.#isCleared && this.#appended.length === 0) return;
    const count = this.#count ?? 0;
    const first = this.#isCleared ? 0 : count;
    for (const [i, value] of this.#appended.entries()) writes.push({ address: this.#addressOf(first + i), value });
    const now = first + this.#appended.length;
    for (let i = now; i < count; i++) writes.push({ address: this.#addressOf(i), value: undefined });
    if (now !== count) writes.push({ address: this.#countAddress, value: now === 0 ? undefined : encodeCount(now) });
  }

  commitUnit(): void {
    if (this.#count !== undefined) this.#count = (this.#isCleared ? 0 : this.#count) + this.#appended.length;
    this.abandonUnit();
  }

  abandonUnit(): void {
    this.#isCleared = false;
    this.#appended = [];
  }

  /** Another writer changed rows. */
  forget(): void {
    this.#count = undefined;
  }

  #addressOf(number: number): StateAddress {
    return { ...this.#countAddress, sub: `${number}`.padStart(digits, '0') };
  }

  #committed(): number | undefined {
    if (this.#count !== undefined) return this.#count;
    const bytes = this.#layers.peek(this.#countAddress, this.#partition);
    if (bytes === notKnown) {
      this.#layers.miss(this.#countAddress, this.#partition);
      return undefined;
    }
    this.#count = decodeCount(bytes, `count of the rows that wait for sink ${this.#countAddress.state}`);
    return this.#count;
  }
}
