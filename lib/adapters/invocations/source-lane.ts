// Reads the splits of one source subtask, one after the other, and delivers them: the local event source mapping.
//   L1  The next event is delivered only after every record of this one was answered as committed. Until then it is delivered again, so that two
//       environments may hold it.
//   L2  How far it got is noted now and then. A restart delivers again from there; the subtask drops what it knows.
//   L3  It never seeks back. What a restore undid is read again by the control invocation `replay`, and until then the subtask refuses.

import type { Source, SourceContext, Split } from '../../api/source.ts';
import type { Answer, EventRecord, Invocation } from '../../invocation/invocation.ts';
import type { Backoff } from './backoff.ts';
import type { MappingProgress } from './mapping-progress.ts';
import { markBehind, SplitFeed } from './split-feed.ts';
import { Unanswered } from './worker-pool.ts';

export interface LaneSplit {
  readonly ordinal: number;
  readonly split: Split;
}

export interface SourceLaneOptions {
  readonly subtask: string;
  readonly source: Source<unknown>;
  readonly context: SourceContext;
  readonly splits: readonly LaneSplit[];
  readonly recordsMax: number;
  readonly progress: MappingProgress;
  /** One try; rejects with `Unanswered` when nobody knows. */
  readonly deliver: (invocation: Invocation) => Promise<Answer>;
  readonly backoff: () => Backoff;
  readonly counted: (records: number) => void;
  /** Waits while the job stands still; `false`: the run is over. */
  readonly mayGoOn: () => Promise<boolean>;
  readonly stopped: Promise<void>;
}

export class SourceLane {
  readonly #o: SourceLaneOptions;
  #isStopped = false;
  /** Before the first delivery nobody here knows what became of the one before. */
  #hasDelivered = false;

  constructor(o: SourceLaneOptions) {
    this.#o = o;
    void o.stopped.then(() => {
      this.#isStopped = true;
    });
  }

  /** Resolves when every split has been delivered to its end, or the run is over. Rejects with what the source throws. */
  async run(): Promise<void> {
    for (const split of this.#o.splits) {
      if (this.#isStopped) return;
      await this.#runSplit(split);
    }
  }

  async #runSplit({ ordinal, split }: LaneSplit): Promise<void> {
    const { source, context, recordsMax, progress, subtask, stopped } = this.#o;
    let mark = await progress.read(subtask, ordinal);
    if (mark.hasEnded) {
      // A replay may have undone the end without meeting it again; the subtask drops it if not.
      await this.#deliver(ordinal, [], true);
      return;
    }
    const feed = new SplitFeed({ source, context, split, from: mark, recordsMax });
    try {
      while (!this.#isStopped) {
        const event = await Promise.race([feed.next(), stopped]);
        if (event === undefined || !(await this.#deliver(ordinal, event.records, event.isLast))) return;
        mark = markBehind(mark, event);
        await progress.note(subtask, ordinal, mark);
      }
    } finally {
      await feed.close();
    }
  }

  /** @returns false when the run is over before all of it is committed */
  async #deliver(ordinal: number, all: readonly EventRecord[], isLast: boolean): Promise<boolean> {
    const { subtask, deliver, backoff, counted, mayGoOn } = this.#o;
    let records = all;
    let isAgain = this.#hasDelivered ? false : undefined;
    this.#hasDelivered = true;
    const tries = backoff();
    while (!this.#isStopped) {
      if (!(await mayGoOn())) return false;
      const answer = await answerOf(deliver({ kind: 'records', subtask, split: ordinal, records, isLast, isAgain }), tries);
      isAgain = true;
      if (answer === undefined) continue;
      if (answer.kind === 'done') {
        counted(records.length);
        return true;
      }
      const count = answer.kind === 'partial' ? answer.count : 0;
      counted(count);
      records = records.slice(count);
      if (count > 0) tries.reset();
      await tries.wait();
    }
    return false;
  }
}

/** @returns `undefined` when it is not known, or something went wrong that another try may not meet */
export async function answerOf(delivery: Promise<Answer>, tries: Backoff): Promise<Answer | undefined> {
  try {
    return await delivery;
  } catch (error) {
    if (!(error instanceof Unanswered)) tries.failed(error);
    await tries.wait();
    return undefined;
  }
}
