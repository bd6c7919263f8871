// A source that can be read again, as replays read it, beside the feed that hands its records to environments as events. Both are strict: a position
// is only what they gave themselves, and a record that has not arrived yet is seen by neither.

import type { Source, SourceOutput, Split, SplitEvolution, SplitPosition, SplitReader } from '../../lib/api/source.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import type { JobSpec, Row, SourceSpec, SplitScript } from '../simulation/spec.ts';

/** How much of each split there is by now. */
export interface Arrivals {
  /** Records that have arrived. */
  arrived(split: SplitScript): number;
  /** Nothing will come after what has arrived. */
  hasEnded(split: SplitScript): boolean;
  /** How far a source that evolves has come: rows and changes before this place have happened. */
  placeOf(spec: SourceSpec): number;
}

/** Sources of a job, by the stages that they lie in. */
export function sourcesOf({ stages }: Plan, { nodes }: JobSpec): readonly { readonly stage: number; readonly source: SourceSpec }[] {
  return stages.flatMap(({ id, operators }) => {
    const op = nodes.find(({ uid }) => uid === operators[0]!.uid)?.op;
    return op?.kind === 'source' ? [{ stage: id, source: op.source }] : [];
  });
}

export function positionAfter(split: SplitScript, count: number): SplitPosition {
  return { index: count, at: { row: count, before: split.rows[count - 1]?.id } };
}

export function enumerated(spec: SourceSpec): readonly Split[] {
  return spec.splits.slice(0, spec.evolution?.initial).map((s) => splitOf(spec, s.id));
}

function splitOf({ splits, evolution }: SourceSpec, id: string): Split {
  const mark = splits.find((s) => s.id === id)!.rows.length;
  return evolution === undefined ? { id, mark } : { id, mark, range: evolution.ranges[id] };
}

/** Whether a shard has given way to others by now. */
export function isClosed({ evolution }: SourceSpec, id: string, place: number): boolean {
  return evolution!.changes.some((c) => c.place < place && c.parents.includes(id));
}

function evolutionOf(spec: SourceSpec, arrivals: Arrivals, process: SimulatedProcess): SplitEvolution {
  const { changes, length } = spec.evolution!;
  return {
    changes: () =>
      process.call('source.changes', '', () => {
        const known = changes.filter(({ place }) => place < arrivals.placeOf(spec));
        return known.map(({ parents, children }) => ({ parents, children: children.map((id) => splitOf(spec, id)) }));
      }),
    endOf: ({ id }) =>
      process.call('source.endOf', id, () => {
        const script = spec.splits.find((s) => s.id === id)!;
        const place = arrivals.placeOf(spec);
        const isOver = isClosed(spec, id, place) || (place >= length && arrivals.hasEnded(script));
        return isOver ? positionAfter(script, script.rows.length) : undefined;
      }),
  };
}

export function rereadableSource(spec: SourceSpec, arrivals: Arrivals, process: SimulatedProcess): Source<Row> {
  const scripts = new Map(spec.splits.map((s) => [s.id, s]));
  return {
    kind: 'scripted',
    isRereadable: true,
    isBounded: true,
    isEager: true,
    enumerate: () => process.call('source.enumerate', '', () => enumerated(spec)),
    open: (split, from) => {
      const script = scripts.get(split.id);
      if (script === undefined || split.mark !== script.rows.length) throw new Error(`split ${JSON.stringify(split)} came back changed`);
      return new Reader(script, from, arrivals, process);
    },
    ...(spec.evolution === undefined ? {} : { evolution: evolutionOf(spec, arrivals, process) }),
  };
}

class Reader implements SplitReader<Row> {
  readonly #script: SplitScript;
  readonly #arrivals: Arrivals;
  readonly #process: SimulatedProcess;
  #next: number;
  #loaded: number;
  #hasEnded = false;
  #loading: Promise<void> | undefined;

  constructor(script: SplitScript, from: SplitPosition | undefined, arrivals: Arrivals, process: SimulatedProcess) {
    this.#script = script;
    this.#arrivals = arrivals;
    this.#process = process;
    this.#next = from?.index ?? 0;
    this.#loaded = this.#next;
    if (from !== undefined && JSON.stringify(from.at) !== JSON.stringify(positionAfter(script, from.index).at))
      throw new Error(`position ${JSON.stringify(from)} came back changed`);
  }

  get hasEnded(): boolean {
    return this.#hasEnded && this.#next >= this.#loaded;
  }

  poll(out: SourceOutput<Row>, max: number): number {
    const n = Math.min(max, this.#loaded - this.#next);
    for (let i = 0; i < n; i++) out.values[out.count++] = this.#script.rows[this.#next++];
    return n;
  }

  ready(): Promise<void> | undefined {
    if (this.hasEnded || this.#next < this.#loaded) return undefined;
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      // A read gives some of what there is; nothing when there is nothing new.
      const { to, isEnd } = await this.#process.call('source.read', this.#script.id, () => {
        const arrived = this.#arrivals.arrived(this.#script);
        return { to: arrived, isEnd: arrived === this.#script.rows.length && this.#arrivals.hasEnded(this.#script) };
      });
      this.#loaded = Math.max(this.#loaded, to);
      this.#hasEnded = isEnd;
    } finally {
      this.#loading = undefined;
    }
  }

  position(): SplitPosition {
    return positionAfter(this.#script, this.#next);
  }

  close(): void {}
}
