// What an environment remembers of the operator state of a subtask, and how it has the next entry refer to it (operator-state.ts).
//   M1  An object is stored for what has cost as much in entries by now: it may change with the next unit, and then it was in vain once.

import { equalBytes } from '../../core/bytes.ts';
import { encodeValue } from '../../core/value-codec.ts';
import type { EntryHead } from '../entry.ts';
import { objectCostBytes } from '../limits.ts';
import type { ObjectStore } from '../ports.ts';
import {
  changedParts,
  decodeParts,
  readOperatorState,
  type StateReference,
  type StoredOperator,
  sameParts,
  withParts,
} from './operator-state.ts';

/** Less is not worth a look. */
const steadyBytesMin = 128;

export interface KeepOptions {
  /** Of the entry before. */
  readonly head: Pick<EntryHead, 'n' | 'operatorState'>;
  readonly objects: Pick<ObjectStore, 'putIfAbsent'>;
  /** Up to this much rides in the entry. */
  readonly inlineBytesMax: number;
  /** Of an object, should there be one. */
  readonly name: string;
}

export class OperatorStateMemory {
  /** The last object that was stored or read here. */
  #base: { readonly object: string; readonly bytes: Uint8Array; readonly parts: readonly StoredOperator[] } | undefined;
  #whole: { readonly of: StateReference; readonly bytes: Uint8Array } | undefined;
  /** Parts that have been riding along unchanged since an entry. */
  #steady: { readonly parts: readonly StoredOperator[]; readonly since: number } | undefined;

  /** @throws SluiceError `OBJECT_MISSING` */
  async read(
    of: EntryHead['operatorState'],
    p: { readonly objects: ObjectStore; readonly subtask: string },
  ): Promise<Uint8Array | undefined> {
    if (of?.object === undefined) return of?.bytes;
    if (this.#whole?.of === of) return this.#whole.bytes;
    if (this.#base?.object !== of.object) {
      const bytes = (await readOperatorState({ object: of.object, bytes: undefined }, p)) as Uint8Array;
      this.#base = { object: of.object, bytes, parts: decodeParts(bytes) };
    }
    const bytes = withParts(this.#base.bytes, of.bytes);
    this.#whole = { of, bytes };
    return bytes;
  }

  /**
   * How the next entry refers to the state.
   * @param known  the state of the entry before
   */
  async keep(now: Uint8Array | undefined, known: Uint8Array | undefined, p: KeepOptions): Promise<EntryHead['operatorState']> {
    if (now === undefined) return undefined;
    const before = p.head.operatorState;
    const riding = known !== undefined && equalBytes(now, known) ? before : this.#riding(now, before, p.inlineBytesMax);
    const reference = riding === undefined || this.#isDear(riding.bytes, p.head.n) ? await this.#stored(now, p) : riding;
    this.#whole = { of: reference, bytes: now };
    return reference;
  }

  /** @returns `undefined`: it is too much for an entry */
  #riding(now: Uint8Array, before: EntryHead['operatorState'], inlineBytesMax: number): StateReference | undefined {
    const base = before?.object !== undefined && before.object === this.#base?.object ? this.#base : undefined;
    const changed = base === undefined ? undefined : changedParts(base.parts, decodeParts(now));
    if (base !== undefined && changed !== undefined) {
      const bytes = changed.length === 0 ? undefined : encodeValue(changed);
      if (bytes === undefined || bytes.length <= inlineBytesMax) return { bytes, object: base.object };
    }
    return now.length <= inlineBytesMax ? { bytes: now, object: undefined } : undefined;
  }

  /** M1. */
  #isDear(riding: Uint8Array | undefined, n: number): boolean {
    if (riding === undefined || riding.length < steadyBytesMin) {
      this.#steady = undefined;
      return false;
    }
    const parts = decodeParts(riding);
    const same = this.#steady === undefined ? [] : sameParts(this.#steady.parts, parts);
    const bytes = same.length === 0 ? 0 : encodeValue(same).length;
    if (this.#steady === undefined || bytes < steadyBytesMin) {
      this.#steady = { parts, since: n };
      return false;
    }
    const { since } = this.#steady;
    this.#steady = { parts: same, since };
    return bytes * (n - since) >= objectCostBytes;
  }

  async #stored(bytes: Uint8Array, { objects, name }: KeepOptions): Promise<StateReference> {
    await objects.putIfAbsent(name, bytes);
    this.#base = { object: name, bytes, parts: decodeParts(bytes) };
    this.#steady = undefined;
    return { bytes: undefined, object: name };
  }
}
