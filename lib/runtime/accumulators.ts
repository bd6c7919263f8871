// Accumulators of one subtask: one value per name, merged over subtasks when the job ends or when a restore brings several together.
//   A1  A restored value lies with subtask 0 of its operator until code there names it, and counts in the result whoever names it.

import type { AggregateFunction } from '../api/functions.ts';
import { SluiceError } from '../core/errors.ts';
import { decodeValue, encodeValue } from '../core/value-codec.ts';

interface Registered {
  readonly aggregate: AggregateFunction<unknown, unknown, unknown>;
  value: unknown;
}

export class Accumulators {
  readonly #registered = new Map<string, Registered>();
  /** Restored values whose function the code has not named yet. */
  readonly #restored: { readonly name: string; readonly value: Uint8Array }[];

  constructor(restored: readonly { readonly name: string; readonly value: Uint8Array }[]) {
    this.#restored = [...restored];
  }

  register(name: string, aggregate: AggregateFunction<unknown, unknown, unknown>): { add(value: unknown): void } {
    checkAccumulatorName(name);
    let entry = this.#registered.get(name);
    if (entry === undefined) {
      let value = aggregate.createAccumulator();
      for (let i = this.#restored.length - 1; i >= 0; i--) {
        const restored = this.#restored[i];
        if (restored?.name !== name) continue;
        value = aggregate.merge(decodeValue(restored.value), value);
        this.#restored.splice(i, 1);
      }
      entry = { aggregate, value };
      this.#registered.set(name, entry);
    }
    const registered = entry;
    return {
      add(value: unknown): void {
        registered.value = registered.aggregate.add(value, registered.value);
      },
    };
  }

  snapshot(): readonly { readonly name: string; readonly value: Uint8Array }[] {
    const own = Array.from(this.#registered, ([name, { value }]) => ({ name, value: encodeValue(value) }));
    return [...own, ...this.#restored];
  }

  /** Adds this subtask's values to a total over subtasks. */
  mergeInto(total: Map<string, Registered>): void {
    for (const [name, { aggregate, value }] of this.#registered) {
      const sum = total.get(name);
      if (sum === undefined) total.set(name, { aggregate, value });
      else sum.value = sum.aggregate.merge(sum.value, value);
    }
  }

  /** Adds what was restored here and named elsewhere only; `total` holds all names by now. */
  mergeRestoredInto(total: Map<string, Registered>): void {
    for (const { name, value } of this.#restored) {
      const sum = total.get(name);
      if (sum !== undefined) sum.value = sum.aggregate.merge(decodeValue(value), sum.value);
    }
  }
}

export function accumulatorResults(all: readonly Accumulators[]): Record<string, unknown> {
  const total = new Map<string, Registered>();
  for (const accumulators of all) accumulators.mergeInto(total);
  for (const accumulators of all) accumulators.mergeRestoredInto(total);
  return Object.fromEntries(Array.from(total, ([name, { aggregate, value }]) => [name, aggregate.getResult(value)]));
}

function checkAccumulatorName(name: string): void {
  if (typeof name === 'string' && name !== '') return;
  throw new SluiceError('OPTION_INVALID', { message: 'accumulator: a name is text that is not empty', next: 'fix-the-job' });
}
