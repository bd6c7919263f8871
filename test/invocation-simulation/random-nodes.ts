// Draws the operators of a job, from its sources to its sinks.

import type { SeededRandom } from '../../lib/testing/index.ts';
import { rowsOf } from '../simulation/random-rows.ts';
import type { EvolutionScript, Input, KeyForm, Mode, Node, Op, SinkKind, SourceSpec, SplitScript } from '../simulation/spec.ts';
import { drawEvolution } from './evolution.ts';

/** What is known of a stream while the job is drawn; see L1 and L2 of the language. */
interface Stream {
  readonly input: Input;
  readonly isOrdered: boolean;
  readonly isTimed: boolean;
  /** Each row has one cause, whatever order the sources come in: its id stands for its content. */
  readonly isIdentified: boolean;
  readonly parallelism: number;
  readonly rows: number;
  readonly hops: number;
  /** Each shard of its source is a subtask of its own. */
  readonly isSharded?: boolean;
  /** A keyed operator lies before it in its stage, perhaps with timers: what a timer hands on is no record whose fault it could be. */
  readonly isKeyed?: boolean;
  /** Right behind a source that evolves: the key that it is partitioned by. */
  readonly partitionedBy?: Pick<EvolutionScript, 'key' | 'isPinned'> | undefined;
  /** Sources that it stems from. */
  readonly origins: readonly number[];
}

/** What these hold comes out with the final watermark only. */
export const endsWithTime: readonly Op['kind'][] = ['window', 'buckets', 'rules', 'hold'];
const keyForms: readonly KeyForm[] = ['text', 'tuple', 'object', 'number'];

export function randomNodes(random: SeededRandom, mode: Mode): readonly Node[] {
  return new Draw(random, mode).nodes();
}

class Draw {
  readonly #random: SeededRandom;
  readonly #mode: Mode;
  readonly #nodes: Node[] = [];
  readonly #keys: number;
  readonly #rowsMax: number;
  /** Each source is followed by a function that may throw. */
  readonly #isGuarded: boolean;
  /** How likely a source evolves. */
  readonly #evolving: number;

  constructor(random: SeededRandom, mode: Mode) {
    this.#random = random;
    this.#mode = mode;
    this.#keys = random.pick([1, 2, 3, 4]);
    this.#rowsMax = random.pick([6, 10, 14]);
    this.#isGuarded = random.chance(0.3);
    this.#evolving = random.pick([0, 0, 0.5, 1]);
  }

