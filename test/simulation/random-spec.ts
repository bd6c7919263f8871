// Draws a job and its workload from a seed. A table of what may follow what keeps the promise of `spec.ts`: results depend only on what the
// engine promises.

import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import { rowsOf } from './random-rows.ts';
import type { CheckpointSpec, Input, JobSpec, KeyForm, Mode, Node, Op, Row, SinkKind, SourceSpec, SplitScript, Spread } from './spec.ts';

/** What is known of a stream while the job is drawn. */
interface Stream {
  readonly input: Input;
  readonly isOrdered: boolean;
  readonly isTimed: boolean;
  readonly parallelism: number | undefined;
  /** An estimate, so that products stay small. */
  readonly rows: number;
  /** Sources that it stems from. */
  readonly origins: readonly number[];
}

const keyForms: readonly KeyForm[] = ['text', 'tuple', 'object', 'number'];

export interface SpecOptions {
  /** One split, parallelism 1, nothing that depends on the clock: the committed parts are equal byte for byte. */
  readonly isPlain: boolean;
}

export function randomSpec(seed: number, options: SpecOptions): JobSpec {
  const random = seededRandom(seed).fork('spec');
  const mode: Mode = random.chance(0.8) || options.isPlain ? 'EXACTLY_ONCE' : random.chance(0.5) ? 'AT_LEAST_ONCE' : 'AT_MOST_ONCE';
  const draw = new Draw(random, mode, options);
  return {
    name: 'sim',
    nodes: draw.nodes(),
    checkpoints: checkpoints(random, mode),
    backend: random.pick(['memory', 'memory-in-line', 'fs', 'fs']),
    restarts: random.pick(['default', 'default', 'none', 'fixed', 'exponential', 'rate']),
    maxParallelism: random.pick([4, 7, 16, 128]),
    parallelism: options.isPlain ? [1] : Array.from({ length: 4 }, () => random.between(1, random.chance(0.8) ? 3 : 4)),
  };
}

function checkpoints(random: SeededRandom, mode: Mode): CheckpointSpec {
  const maxConcurrent = random.chance(0.6) ? 1 : random.between(2, 3);
  const timeoutMs = random.pick([300, 5_000, 600_000]);
  return {
    mode,
    intervalMs: random.pick([10, 20, 40, 80]),
    timeoutMs,
    minPauseMs: maxConcurrent === 1 && random.chance(0.3) ? random.between(1, 30) : 0,
    maxConcurrent,
    tolerableFailures: timeoutMs < 1_000 ? 1_000 : random.pick([0, 1, 3, 1_000, 1_000]),
    numRetained: random.pick([1, 1, 2, 4]),
    cleanup: random.chance(0.7) ? 'RETAIN_ON_CANCELLATION' : random.pick(['DELETE_ON_CANCELLATION', 'NO_EXTERNALIZED_CHECKPOINTS']),
    prefersCheckpoint: random.chance(0.2),
  };
}

class Draw {
  readonly #random: SeededRandom;
  readonly #mode: Mode;
  readonly #options: SpecOptions;
  readonly #nodes: Node[] = [];

  constructor(random: SeededRandom, mode: Mode, options: SpecOptions) {
    this.#random = random;
    this.#mode = mode;
    this.#options = options;
  }

