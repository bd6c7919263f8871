// hash-sink.ts is the sink of every query: it sees each row object, hashes its canonical text and adds the hash to one tally.
// One job runs in the process at a time, so the tally is a module's own, as the peer's is a static.

import type { Sink, SinkWriter } from '../../lib/index.ts';

export interface Tally {
  rows: number;
  sum: number;
  /** When the writer opened, which is before the source is first asked; ms of `performance.now()`. */
  startedAtMs: number;
  /** When the last batch of rows had been hashed. */
  endedAtMs: number;
  /** Completed ones, the last of a finished job included. */
  checkpoints: number;
}

export const tally: Tally = { rows: 0, sum: 0, startedAtMs: 0, endedAtMs: 0, checkpoints: 0 };

/** Hashes every row with `hashRow`; at parallelism 1 only. */
export function hashSink<T>(hashRow: (row: T) => number): Sink<T> {
  return {
    kind: 'hashSink',
    recover() {},
    createWriter: () => hashWriter(hashRow),
  };
}

function hashWriter<T>(hashRow: (row: T) => number): SinkWriter {
  return {
    open() {
      Object.assign(tally, { rows: 0, sum: 0, checkpoints: 0, startedAtMs: performance.now(), endedAtMs: 0 });
    },
    write({ values, count }) {
      let sum = tally.sum;
      for (let i = 0; i < count; i++) sum = (sum + hashRow(values[i] as T)) | 0;
      tally.sum = sum;
      tally.rows += count;
      tally.endedAtMs = performance.now();
    },
    announce: () => [],
    prepare: () => ({ state: undefined, transactions: [] }),
    commit() {
      tally.checkpoints++;
    },
    discard() {},
    close() {},
  };
}
