// An idempotent target that remembers every row it was handed, in order, and what a reader of it sees in the end.

import { type IdempotentSinkOptions, idempotentSink, type Sink } from '../../lib/index.ts';

export class IdentifiedTarget {
  /** Every row ever handed over, repeats after a restart too. */
  readonly handed: { readonly id: string; readonly value: unknown }[] = [];
  /** As an upsert leaves it. */
  readonly rows = new Map<string, unknown>();

  sink<T>(before: () => void | Promise<void> = () => {}): Sink<T> {
    const options: IdempotentSinkOptions<T> = {
      write: async (rows) => {
        await before();
        for (const row of rows) {
          this.handed.push(row);
          this.rows.set(row.id, row.value);
        }
      },
    };
    return idempotentSink(options);
  }

  get ids(): readonly string[] {
    return [...this.rows.keys()].sort();
  }
}
