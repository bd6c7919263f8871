// The jobs of the sweep: small enough that each of their requests can be the one that goes wrong, and together they pass through every part of the
// protocol once: ring and table, exchange and alignment, both ways of keeping rows back, a pause, a restore, a shard that splits.

import { seededRandom } from '../../lib/testing/index.ts';
import type { CheckpointSpec, Node, Op, Row, SourceSpec, SplitScript } from '../simulation/spec.ts';
import type { Happening } from './counts.ts';
import { drawEvolution } from './evolution.ts';
import type { InvocationBounds, Setting } from './random-job.ts';

/** What a person does to a job, once, as soon as it has come so far. */
export type Act = 'pause' | 'restore';

export interface SweepJob {
  readonly title: string;
  readonly setting: Setting;
  /** In this order. */
  readonly acts: readonly Act[];
  readonly flushBelowSlots: number;
  /** Rest between two events of a split, ms at most. */
  readonly feedMs: number;
  /** What an undisturbed run must come to; otherwise its points prove less than they should. */
  readonly shows: readonly Happening[];
  /** An undisturbed run has at least so many points. */
  readonly pointsMin: number;
}

const eventTimeBegins = 1_600_000_000_000;
const roomy: InvocationBounds = {
  inlineBytesMax: 8_192,
  inlineValueBytesMax: 8_192,
  listChunkBytes: 4_096,
  messageBytesMax: 8_192,
  heldBytesMax: 8_192,
  inlineOperatorStateBytesMax: 8_192,
};

/** Keys take turns; each row is 7 ms of event time after the one before it. */
function rowsOf(split: string, count: number, keys: number): readonly Row[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `${split}.${i}`,
    k: `k${i % keys}`,
    s: split,
    v: (i * 37 + 11) % 1_000,
    t: eventTimeBegins + 7 * i,
  }));
}

function splitOf(id: string, count: number, keys: number): SplitScript {
  return { id, rows: rowsOf(id, count, keys), pauses: {} };
}

function sourceOf(splits: readonly SplitScript[]): SourceSpec {
  return { kind: 'scripted', splits, disorderMs: 0, hasWatermarks: true, isEager: true };
}

/** One shard, partitioned by its key, that never gives way to others. */
function partitionedSource(id: string, count: number, keys: number): SourceSpec {
  const split = { ...splitOf(id, count, keys), places: Array.from({ length: count }, (_, i) => i) };
  const evolution = {
    key: 'text',
    isPinned: false,
    initial: 1,
    changes: [],
    ranges: { [id]: { from: 0, to: 2 ** 32 - 1 } },
    length: count,
  } as const;
  return { ...sourceOf([split]), evolution };
}

/** The first that is drawn with one shard which splits, once, among the rows. */
function splittingSource(id: string, count: number, keys: number): SourceSpec {
  const rows = rowsOf(id, count, keys);
  for (let seed = 1; ; seed++) {
    const { splits, evolution } = drawEvolution(seededRandom(seed), { id, rows, key: 'text', isPinned: false, changes: 0.3 });
    const isMeant = evolution.initial === 1 && evolution.changes.length === 1 && splits.every((s) => s.rows.length > 0);
    if (isMeant) return { ...sourceOf(splits), evolution };
  }
}

class Nodes {
  readonly all: Node[] = [];

  add(op: Op, parallelism: number, ...inputs: readonly number[]): number {
    this.all.push({ op, uid: `${op.kind}-${this.all.length}`, inputs: inputs.map((node) => ({ node, isSide: false })), parallelism });
    return this.all.length - 1;
  }

  sink(sink: 'two-phase' | 'contract' | 'upsert' | 'log', parallelism: number, input: number): void {
    this.add({ kind: 'sink', sink, rollBytes: undefined, isOrdered: false }, parallelism, input);
  }
}

