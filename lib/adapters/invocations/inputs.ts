// The sources of a run: a lane for each source subtask, and for inputs that cannot be read again a writer of the log beside it.
//   I1  What a source throws fails the reading, which begins again as the restart strategy of the job says, from where the subtask stands.

import type { RestartStrategy } from '../../api/restart-strategy.ts';
import type { Split } from '../../api/source.ts';
import { decideRestart, noFailures } from '../../checkpoint/decide/restart.ts';
import { isSluiceError } from '../../core/errors.ts';
import type { Clock, Random } from '../../core/ports.ts';
import type { Plan } from '../../graph/plan.ts';
import type { JobItem } from '../../invocation/job-item.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';
import { readRing } from '../../invocation/ring.ts';
import type { RunEvent } from '../embedded/run-types.ts';
import { isFatalInput } from './backoff.ts';
import { InputLogWriter } from './input-log.ts';
import { type LoggedPlan, sourcesOf } from './logged-plan.ts';
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
}

/** Reads all inputs; resolves when every split has been delivered to its end, or the run is over. */
export async function runInputs(o: InputsOptions, item: JobItem): Promise<void> {
  const work: Promise<void>[] = [];
  for (const { stage, uid, source } of sourcesOf(o.logged.plan)) {
    const original = sourcesOf(o.plan).find((s) => s.uid === uid)!.source;
    for (const owner of item.owners.filter((candidate) => candidate.stage === stage.id)) {
      const splits = await splitsOf(o.ports, item, owner.subtask);
      const lane = { ...o, subtask: owner.subtask, source, context: o.contextOf(uid), splits, stopped: o.over };
      work.push(withRestarts(o, () => new SourceLane(lane).run()));
      if (original.isRereadable) continue;
      const place = { objects: o.ports.objects, clock: o.clock, uid };
      for (const { split } of splits) {
        const writer = new InputLogWriter(place, split, o.logged.bells.get(uid));
        work.push(withRestarts(o, () => writer.run(original, o.contextOf(uid), o.over)));
      }
    }
  }
  await Promise.all(work);
}

/** The splits of a subtask, as its changelog has them. */
export async function splitsOf(ports: InvocationPorts, item: JobItem, subtask: string): Promise<readonly LaneSplit[]> {
  const view = await readRing(ports.changelog, { generation: item.generation, subtask }, item.ringSlots);
  if (view === undefined || view === 'closed') return [];
  const splits = view.head.splits.map(({ ordinal, split }) => ({ ordinal, split: split as Split }));
  return splits.sort((a, b) => a.ordinal - b.ordinal);
}

async function withRestarts(o: InputsOptions, run: () => Promise<void>): Promise<void> {
  const strategy: RestartStrategy = o.plan.settings.restart;
  let history = noFailures;
  for (;;) {
    const startedMs = o.clock.now();
    try {
      await run();
      return;
    } catch (error) {
      const isFatal = isSluiceError(error) && isFatalInput(error);
      const decision = decideRestart({ strategy, history, nowMs: o.clock.now(), startedMs, isFatal, bits: o.random.bits() });
      if (decision.kind === 'fail') throw error;
      history = decision.history;
      o.report({ kind: 'restarting', attempt: history.restarts, delayMs: decision.delayMs, error });
      const sleep = o.clock.sleep(decision.delayMs);
      await Promise.race([sleep.done, o.over]);
      sleep.cancel();
    }
  }
}
