// Accumulators that no worker is left to read. The functions that read them are named by code of the job: what it names when it opens is named again
// when it is opened again, here. What it names while it processes records stays unknown.

import type { Clock } from '../../core/ports.ts';
import type { JobItem, Owner } from '../../invocation/job-item.ts';
import { lookAt } from '../../invocation/unit/look.ts';
import { dropOperators, operatorsOf } from '../../invocation/unit/operators.ts';
import type { UnitServices } from '../../invocation/unit/services.ts';
import type { Ask } from './final-accumulators.ts';
import { WorkLog } from './work-log.ts';

export interface Reopening {
  readonly servicesOf: (observer: WorkLog) => UnitServices;
  readonly item: JobItem;
  readonly clock: Clock;
  /** User code that does not come back is not waited for longer than this. */
  readonly patienceMs: number;
}

/** One for each stage: all subtasks of a stage run the same code. */
export function askReopened({ servicesOf, item, clock, patienceMs }: Reopening): readonly Ask[] {
  const firsts = new Map<number, Owner>();
  for (const owner of item.owners) if (!firsts.has(owner.stage)) firsts.set(owner.stage, owner);
  return [...firsts.values()].map(({ subtask }): Ask => {
    return async (values) => {
      const log = new WorkLog();
      const sleep = clock.sleep(patienceMs);
      // What cannot be opened is told as what cannot be read.
      const read = readOpened(servicesOf(log), subtask, () => log.accumulated(values)).catch(() => []);
      return Promise.race([read, sleep.done.then(() => [])]).finally(() => sleep.cancel());
    };
  });
}

async function readOpened<T>(services: UnitServices, subtask: string, read: () => T): Promise<T> {
  const warm = await lookAt(services, subtask);
  try {
    await operatorsOf(warm, services);
    return read();
  } finally {
    await dropOperators(warm);
  }
}