  nodes(): readonly Node[] {
    const random = this.#random;
    let open: Stream[] = Array.from({ length: random.pick([1, 2, 2, 3]) }, () => this.#source());
    for (let i = random.pick([0, 0, 1, 1, 2]); i > 0; i--) open = this.#shortStep(open);
    for (let i = random.pick([0, 1, 1, 1, 2, 2]); i > 0; i--) open = this.#hop(open);
    open.forEach((stream, i) => {
      this.#sinks(stream, i === 0);
    });
    return this.#nodes;
  }

  #add(op: Op, inputs: readonly Input[], parallelism: number): Input {
    this.#nodes.push({ op, uid: `${op.kind}-${this.#nodes.length}`, inputs, parallelism });
    return { node: this.#nodes.length - 1, isSide: false };
  }

  #source(): Stream {
    const random = this.#random;
    const id = `s${this.#nodes.length}`;
    const disorderMs = random.pick([0, 5]);
    if (this.#mode === 'EXACTLY_ONCE' && random.chance(this.#evolving)) return this.#evolvingSource(id, disorderMs);
    const splits = Array.from({ length: random.pick([1, 1, 2]) }, (_, i): SplitScript => {
      const count = random.chance(0.05) ? 0 : random.between(1, this.#rowsMax);
      return { id: `${id}.${i}`, rows: rowsOf(random, `${id}.${i}`, count, this.#keys, disorderMs), pauses: {} };
    });
    const hasWatermarks = random.chance(0.7);
    const source: SourceSpec = { kind: 'scripted', splits, disorderMs, hasWatermarks, isEager: true };
    const parallelism = random.between(1, splits.length);
    const input = this.#add({ kind: 'source', source }, [], parallelism);
    const rows = splits.reduce((n, s) => n + s.rows.length, 0);
    const stream = {
      input,
      isOrdered: true,
      isTimed: hasWatermarks,
      isIdentified: true,
      parallelism,
      rows,
      hops: 0,
      origins: [input.node],
    };
    return this.#isGuarded ? this.#chain(stream, { kind: 'map', add: 0, mayThrow: true }) : stream;
  }

  #evolvingSource(id: string, disorderMs: number): Stream {
    const random = this.#random;
    const count = random.between(4, 2 * this.#rowsMax);
    const partitionedBy = { key: random.pick(keyForms), isPinned: random.chance(0.6) };
    const rows = rowsOf(random, id, count, random.pick([this.#keys, 4, 6]), disorderMs);
    const { splits, evolution } = drawEvolution(random, { id, rows, ...partitionedBy, changes: random.pick([0.1, 0.2, 0.3]) });
    const hasWatermarks = random.chance(0.7);
    const source: SourceSpec = { kind: 'scripted', splits, disorderMs, hasWatermarks, isEager: true, evolution };
    const parallelism = random.between(1, 3);
    const input = this.#add({ kind: 'source', source }, [], parallelism);
    const known = { isOrdered: true, isTimed: hasWatermarks, isIdentified: true, parallelism, rows: count, hops: 0, origins: [input.node] };
    const stream: Stream = { input, ...known, partitionedBy, isSharded: true };
    if (random.chance(0.75)) return this.#keyed(stream);
    return this.#isGuarded ? this.#chain(stream, { kind: 'map', add: 0, mayThrow: true }) : stream;
  }

  /** Something in front of the first exchange, or two sources that become one stream. */
  #shortStep(open: readonly Stream[]): Stream[] {
    const random = this.#random;
    const [stream, ...others] = random.shuffled(open);
    const [other, ...rest] = others;
    if (other !== undefined && other.parallelism === stream!.parallelism && random.chance(0.2))
      return [...rest, this.#union(stream!, other)];
    const choices: (() => Stream[])[] = [
      () => [this.#chain(stream!, { kind: 'map', add: random.below(50), mayThrow: stream!.isKeyed !== true })],
      () => [this.#chain(stream!, { kind: 'filter', modulus: random.between(2, 5) })],
      () => [this.#chain(stream!, { kind: 'flatMap' })],
      () => {
        const main = this.#chain(stream!, { kind: 'split', modulus: random.between(2, 3) });
        return [main, { ...main, input: { ...main.input, isSide: true } }];
      },
    ];
    return [...others, ...random.pick(choices)()];
  }

  #chain(stream: Stream, op: Op): Stream {
    const partitionedBy = op.kind === 'filter' ? stream.partitionedBy : undefined;
    return { ...stream, partitionedBy, input: this.#add(op, [stream.input], stream.parallelism) };
  }

  #union(a: Stream, b: Stream): Stream {
    const input = this.#add({ kind: 'union' }, [a.input, b.input], a.parallelism);
    const isIdentified = a.isIdentified && b.isIdentified;
    const isOrdered = a.parallelism === 1 || !(a.isSharded === true || b.isSharded === true);
    return {
      ...a,
      partitionedBy: undefined,
      isSharded: false,
      input,
      // Where keys do not decide, a shard and the one that follows it go different ways. Two ways from one source may overtake each other, and so do records that are dealt out.
      isOrdered:
        isOrdered && a.isOrdered && b.isOrdered && a.parallelism === b.parallelism && !a.origins.some((o) => b.origins.includes(o)),
      isTimed: a.isTimed && b.isTimed,
      isIdentified,
      rows: a.rows + b.rows,
      origins: [...a.origins, ...b.origins],
    };
  }

  /** A stage behind an exchange. Most jobs bring all their sources together in it: that is where alignments are. */
  #hop(open: readonly Stream[]): Stream[] {
    const random = this.#random;
    const [first, ...others] = random.shuffled(open);
    let stream = first!;
    let rest = others;
    if (rest.length > 0 && random.chance(0.75)) {
      if (this.#mode === 'EXACTLY_ONCE' && random.chance(0.3)) return [...rest.slice(1), this.#join(stream, rest[0]!)];
      for (const other of rest) stream = this.#union(stream, other);
      rest = [];
    }
    return [...rest, this.#keyed(stream)];
  }

  #keyed(stream: Stream): Stream {
    const random = this.#random;
    if (stream.partitionedBy !== undefined && random.chance(0.8)) return this.#keyedInPlace(stream, stream.partitionedBy);
    const key = random.pick(keyForms);
    const to = {
      parallelism: random.pick([1, 2, 2, 3]),
      hops: stream.hops + 1,
      partitionedBy: undefined,
      isSharded: false,
    };
    const cut = (op: Op, more: Partial<Stream> = {}): Stream => ({
      ...stream,
      ...to,
      isKeyed: endsWithTime.includes(op.kind),
      input: this.#add(op, [stream.input], to.parallelism),
      ...more,
    });
    const loose = { isOrdered: false, isTimed: false, isIdentified: false };
    const pinned = stream.isOrdered && random.chance(0.7);
    if (this.#mode !== 'EXACTLY_ONCE') return cut({ kind: 'hold', key, holdMs: random.pick([3, 30, 400]), isPinned: pinned }, loose);
    const choices: (() => Stream)[] = [
      () => cut({ kind: 'count', key }, { ...loose, isIdentified: stream.isIdentified }),
      () => cut({ kind: 'distinct', key, modulus: random.between(3, 40) }, loose),
      () => cut({ kind: 'hold', key, holdMs: random.pick([3, 30, 400]), isPinned: pinned }, { ...loose, isOrdered: pinned }),
      () => this.#rules(stream, key, to.parallelism),
    ];
    if (stream.isOrdered) {
      const running = (): Stream => cut({ kind: 'running', key });
      choices.push(running, running, running, () =>
        cut({ kind: 'rolling', key, by: random.pick(['reduce', 'sum', 'maxBy', 'aggregate']) }, { isTimed: false }),
      );
    }
    if (stream.isTimed) {
      const sizeMs = random.pick([10, 30]);
      choices.push(
        () => cut({ kind: 'buckets', key, sizeMs, isPinned: pinned }, { isOrdered: pinned }),
        () => cut({ kind: 'window', key, by: random.pick(['count', 'sum', 'reduce']), sizeMs }, { isOrdered: false }),
      );
    }
    return random.pick(choices)();
  }

  /** A keyed operator in the stage of its source. */
  #keyedInPlace(stream: Stream, { key, isPinned }: Pick<EvolutionScript, 'key' | 'isPinned'>): Stream {
    const random = this.#random;
    const cut = (op: Op, more: Partial<Stream> = {}): Stream => ({
      ...stream,
      partitionedBy: undefined,
      isKeyed: true,
      input: this.#add(op, [stream.input], stream.parallelism),
      ...more,
    });
    const loose = { isOrdered: false, isTimed: false, isIdentified: false };
    const hold = (): Stream => cut({ kind: 'hold', key, holdMs: random.pick([3, 30, 400]), isPinned }, { ...loose, isOrdered: isPinned });
    const choices: (() => Stream)[] = [hold];
    if (isPinned)
      choices.push(
        () => cut({ kind: 'running', key }),
        () => cut({ kind: 'running', key }),
        () => cut({ kind: 'rolling', key, by: random.pick(['reduce', 'sum', 'maxBy', 'aggregate']) }, { isTimed: false }),
      );
    else
      choices.push(
        () => cut({ kind: 'count', key }, { ...loose, isIdentified: stream.isIdentified }),
        () => cut({ kind: 'distinct', key, modulus: random.between(3, 40) }, loose),
      );
    if (stream.isTimed) {
      const sizeMs = random.pick([10, 30]);
      choices.push(() => cut({ kind: 'buckets', key, sizeMs, isPinned }, { isOrdered: isPinned }));
      if (!isPinned)
        choices.push(() => cut({ kind: 'window', key, by: random.pick(['count', 'sum', 'reduce']), sizeMs }, { isOrdered: false }));
    }
    return random.pick(choices)();
  }

  #join(a: Stream, b: Stream): Stream {
    const random = this.#random;
    const op: Op = random.chance(0.5)
      ? { kind: 'sides', key: random.pick(keyForms) }
      : { kind: 'pairs', key: random.pick(keyForms), modulus: 3 };
    const parallelism = random.pick([1, 2, 3]);
    const input = this.#add(op, [a.input, b.input], parallelism);
    return {
      input,
      isOrdered: false,
      isTimed: false,
      isIdentified: false,
      parallelism,
      rows: a.rows + b.rows,
      hops: Math.max(a.hops, b.hops) + 1,
      origins: [...a.origins, ...b.origins],
    };
  }

  #rules(stream: Stream, key: KeyForm, parallelism: number): Stream {
    const random = this.#random;
    const id = `s${this.#nodes.length}`;
    const split: SplitScript = { id: `${id}.0`, rows: rowsOf(random, `${id}.0`, random.between(1, 4), 1, 0), pauses: {} };
    const source: SourceSpec = { kind: 'scripted', splits: [split], disorderMs: 0, hasWatermarks: false, isEager: true };
    const rules = this.#add({ kind: 'source', source }, [], 1);
    const input = this.#add({ kind: 'rules', key }, [stream.input, rules], parallelism);
    const rows = stream.rows + parallelism * split.rows.length;
    return {
      input,
      isOrdered: false,
      isTimed: false,
      isIdentified: false,
      isKeyed: true,
      parallelism,
      rows,
      hops: stream.hops + 1,
      origins: stream.origins,
    };
  }

  #sinks(stream: Stream, isFirst: boolean): void {
    const random = this.#random;
    let last = stream;
    if (random.chance(0.15)) {
      const op: Op = { kind: 'delay', rows: random.between(1, 3), form: random.pick(['checkpointed', 'list']) };
      last = { ...this.#chain(stream, op), isOrdered: false, isIdentified: false };
    }
    const kinds: readonly SinkKind[] = [
      'two-phase',
      'contract',
      'log',
      'append',
      ...(last.isOrdered && this.#mode === 'EXACTLY_ONCE' ? (['latest', 'latest'] as const) : []),
      ...(last.isIdentified ? (['upsert', 'upsert'] as const) : []),
    ];
    const chosen = [...new Set(random.shuffled(kinds))].slice(0, isFirst ? random.pick([1, 2, 2]) : 1);
    for (const sink of chosen) {
      this.#add({ kind: 'sink', sink, rollBytes: undefined, isOrdered: last.isOrdered }, [last.input], last.parallelism);
    }
  }
}