  nodes(): readonly Node[] {
    const random = this.#random;
    const open: Stream[] = Array.from({ length: this.#options.isPlain ? 1 : random.pick([1, 1, 1, 2, 2, 3]) }, () => this.#source());
    const steps = random.between(1, 6);
    for (let i = 0; i < steps; i++) {
      const at = random.below(open.length);
      const [stream] = open.splice(at, 1);
      open.push(...this.#step(stream!, open));
    }
    for (const stream of open) this.#sink(stream);
    return this.#nodes;
  }

  #add(op: Op, inputs: readonly Input[], parallelism: number | undefined): Input {
    this.#nodes.push({ op, uid: `${op.kind}-${this.#nodes.length}`, inputs, parallelism });
    return { node: this.#nodes.length - 1, isSide: false };
  }

  #source(): Stream {
    const random = this.#random;
    const kind: SourceSpec['kind'] = random.pick(['scripted', 'scripted', 'scripted', 'files', 'collection', 'generate']);
    const id = `s${this.#nodes.length}`;
    const isSplit = (kind === 'scripted' || kind === 'files') && !this.#options.isPlain;
    const disorderMs = random.pick([0, 5, 50]);
    const splits = Array.from({ length: isSplit ? random.pick([1, 2, 3, 5]) : 1 }, (_, i) => script(random, `${id}.${i}`, disorderMs));
    const hasWatermarks = random.chance(0.75);
    // Collections and generators have one split: more subtasks would have nothing to do, which is worth a try too.
    const parallelism = random.chance(0.3) && !this.#options.isPlain ? random.between(1, 3) : undefined;
    const input = this.#add(
      { kind: 'source', source: { kind, splits, disorderMs, hasWatermarks, isEager: random.chance(0.8) } },
      [],
      parallelism,
    );
    const rows = splits.reduce((n, s) => n + s.rows.length, 0);
    return { input, isOrdered: true, isTimed: hasWatermarks, parallelism, rows, origins: [input.node] };
  }

  /** One operator after `stream`, or one that joins it with another open stream. */
  #step(stream: Stream, open: Stream[]): Stream[] {
    const random = this.#random;
    const choices: (() => Stream[])[] = [
      () => [this.#chain(stream, { kind: 'map', add: random.below(50), mayThrow: true }, stream.rows)],
      () => [this.#chain(stream, { kind: 'filter', modulus: random.between(2, 5) }, stream.rows)],
      () => [this.#chain(stream, { kind: 'flatMap' }, stream.rows)],
      () => [this.#chain(stream, { kind: 'witness' }, stream.rows)],
      () => this.#split(stream),
    ];
    if (!this.#options.isPlain)
      choices.push(
        () => [this.#spread(stream)],
        () => [this.#hold(stream)],
      );
    if (open.length > 0 && !this.#options.isPlain) choices.push(() => [this.#union(stream, open)]);
    if (this.#mode === 'EXACTLY_ONCE') choices.push(...this.#exact(stream, open));
    return random.pick(choices)();
  }

  /** Operators whose result changes when a record counts twice or never. */
  #exact(stream: Stream, open: Stream[]): (() => Stream[])[] {
    const random = this.#random;
    const key = random.pick(keyForms);
    const unordered = { isOrdered: false, isTimed: false };
    const choices: (() => Stream[])[] = [
      () => [{ ...this.#cut(stream, { kind: 'count', key }), ...unordered }],
      () => [{ ...this.#cut(stream, { kind: 'distinct', key, modulus: random.between(3, 40) }), ...unordered }],
    ];
    if (stream.isOrdered) {
      choices.push(
        () => [this.#cut(stream, { kind: 'running', key })],
        () => [this.#cut(stream, { kind: 'running', key })],
        () => [
          {
            ...this.#cut(stream, { kind: 'rolling', key, by: random.pick(['reduce', 'sum', 'min', 'max', 'minBy', 'maxBy', 'aggregate']) }),
            isTimed: false,
          },
        ],
      );
    }
    if (stream.isTimed) {
      const sizeMs = random.pick([20, 100, 700]);
      const isPinned = stream.isOrdered && random.chance(0.5);
      choices.push(
        () => [{ ...this.#cut(stream, { kind: 'buckets', key, sizeMs, isPinned }), isOrdered: isPinned }],
        () => [{ ...this.#cut(stream, { kind: 'window', key, by: random.pick(['count', 'sum', 'reduce']), sizeMs }), isOrdered: false }],
      );
    }
    if (this.#options.isPlain) return choices;
    choices.push(() => [{ ...this.#rules(stream, key), ...unordered }]);
    if (open.length > 0) {
      const by: Op = random.chance(0.5) ? { kind: 'sides', key } : { kind: 'pairs', key, modulus: 3 };
      choices.push(() => [{ ...this.#join(by, stream, open), ...unordered }]);
    }
    return choices;
  }

  #chain(stream: Stream, op: Op, rows: number): Stream {
    return { ...stream, input: this.#add(op, [stream.input], stream.parallelism), rows };
  }

  /** A keyed operator: its records come by hash, so its parallelism is its own affair. */
  #cut(stream: Stream, op: Op): Stream {
    const parallelism = this.#random.chance(0.3) && !this.#options.isPlain ? this.#random.between(1, 4) : undefined;
    return { ...stream, input: this.#add(op, [stream.input], parallelism), parallelism };
  }

  #split(stream: Stream): Stream[] {
    const main = this.#chain(stream, { kind: 'split', modulus: this.#random.between(2, 4) }, stream.rows);
    return [main, { ...main, input: { ...main.input, isSide: true } }];
  }

  #hold(stream: Stream): Stream {
    const isPinned = stream.isOrdered && this.#random.chance(0.6);
    const op: Op = { kind: 'hold', key: this.#random.pick(keyForms), holdMs: this.#random.pick([3, 30, 400]), isPinned };
    return { ...this.#cut(stream, op), isOrdered: isPinned, isTimed: false };
  }

  #spread(stream: Stream): Stream {
    const random = this.#random;
    const kinds: readonly Spread[] = [
      'rebalance',
      'shuffle',
      'rescale',
      'global',
      'custom',
      'forward',
      ...(stream.rows < 200 ? (['broadcast'] as const) : []),
    ];
    const how = random.pick(kinds);
    const isFixed = how === 'broadcast' || (how !== 'forward' && random.chance(0.5));
    const parallelism = isFixed ? random.between(1, 4) : how === 'forward' ? stream.parallelism : undefined;
    const input = this.#add({ kind: 'spread', how }, [stream.input], parallelism);
    const isOrdered = stream.isOrdered && (how === 'forward' || how === 'custom' || how === 'global');
    return { ...stream, input, isOrdered, parallelism, rows: how === 'broadcast' ? stream.rows * parallelism! : stream.rows };
  }

  #union(stream: Stream, open: Stream[]): Stream {
    const [other] = open.splice(this.#random.below(open.length), 1);
    // Two branches of one source hold rows of the same split, and nobody promises an order between branches.
    const isDisjoint = !other!.origins.some((o) => stream.origins.includes(o));
    const isOrdered = stream.isOrdered && other!.isOrdered && stream.parallelism === other!.parallelism && isDisjoint;
    // The map behind a union is where both streams arrive; with another parallelism on either side, records are dealt out.
    const union = this.#add({ kind: 'union' }, [stream.input, other!.input], stream.parallelism);
    return {
      input: union,
      isOrdered,
      isTimed: stream.isTimed && other!.isTimed,
      parallelism: stream.parallelism,
      rows: stream.rows + other!.rows,
      origins: [...stream.origins, ...other!.origins],
    };
  }

  #join(wanted: Op, stream: Stream, open: Stream[]): Stream {
    const random = this.#random;
    const [other] = open.splice(random.below(open.length), 1);
    const product = Math.ceil((stream.rows * other!.rows) / 36);
    // Pairs of long streams would be most of the work of a whole simulation.
    const op: Op = wanted.kind === 'pairs' && product > 1_500 ? { kind: 'sides', key: wanted.key } : wanted;
    const rows = op.kind === 'pairs' ? product : stream.rows + other!.rows;
    const parallelism = random.chance(0.3) ? random.between(1, 4) : undefined;
    const input = this.#add(op, [stream.input, other!.input], parallelism);
    return { input, isOrdered: false, isTimed: false, parallelism, rows, origins: [...stream.origins, ...other!.origins] };
  }

  #rules(stream: Stream, key: KeyForm): Stream {
    const random = this.#random;
    const script: SplitScript = {
      id: `rules${this.#nodes.length}`,
      rows: keyedRows(random, `r${this.#nodes.length}`, random.between(1, 8), 0),
      pauses: { 1: random.skewed(60), 3: random.skewed(60) },
    };
    const source: SourceSpec = { kind: 'scripted', splits: [script], disorderMs: 0, hasWatermarks: false, isEager: true };
    const rules = this.#add({ kind: 'source', source }, [], 1);
    const parallelism = random.between(1, 4);
    const input = this.#add({ kind: 'rules', key }, [stream.input, rules], parallelism);
    return { ...stream, input, parallelism, rows: stream.rows + parallelism * script.rows.length };
  }

  #sink(stream: Stream): void {
    const random = this.#random;
    const sink: SinkKind = this.#options.isPlain ? 'files' : random.pick(['files', 'files', 'two-phase', 'contract']);
    let last = stream;
    if (!this.#options.isPlain && random.chance(0.12))
      last = {
        ...this.#chain(last, { kind: 'delay', rows: random.between(1, 4), form: random.pick(['checkpointed', 'list']) }, stream.rows),
        isOrdered: false,
      };
    // Sinks have the job's parallelism: records of a stream with another one are dealt out, so order is gone, the multiset is not.
    this.#add(
      { kind: 'sink', sink, rollBytes: random.chance(0.3) ? 400 : undefined, isOrdered: last.isOrdered && last.parallelism === undefined },
      [last.input],
      last.parallelism,
    );
  }
}

function script(random: SeededRandom, id: string, disorderMs: number): SplitScript {
  const count = random.chance(0.1) ? 0 : random.chance(0.1) ? random.between(1_000, 2_500) : random.between(1, 120);
  const pauses: Record<number, number> = {};
  let at = 0;
  // Rows come in bursts, over some hundred ms in all.
  for (let bursts = 0; at < count && bursts < 25; bursts++) {
    pauses[at] = random.skewed(40);
    at += random.skewed(Math.max(4, Math.ceil(count / 6)));
  }
  return { id, rows: keyedRows(random, id, count, disorderMs), pauses };
}

function keyedRows(random: SeededRandom, split: string, count: number, disorderMs: number): readonly Row[] {
  return rowsOf(random, split, count, random.pick([1, 4, 12]), disorderMs);
}
