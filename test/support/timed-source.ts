// A source whose records come at given moments of virtual time, counted from the beginning of the world, so that a test says what lies between
// which barriers.

import { OutputTag } from '../../lib/api/functions.ts';
import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../lib/api/source.ts';
import { worldBeginsAt } from '../../lib/testing/index.ts';

export interface Timed<T> {
  /** Virtual ms since the beginning of the world. */
  readonly at: number;
  readonly value: T;
  /** Goes to the side output `malformed` instead. */
  readonly isMalformed?: boolean;
}

export const malformed: OutputTag<unknown> = new OutputTag<unknown>('malformed');

export interface TimedSourceOptions {
  /** Hand out what there is at once; true by default. */
  readonly isEager?: boolean;
  /** When a split ends that has no records left; its last record by default. */
  readonly endsAt?: number;
}

export function timedSource<T>(splits: Readonly<Record<string, readonly Timed<T>[]>>, options: TimedSourceOptions = {}): Source<T> {
  return {
    kind: 'timed',
    isRereadable: true,
    isBounded: true,
    isEager: options.isEager ?? true,
    enumerate: () => Promise.resolve(Object.keys(splits).map((id) => ({ id }))),
    open: (split: Split, from: SplitPosition | undefined, ctx: SourceContext) =>
      new TimedReader<T>(splits[split.id] as readonly Timed<T>[], from, ctx, options.endsAt ?? 0),
  };
}

/** Values that all come at once. */
export function at<T>(ms: number, ...values: T[]): Timed<T>[] {
  return values.map((value) => ({ at: ms, value }));
}

class TimedReader<T> implements SplitReader<T> {
  readonly #rows: readonly Timed<T>[];
  readonly #ctx: SourceContext;
  readonly #endsAt: number;
  #next: number;
  #handedOut: number;
  #waiting: Promise<void> | undefined;
  #sleeper: { cancel(): void } | undefined;

  constructor(rows: readonly Timed<T>[], from: SplitPosition | undefined, ctx: SourceContext, endsAt: number) {
    this.#rows = rows;
    this.#ctx = ctx;
    this.#endsAt = endsAt;
    this.#next = from === undefined ? 0 : (from.at as number);
    this.#handedOut = from?.index ?? 0;
  }

  get #now(): number {
    return this.#ctx.clock.now() - worldBeginsAt;
  }

  get hasEnded(): boolean {
    return this.#next >= this.#rows.length && this.#now >= this.#endsAt;
  }

  poll(out: SourceOutput<T>, max: number): number {
    let given = 0;
    while (given < max) {
      const row = this.#rows[this.#next];
      if (row === undefined || row.at > this.#now) break;
      this.#next += 1;
      if (row.isMalformed === true) {
        out.side(malformed, row.value);
        continue;
      }
      out.values[out.count++] = row.value;
      this.#handedOut += 1;
      given += 1;
    }
    return given;
  }

  ready(): Promise<void> | undefined {
    const due = this.#rows[this.#next]?.at ?? this.#endsAt;
    if (this.hasEnded || (this.#next < this.#rows.length && due <= this.#now)) return undefined;
    this.#waiting ??= this.#waitUntil(due);
    return this.#waiting;
  }

  async #waitUntil(due: number): Promise<void> {
    const sleeper = this.#ctx.clock.sleep(due - this.#now);
    this.#sleeper = sleeper;
    await sleeper.done;
    this.#waiting = undefined;
  }

  position(): SplitPosition {
    return { index: this.#handedOut, at: this.#next };
  }

  close(): void {
    this.#sleeper?.cancel();
  }
}
