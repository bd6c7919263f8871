// The sources of a run: a lane for each source subtask, and for inputs that cannot be read again a writer of the log beside it.
//   I1  What a source throws fails the reading, which begins again as the restart strategy of the job says, from where the subtask stands.
//   I2  Lanes follow the owners: where splits give way to others, the new subtasks get lanes, and those that own nothing any more lose theirs.

import type { Split } from '../../api/source.ts';
import { decideRestart, noFailures } from '../../checkpoint/decide/restart.ts';
import { isSluiceError } from '../../core/errors.ts';
import type { Clock, Random } from '../../core/ports.ts';
import type { Plan } from '../../graph/plan.ts';
import type { JobItem, Owner } from '../../invocation/job-item.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { readRing } from '../../invocation/ring.ts';
import type { RunEvent } from '../embedded/run-types.ts';
import { isFatalInput } from './backoff.ts';
import { InputLogWriter } from './input-log.ts';
import { type LoggedPlan, type SourceOfStage, sourcesOf } from './logged-plan.ts';
import { type LaneSplit, SourceLane, type SourceLaneOptions } from './source-lane.ts';

export interface InputsOptions extends Pick<SourceLaneOptions, 'recordsMax' | 'progress' | 'deliver' | 'backoff' | 'counted' | 'mayGoOn'> {
  /** The job's own. */
  readonly plan: Plan;
  readonly logged: LoggedPlan;
  readonly ports: InvocationPorts;
  readonly clock: Clock;
  readonly random: Random;
  readonly over: Promise<void>;
  readonly contextOf: (uid: string) => SourceLaneOptions['context'];
  readonly report: (event: RunEvent) => void;
  /** Every split has been delivered to its end. */
  readonly allRead: () => void;
  readonly failed: (error: unknown) => void;
}

interface Lane {
  stop(): void;
  hasEnded: boolean;
}

export class Inputs {
  readonly #o: InputsOptions;
  readonly #sources: readonly SourceOfStage[];
  /** By subtask. */
  readonly #lanes = new Map<string, Lane>();
  readonly #writing = new Set<string>();

  constructor(o: InputsOptions) {
    this.#o = o;
    this.#sources = sourcesOf(o.logged.plan);
  }

  /** Gives every owner of splits a lane. To be called with each job item that takes input. */
  follow(item: JobItem): void {
    const owned = new Set(item.owners.map(({ subtask }) => subtask));
    for (const [subtask, lane] of this.#lanes) {
      if (owned.has(subtask)) continue;
      lane.stop();
      this.#lanes.delete(subtask);
    }
    for (const owner of item.owners) {
      const source = this.#sources.find(({ stage }) => stage.id === owner.stage);
      if (source !== undefined && !this.#lanes.has(owner.subtask)) this.#begin(item, owner, source);
    }
  }

  #begin(item: JobItem, owner: Owner, source: SourceOfStage): void {
    const { over, failed, allRead } = this.#o;
    const stopping = Promise.withResolvers<void>();
    void over.then(() => stopping.resolve());
    const lane: Lane = { stop: () => stopping.resolve(), hasEnded: false };
    this.#lanes.set(owner.subtask, lane);
    this.#read(item, owner, source, stopping.promise).then(() => {
      lane.hasEnded = true;
      if ([...this.#lanes.values()].every(({ hasEnded }) => hasEnded)) allRead();
    }, failed);
  }

  async #read(item: JobItem, { subtask }: Owner, { uid, source }: SourceOfStage, stopped: Promise<void>): Promise<void> {
    const o = this.#o;
    const splits = await splitsOf(o.ports, item, subtask);
    const original = sourcesOf(o.plan).find((s) => s.uid === uid)!.source;
    if (!original.isRereadable) for (const { split } of splits) this.#write(uid, split);
    const lane = { ...o, subtask, source, context: o.contextOf(uid), splits, stopped };
    await withRestarts(o, stopped, () => new SourceLane(lane).run());
  }

  /** Reads a stream into its log. */
  #write(uid: string, split: Split): void {
    const { ports, clock, logged, plan, contextOf, over, failed } = this.#o;
    const name = `${uid}/${split.id}`;
    if (this.#writing.has(name)) return;
    this.#writing.add(name);
    const { source } = sourcesOf(plan).find((s) => s.uid === uid)!;
    const writer = new InputLogWriter({ objects: ports.objects, clock, uid }, split, logged.bells.get(uid));
    withRestarts(this.#o, over, () => writer.run(source, contextOf(uid), over)).catch(failed);
  }
}

/** The splits of a subtask, as its changelog has them. */
async function splitsOf(ports: InvocationPorts, item: JobItem, subtask: string): Promise<readonly LaneSplit[]> {
  const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
  if (view === undefined || view === 'closed') return [];
  const splits = view.head.splits.map(({ ordinal, split }) => ({ ordinal, split: split as Split }));
  return splits.sort((a, b) => a.ordinal - b.ordinal);
}

async function withRestarts(o: InputsOptions, stopped: Promise<void>, run: () => Promise<void>): Promise<void> {
  let history = noFailures;
  for (;;) {
    const startedMs = o.clock.now();
    try {
      await run();
      return;
    } catch (error) {
      const isFatal = isSluiceError(error) && isFatalInput(error);
      const facts = { strategy: o.plan.settings.restart, history, nowMs: o.clock.now(), startedMs, isFatal, bits: o.random.bits() };
      const decision = decideRestart(facts);
      if (decision.kind === 'fail') throw error;
      history = decision.history;
      o.report({ kind: 'restarting', attempt: history.restarts, delayMs: decision.delayMs, error });
      const sleep = o.clock.sleep(decision.delayMs);
      await Promise.race([sleep.done, stopped]);
      sleep.cancel();
    }
  }
}
