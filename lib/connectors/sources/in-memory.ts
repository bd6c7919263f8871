import type { Source, SourceOutput, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';

// Sources that live in the job itself. Each is one split, so its records keep their order at every parallelism; a position is an index.
// The loops below are as bare as they look because a generator is often what a benchmark or a test measures the engine with.

/** A source of the elements of an array, in order. The array is copied when the job is described. */
export function collectionSource<T>(elements: Iterable<T>): Source<T> {
  const values = [...elements];
  return inMemorySource('collection', values.length, (out, from, count) => {
    const target = out.values;
    let at = out.count;
    for (let i = from; i < from + count; i++) target[at++] = values[i];
    out.count = at;
  });
}

/**
 * A source of the whole numbers `from` to `to`, both included, as Flink's `fromSequence`.
 * @throws SluiceError `SEQUENCE_INVALID` when a bound is not a safe integer; empty when `to` is below `from`
 */
export function sequenceSource(from: number, to: number): Source<number> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || !Number.isSafeInteger(to - from + 1)) {
    throw new SluiceError('SEQUENCE_INVALID', { message: `fromSequence(${from}, ${to}): the bounds are not whole numbers within the safe integers`, next: 'fix-the-job' });
  }
  return inMemorySource('sequence', Math.max(0, to - from + 1), (out, index, count) => {
    const target = out.values;
    let at = out.count;
    const first = from + index;
    for (let i = 0; i < count; i++) target[at++] = first + i;
    out.count = at;
  });
}

/**
 * A source of `make(0)`, `make(1)` … `make(count - 1)`. `make` is called again for the same index after a restart and must give the same
 * record each time. Without a count it never ends.
 * @throws SluiceError `GENERATE_COUNT_INVALID` when the count is not a whole number from 0 on
 */
export function generatorSource<T>(make: (index: number) => T, o: { readonly count?: number | undefined } = {}): Source<T> {
  const count = o.count ?? Number.POSITIVE_INFINITY;
  if (count !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(count) && count >= 0)) {
    throw new SluiceError('GENERATE_COUNT_INVALID', { message: `generate(): count ${count} is not a whole number from 0 on`, next: 'fix-the-job' });
  }
  return inMemorySource('generator', count, (out, index, n) => {
    const target = out.values;
    let at = out.count;
    const end = index + n;
    for (let i = index; i < end; i++) target[at++] = make(i);
    out.count = at;
  });
}

type Fill<T> = (out: SourceOutput<T>, from: number, count: number) => void;

function inMemorySource<T>(kind: string, length: number, fill: Fill<T>): Source<T> {
  return {
    kind,
    isRereadable: true,
    isBounded: length !== Number.POSITIVE_INFINITY,
    isEager: false,
    enumerate: async (): Promise<readonly Split[]> => [{ id: kind }],
    open: (_split, from) => new InMemoryReader<T>(length, fill, from?.index ?? 0),
  };
}

class InMemoryReader<T> implements SplitReader<T> {
  readonly #length: number;
  readonly #fill: Fill<T>;
  #index: number;

  constructor(length: number, fill: Fill<T>, index: number) {
    this.#length = length;
    this.#fill = fill;
    this.#index = index;
  }

  get hasEnded(): boolean {
    return this.#index >= this.#length;
  }

  poll(out: SourceOutput<T>, max: number): number {
    const count = Math.max(0, Math.min(max, this.#length - this.#index));
    this.#fill(out, this.#index, count);
    this.#index += count;
    return count;
  }

  ready(): undefined {
    return undefined;
  }

  position(): SplitPosition {
    return { index: this.#index, at: undefined };
  }

  close(): void {}
}
