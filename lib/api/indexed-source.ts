import type { Source, SourceOutput, Split, SplitPosition, SplitReader } from './source.ts';

// indexed-source.ts owns the sources whose record is a function of its index: collections, sequences and generators. Each has one split, so
// its records keep their order at every parallelism, and a position is the index alone.

const splitId = 'all';

/**
 * A source of `valueAt(0)` … `valueAt(count - 1)`.
 * @param kind   for messages and plans
 * @param count  `undefined`: it never ends
 */
export function indexedSource<T>(kind: string, count: number | undefined, valueAt: (index: number) => T): Source<T> {
  const end = count ?? Number.MAX_SAFE_INTEGER;
  return {
    kind,
    isRereadable: true,
    isBounded: count !== undefined,
    isEager: false,
    enumerate: () => Promise.resolve([{ id: splitId }]),
    open: (_split: Split, from: SplitPosition | undefined) => new IndexedReader(valueAt, from?.index ?? 0, end),
  };
}

class IndexedReader<T> implements SplitReader<T> {
  readonly #valueAt: (index: number) => T;
  readonly #end: number;
  #next: number;

  constructor(valueAt: (index: number) => T, next: number, end: number) {
    this.#valueAt = valueAt;
    this.#next = next;
    this.#end = end;
  }

  get hasEnded(): boolean {
    return this.#next >= this.#end;
  }

  poll(out: SourceOutput<T>, max: number): number {
    const valueAt = this.#valueAt;
    const values = out.values;
    const first = this.#next;
    const n = Math.min(max, this.#end - first);
    const base = out.count;
    for (let i = 0; i < n; i++) values[base + i] = valueAt(first + i);
    out.count = base + n;
    this.#next = first + n;
    return n;
  }

  ready(): undefined {
    return undefined;
  }

  position(): SplitPosition {
    return { index: this.#next, at: this.#next };
  }

  close(): void {}
}
