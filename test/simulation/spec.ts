// The small language in which simulated jobs are written. A spec says what a job means; `build.ts` makes a Sluice job of it, `oracle.ts` evaluates
// it with plain loops. Every record is a `Row`, so that any operator may follow any other, and every operator of the language has a result that
// does not depend on an order which the engine does not promise:
//   L1  A stream is `ordered` when rows of one (split, key) keep their order on every path. Only `pinned` operators, keyed by (split, key), depend
//       on order, and they take ordered streams only.
//   L2  A stream is `timed` when the event times of its rows are decided by the rows alone and none is late. Only windows and event-time timers
//       depend on times, and they take timed streams only.
//   L3  What is neither is compared as a multiset of rows whose content is decided.

export interface Row {
  readonly id: string;
  readonly k: string;
  /** The split it came from; empty when it stems from several. */
  readonly s: string;
  readonly v: number;
  /** Event time in ms, 0 when undecided. */
  readonly t: number;
}

export interface SplitScript {
  readonly id: string;
  readonly rows: readonly Row[];
  /** Before row `i` comes, this many ms pass; no entry, no wait. */
  readonly pauses: Readonly<Record<number, number>>;
  /** Of a source that evolves: where each row lies among all rows and changes of the source. */
  readonly places?: readonly number[];
}

/** A source whose shards split and merge. Its splits are all shards there will ever be, and all of its rows have one `s`. */
export interface EvolutionScript {
  /** The key that it is partitioned by. */
  readonly key: KeyForm;
  readonly isPinned: boolean;
  /** So many of the splits are there at first. */
  readonly initial: number;
  readonly changes: readonly { readonly place: number; readonly parents: readonly string[]; readonly children: readonly string[] }[];
  readonly ranges: Readonly<Record<string, { readonly from: number; readonly to: number }>>;
  /** Rows and changes. */
  readonly length: number;
}

export type SourceSpec = {
  readonly kind: 'scripted' | 'files' | 'collection' | 'generate';
  readonly splits: readonly SplitScript[];
  /** Times are out of order by at most this, ms. */
  readonly disorderMs: number;
  readonly hasWatermarks: boolean;
  /** Scripted only: does the reader hand out whatever it has? */
  readonly isEager: boolean;
  readonly evolution?: EvolutionScript;
  /** A split that is silent for so long holds no watermark back, ms. */
  readonly idleMs?: number;
};

export type KeyForm = 'text' | 'tuple' | 'object' | 'number';
export type Spread = 'rebalance' | 'shuffle' | 'rescale' | 'global' | 'broadcast' | 'custom' | 'forward';
/** The first three under the embedded runtime, all but the first under the invocation runtime. */
export type SinkKind = 'files' | 'two-phase' | 'contract' | 'upsert' | 'latest' | 'log' | 'append';

export type Op =
  | { readonly kind: 'source'; readonly source: SourceSpec }
  | { readonly kind: 'map'; readonly add: number; readonly mayThrow: boolean }
  | { readonly kind: 'filter'; readonly modulus: number }
  | { readonly kind: 'flatMap' }
  | { readonly kind: 'spread'; readonly how: Spread }
  /** Rows whose value divides evenly go to the side output, the others on. */
  | { readonly kind: 'split'; readonly modulus: number }
  | { readonly kind: 'count'; readonly key: KeyForm }
  | { readonly kind: 'distinct'; readonly key: KeyForm; readonly modulus: number }
  | { readonly kind: 'running'; readonly key: KeyForm }
  | { readonly kind: 'buckets'; readonly key: KeyForm; readonly sizeMs: number; readonly isPinned: boolean }
  | { readonly kind: 'hold'; readonly key: KeyForm; readonly holdMs: number; readonly isPinned: boolean }
  | { readonly kind: 'rolling'; readonly key: KeyForm; readonly by: 'reduce' | 'sum' | 'min' | 'max' | 'minBy' | 'maxBy' | 'aggregate' }
  | { readonly kind: 'window'; readonly key: KeyForm; readonly by: 'count' | 'sum' | 'reduce'; readonly sizeMs: number }
  | { readonly kind: 'union' }
  | { readonly kind: 'sides'; readonly key: KeyForm }
  | { readonly kind: 'pairs'; readonly key: KeyForm; readonly modulus: number }
  /** The second input is broadcast; it comes from one split at parallelism 1. */
  | { readonly kind: 'rules'; readonly key: KeyForm }
  /** Keeps the last rows back in operator state; what it still holds at the end is never seen. */
  | { readonly kind: 'delay'; readonly rows: number; readonly form: 'checkpointed' | 'list' }
  /** Passes rows on, counts them in every form of operator state, and reports what it was restored with. */
  | { readonly kind: 'witness' }
  | { readonly kind: 'sink'; readonly sink: SinkKind; readonly rollBytes: number | undefined; readonly isOrdered: boolean };

export interface Input {
  readonly node: number;
  readonly isSide: boolean;
}

export interface Node {
  readonly op: Op;
  readonly uid: string;
  readonly inputs: readonly Input[];
  /** Nothing: the job's default, which may change on a restore. */
  readonly parallelism: number | undefined;
}

export type Mode = 'EXACTLY_ONCE' | 'AT_LEAST_ONCE' | 'AT_MOST_ONCE';

export interface CheckpointSpec {
  readonly mode: Mode;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly minPauseMs: number;
  readonly maxConcurrent: number;
  readonly tolerableFailures: number;
  readonly numRetained: number;
  readonly cleanup: 'RETAIN_ON_CANCELLATION' | 'DELETE_ON_CANCELLATION' | 'NO_EXTERNALIZED_CHECKPOINTS';
  readonly prefersCheckpoint: boolean;
}

export interface JobSpec {
  readonly name: string;
  /** In topological order. */
  readonly nodes: readonly Node[];
  readonly checkpoints: CheckpointSpec;
  /** `table`: nobody chooses one, and the invocation runtime takes its own. */
  readonly backend: 'memory' | 'memory-in-line' | 'fs' | 'table';
  readonly restarts: 'default' | 'none' | 'fixed' | 'exponential' | 'rate';
  readonly maxParallelism: number;
  /** Of the runs, in order; the last one stays. */
  readonly parallelism: readonly number[];
}

export const inputDirectory = '/home/in';
export const outputDirectory = '/home/out';
export const checkpointDirectory = '/home/checkpoints';
/** Later than every event time of a row, earlier than the final watermark. */
export const farFuture = 8_000_000_000_000_000;

// The meaning of the pieces that need no state; both sides use these.

export const mapped = (r: Row, add: number): Row => ({ ...r, v: (r.v * 3 + add) % 1_000 });
export const isKept = (r: Row, modulus: number): boolean => r.v % modulus !== 0;
export const copiesOf = (r: Row): Row[] =>
  Array.from({ length: (r.v + r.id.length) % 3 }, (_, i) => ({ ...r, id: `${r.id}/${i}`, v: (r.v + i) % 1_000 }));
export const bucketEnd = (t: number, sizeMs: number): number => Math.floor(t / sizeMs) * sizeMs + sizeMs - 1;

/** The key text of a row: equal texts, equal keys, whatever form the key takes. */
export const keyText = (r: Row, isPinned: boolean): string => (isPinned ? `${r.s}|${r.k}` : r.k);