function settingOf(nodes: Nodes, o: Partial<Setting> & { readonly intervalMs: number; readonly numRetained?: number }): Setting {
  const checkpoints: CheckpointSpec = {
    mode: 'EXACTLY_ONCE',
    intervalMs: o.intervalMs,
    timeoutMs: 400,
    minPauseMs: 0,
    maxConcurrent: 1,
    tolerableFailures: 1_000,
    numRetained: o.numRetained ?? 1,
    cleanup: 'RETAIN_ON_CANCELLATION',
    prefersCheckpoint: false,
  };
  return {
    spec: { name: 'sim', nodes: nodes.all, checkpoints, backend: 'table', restarts: 'default', maxParallelism: 4, parallelism: [1] },
    ringSlots: o.ringSlots ?? 8,
    limits: o.limits ?? roomy,
    isFinite: true,
    mayRewind: false,
    poison: new Map(),
    attemptsMax: 3,
  };
}

/** Keyed state and timers in the stage of the source; rows go out at once and with a checkpoint. */
function inOneStage(): SweepJob {
  const nodes = new Nodes();
  const source = nodes.add({ kind: 'source', source: partitionedSource('s', 8, 3) }, 1);
  nodes.sink('upsert', 1, nodes.add({ kind: 'count', key: 'text' }, 1, source));
  nodes.sink('log', 1, nodes.add({ kind: 'buckets', key: 'text', sizeMs: 10, isPinned: false }, 1, source));
  return {
    title: 'one stage, partitioned by its key: state, timers, rows that go out at once and from a write-ahead log',
    setting: settingOf(nodes, { intervalMs: 25 }),
    acts: [],
    flushBelowSlots: 3,
    feedMs: 30,
    shows: ['checkpoint completed', 'ring wrapped'],
    pointsMin: 120,
  };
}

/** Two channels into each of two subtasks, everything that is bigger than a few bytes in objects, a ring that comes round. */
function overAnExchange(): SweepJob {
  const nodes = new Nodes();
  const source = nodes.add({ kind: 'source', source: sourceOf([splitOf('s.0', 8, 2), splitOf('s.1', 5, 2)]) }, 2);
  const running = nodes.add({ kind: 'running', key: 'text' }, 2, source);
  nodes.sink('two-phase', 2, running);
  const tiny = { inlineBytesMax: 150, inlineValueBytesMax: 16, listChunkBytes: 16, messageBytesMax: 150, heldBytesMax: 16 };
  return {
    title: 'exchanges between two subtasks and two: objects for what is big, a ring that comes round, records that wait, two phases',
    setting: settingOf(nodes, { intervalMs: 60, ringSlots: 6, limits: { ...tiny, inlineOperatorStateBytesMax: 16 } }),
    acts: [],
    flushBelowSlots: 1,
    feedMs: 30,
    shows: ['checkpoint completed', 'ring wrapped', 'entry overflowed', 'message overflowed', 'records waited behind a barrier'],
    pointsMin: 250,
  };
}

/** Stopped and opened again, and then a restore that has transactions to abort. */
function thereAndBack(): SweepJob {
  const nodes = new Nodes();
  const source = nodes.add({ kind: 'source', source: sourceOf([splitOf('s.0', 9, 3)]) }, 1);
  const running = nodes.add({ kind: 'running', key: 'tuple' }, 1, source);
  nodes.sink('contract', 1, running);
  return {
    title: 'two stages, paused and resumed, then restored with transactions to abort',
    setting: settingOf(nodes, { intervalMs: 40, numRetained: 2 }),
    acts: ['pause', 'restore'],
    flushBelowSlots: 2,
    feedMs: 200,
    shows: ['checkpoint completed', 'pause asked for', 'resumed', 'restored', 'transaction discarded'],
    pointsMin: 300,
  };
}

/** A shard gives way to two, each of which goes on with its part of the keys. */
function withAShardThatSplits(): SweepJob {
  const nodes = new Nodes();
  const source = nodes.add({ kind: 'source', source: splittingSource('s', 6, 2) }, 1);
  nodes.sink('two-phase', 1, nodes.add({ kind: 'count', key: 'text' }, 1, source));
  return {
    title: 'a shard that splits: what it knew goes to its children',
    setting: settingOf(nodes, { intervalMs: 40 }),
    acts: [],
    flushBelowSlots: 2,
    feedMs: 60,
    shows: ['checkpoint completed', 'shard split'],
    pointsMin: 150,
  };
}

export const sweepJobs: readonly SweepJob[] = [inOneStage(), overAnExchange(), thereAndBack(), withAShardThatSplits()];
