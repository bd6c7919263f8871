// An invocation world whose source is lines, good and malformed, that are counted as they are read, and delivered by what cuts events where a job runs on
// one machine. Events come again from any place at which an older one ended.

import { markBehind, SplitFeed, type SplitMark, unreadSplit } from '../../lib/adapters/invocations/split-feed.ts';
import type { OutputTag } from '../../lib/api/functions.ts';
import type { Source, SourceContext, SplitPosition, SplitReader } from '../../lib/api/source.ts';
import type { MalformedRecord } from '../../lib/index.ts';
import { pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { InvocationWorld, type InvocationWorldOptions } from './invocation-world.ts';

const split = { id: 'all' };

/** Good lines are JSON. A reader goes on behind the last line for ever. */
export function linesSource<T>(lines: readonly string[], malformed: OutputTag<MalformedRecord>): Source<T> {
  const open = (from: SplitPosition | undefined): SplitReader<T> => {
    let index = from?.index ?? 0;
    let next = (from?.at as number | undefined) ?? 0;
    return {
      poll: (out, max) => {
        const before = out.count;
        for (; next < lines.length && out.count - before < max; next++) {
          const text = lines[next]!;
          if (text.startsWith('{')) out.values[out.count++] = JSON.parse(text) as T;
          else out.side(malformed, { file: 'lines', line: next + 1, text, reason: 'not JSON' });
        }
        index += out.count - before;
        return out.count - before;
      },
      ready: () => (next < lines.length ? undefined : Promise.resolve()),
      hasEnded: false,
      position: () => ({ index, at: next }),
      close: () => undefined,
    };
  };
  return {
    ...{ kind: 'lines', isRereadable: true, isBounded: false, isEager: true },
    enumerate: async () => [split],
    open: (_, from) => open(from),
  };
}

export class LinesWorld extends InvocationWorld {
  readonly lines: string[];
  /** Where events ended that were answered as done, in order. */
  readonly marks: SplitMark[] = [unreadSplit];
  replayRecordsMax = 1_000;

  constructor(o: InvocationWorldOptions & { readonly lines: string[] }) {
    super(o);
    this.lines = o.lines;
  }

  override async pulse(): Promise<void> {
    this.now += 1_000;
    const { ports, plan, clock, random, settler, replayRecordsMax } = this;
    await pulse({ ports, plan, settler, clock, random, replayRecordsMax, control: { invoke: (i) => this.invoke(i) }, ticks: () => true });
  }

  /** Delivers an event that begins at a mark. @returns whether there was something, and all of it was taken */
  async deliver(from: number, recordsMax: number): Promise<boolean> {
    const mark = this.marks[from]!;
    if (endOf(mark) >= this.lines.length) return false;
    const feed = new SplitFeed({ source: this.sourceOf(0)!, context: {} as SourceContext, split, from: mark, recordsMax });
    const event = (await feed.next())!;
    await feed.close();
    const answer = await this.invoke({ kind: 'records', subtask: '0-0', split: 0, ...event });
    if (answer.kind !== 'done') return false;
    const next = markBehind(mark, event);
    if (endOf(next) > endOf(this.marks.at(-1)!)) this.marks.push(next);
    return true;
  }

  override feed(): Promise<boolean> {
    return this.deliver(this.marks.length - 1, 5);
  }
}

function endOf({ position }: SplitMark): number {
  return (position?.at as number | undefined) ?? 0;
}
