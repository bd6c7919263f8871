// Draws a job and its workload from a seed, in the language of `../simulation/spec.ts`, small enough that a few thousand requests disturb every
// part of it: a dozen rows a split, few keys, at most two hops of exchange.

import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import type { CheckpointSpec, JobSpec, Mode, Node } from '../simulation/spec.ts';
import { endsWithTime, randomNodes } from './random-nodes.ts';

/** What the invocation runtime is told besides the job. */
export interface Setting {
  readonly spec: JobSpec;
  readonly ringSlots: number;
  /** Bounds above which things go to the object store, a few bytes in most seeds. */
  readonly limits: InvocationBounds;
  /** Splits are told to have ended once they are read; otherwise the job never ends by itself. */
  readonly isFinite: boolean;
  /** The user may restore a retained checkpoint that is not the newest: output then repeats. */
  readonly mayRewind: boolean;
  /** Rows that no function survives, by id: it throws whenever it is given one, or its process dies. */
  readonly poison: ReadonlyMap<string, 'throws' | 'kills'>;
  /** Tries of a record that fails. */
  readonly attemptsMax: number;
}

export interface InvocationBounds {
  readonly inlineBytesMax: number;
  readonly inlineValueBytesMax: number;
  readonly listChunkBytes: number;
  readonly messageBytesMax: number;
  readonly heldBytesMax: number;
  readonly inlineOperatorStateBytesMax: number;
}

export function randomJob(seed: number): Setting {
  const random = seededRandom(seed).fork('job');
  const mode: Mode = random.chance(0.9) ? 'EXACTLY_ONCE' : random.pick(['AT_LEAST_ONCE', 'AT_LEAST_ONCE']);
  const nodes = randomNodes(random, mode);
  // What was added to the draws comes from a stream of its own, so that seeds keep the worlds that they are known for.
  const added = seededRandom(seed).fork('added to the job');
  const isAtMostOnce = mode === 'AT_LEAST_ONCE' && added.chance(0.4);
  return {
    spec: {
      name: 'sim',
      nodes,
      checkpoints: { ...checkpoints(random, mode), ...(isAtMostOnce ? { mode: 'AT_MOST_ONCE' as const } : {}) },
      backend: random.pick(['table', 'table', 'memory', 'fs']),
      restarts: 'default',
      maxParallelism: random.pick([4, 7, 16]),
      parallelism: [1],
    },
    ringSlots: random.pick([6, 8, 8, 8, 16]),
    limits: bounds(random),
    // Under AT_MOST_ONCE what a restore passes by is in no checkpoint before something new comes, so that nothing tells the end of an endless job.
    isFinite: random.chance(0.7) || isAtMostOnce || nodes.some((n) => endsWithTime.includes(n.op.kind)),
    mayRewind: mode === 'EXACTLY_ONCE' && random.chance(0.35),
    poison: mode === 'EXACTLY_ONCE' && random.chance(0.2) ? poisonOf(random, nodes) : new Map(),
    // A try that may have come half-way is not made again under AT_MOST_ONCE.
    attemptsMax: isAtMostOnce ? 1 : random.pick([3, 3, 5]),
  };
}

function poisonOf(random: SeededRandom, nodes: readonly Node[]): ReadonlyMap<string, 'throws' | 'kills'> {
  const ids = nodes.flatMap((n) => (n.op.kind === 'source' ? n.op.source.splits.flatMap((s) => s.rows.map((r) => r.id)) : []));
  const kills = random.chance(0.5);
  return new Map(ids.filter(() => random.chance(0.12)).map((id) => [id, kills && random.chance(0.5) ? 'kills' : 'throws'] as const));
}

function bounds(random: SeededRandom): InvocationBounds {
  const size = (): number => random.pick([16, 150, 600, 8_192]);
  return {
    inlineBytesMax: size(),
    inlineValueBytesMax: size(),
    listChunkBytes: random.pick([16, 60, 4_096]),
    messageBytesMax: size(),
    heldBytesMax: size(),
    inlineOperatorStateBytesMax: size(),
  };
}

function checkpoints(random: SeededRandom, mode: Mode): CheckpointSpec {
  const maxConcurrent = random.chance(0.5) ? 1 : 2;
  return {
    mode,
    intervalMs: random.pick([10, 30, 80]),
    timeoutMs: random.pick([60, 200, 1_000, 5_000]),
    minPauseMs: 0,
    maxConcurrent,
    tolerableFailures: 1_000,
    numRetained: random.pick([1, 2, 3, 3]),
    cleanup: 'RETAIN_ON_CANCELLATION',
    prefersCheckpoint: false,
  };
}
