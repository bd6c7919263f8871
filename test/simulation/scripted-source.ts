// A source whose records come at scripted moments of virtual time. It is strict with its caller: a position is only what it handed out itself, and a
// split is opened at most once at a time by an attempt.

import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../lib/api/source.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import type { Row, SourceSpec, SplitScript } from './spec.ts';

export function scriptedSource(spec: SourceSpec, process: SimulatedProcess): Source<Row> {
  const scripts = new Map(spec.splits.map((s) => [s.id, s]));
  return {
    kind: 'scripted',
    isRereadable: true,
    isBounded: true,
    isEager: spec.isEager,
    enumerate: () => process.call('source.enumerate', '', () => spec.splits.map((s) => ({ id: s.id, mark: s.rows.length }))),
    open: (split, from, ctx) => new ScriptedReader(scriptOf(scripts, split), from, ctx, process),
  };
}

function scriptOf(scripts: ReadonlyMap<string, SplitScript>, split: Split): SplitScript {
  const script = scripts.get(split.id);
  if (script === undefined || split.mark !== script.rows.length) throw new Error(`split ${JSON.stringify(split)} came back changed`);
  return script;
}

class ScriptedReader implements SplitReader<Row> {
  readonly #script: SplitScript;
  readonly #ctx: SourceContext;
  readonly #process: SimulatedProcess;
  #next: number;
  /** Rows before this one have come. */
  #arrived: number;
  #arriving: Promise<void> | undefined;
  #sleeper: { cancel(): void } | undefined;
  #isClosed = false;

  constructor(script: SplitScript, from: SplitPosition | undefined, ctx: SourceContext, process: SimulatedProcess) {
    this.#script = script;
    this.#ctx = ctx;
    this.#process = process;
    this.#next = from === undefined ? 0 : from.index;
    if (from !== undefined && (from.at as { row?: unknown }).row !== from.index)
      throw new Error(`position ${JSON.stringify(from)} came back changed`);
    this.#arrived = this.#next;
  }

  get hasEnded(): boolean {
    return this.#next >= this.#script.rows.length;
  }

  poll(out: SourceOutput<Row>, max: number): number {
    if (this.#isClosed) throw new Error(`split ${this.#script.id} is polled after it was closed`);
    const n = Math.max(0, Math.min(max, this.#arrived - this.#next));
    for (let i = 0; i < n; i++) out.values[out.count++] = this.#script.rows[this.#next++];
    return n;
  }

  ready(): Promise<void> | undefined {
    if (this.hasEnded || this.#next < this.#arrived) return undefined;
    this.#arriving ??= this.#arrive();
    return this.#arriving;
  }

  async #arrive(): Promise<void> {
    const pause = this.#script.pauses[this.#arrived] ?? 0;
    if (pause > 0) {
      const sleeper = this.#ctx.clock.sleep(pause);
      this.#sleeper = sleeper;
      await sleeper.done;
    }
    // Loading can fail, as reading from a network can.
    await this.#process.call('source.load', this.#script.id, () => {});
    const { rows, pauses } = this.#script;
    do this.#arrived++;
    while (this.#arrived < rows.length && pauses[this.#arrived] === undefined);
    this.#arriving = undefined;
  }

  position(): SplitPosition {
    return { index: this.#next, at: { row: this.#next, before: this.#script.rows[this.#next - 1]?.id } };
  }

  close(): void {
    this.#isClosed = true;
    this.#sleeper?.cancel();
  }
}
