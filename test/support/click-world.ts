// A world that counts clicks: the job of most cases.

import { acknowledgementName } from '../../lib/invocation/job-item.ts';
import { type Click, type ClickJobOptions, clickJob, clicksOf, countsOf, type ScriptedSource, scriptedSource } from './case-jobs.ts';
import type { CallInfo, Fate } from './case-process.ts';
import { type CaseTarget, newTarget, type SinkKind } from './case-targets.ts';
import { CaseWorld, type CaseWorldOptions } from './case-world.ts';

export interface ClickWorldOptions extends Partial<Omit<ClickJobOptions, 'target' | 'source'>>, Omit<CaseWorldOptions, 'job' | 'target'> {
  readonly sink: SinkKind;
  /** By split; one split of 8 clicks when absent. */
  readonly clicks?: readonly (readonly Click[])[];
  /** More may come, until the test says that no more do. */
  readonly isOpen?: boolean;
}

export class ClickWorld extends CaseWorld {
  readonly target: CaseTarget;
  readonly input: ScriptedSource<Click>;
  readonly isTransactional: boolean;

  constructor(o: ClickWorldOptions) {
    const target = newTarget(o.sink);
    const input = scriptedSource((o.clicks ?? [clicksOf(8)]).map((split) => [...split]));
    if (o.isOpen !== true) input.end();
    super({ ...o, job: clickJob({ ...o, target, source: input.source }), target });
    this.target = target;
    this.input = input;
    this.isTransactional = target.isTransactional;
  }

  get clicks(): readonly Click[] {
    return this.input.splits.flat();
  }

  /** Outputs are those of a run without faults. */
  checkCounts(): void {
    this.check(countsOf(this.clicks));
  }

  /** No more clicks come; the job goes on to its end. */
  async end(): Promise<void> {
    this.input.end();
    await this.finish();
  }
}

export const isCoordinator = (name: string): boolean => /\.c\d+$/.test(name);

/** While a checkpoint is open its acknowledgements get lost, so it is given up by time. */
export const unacknowledged =
  (checkpoint: number, subtask = '') =>
  ({ method, place }: CallInfo, world: CaseWorld): Fate => {
    const isOfIt = method === 'items.put' && place.startsWith(acknowledgementName(checkpoint, subtask));
    return isOfIt && world.open.includes(checkpoint) ? 'refuse' : 'go';
  };
