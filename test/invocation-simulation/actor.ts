// What everybody is given who acts in a world, and how long anybody waits for what a process was asked to do.

import { isSluiceError } from '../../lib/index.ts';
import type { SeededRandom, SimulatedProcess, World } from '../../lib/testing/index.ts';
import type { Chaos } from './chaos.ts';
import type { Counts } from './counts.ts';
import { type Fleet, pause } from './fleet.ts';

export interface ActorOptions {
  readonly world: World;
  readonly fleet: Fleet;
  readonly chaos: Chaos;
  readonly counts: Counts;
  readonly random: SeededRandom;
  /** Nobody acts any more. */
  readonly isOver: () => boolean;
}

export interface AttemptOptions {
  readonly world: World;
  readonly process: SimulatedProcess;
  /** Afterwards nobody waits for it any more. */
  readonly waitMsMax: number;
  readonly onFailure: (error: unknown) => void;
}

/** @returns what it came to, as far as anybody waited */
export function attempt(work: Promise<unknown>, o: AttemptOptions): Promise<'done' | 'failed' | 'dead' | 'late'> {
  const done = work.then(
    () => 'done' as const,
    (error: unknown) => {
      o.onFailure(error);
      return 'failed' as const;
    },
  );
  const dead = o.process.becomes('dead').then(() => 'dead' as const);
  return Promise.race([done, dead, pause(o.world, o.waitMsMax).then(() => 'late' as const)]);
}

/** A request to a job that came too late, or too early, has done what it could. */
export async function ifInState(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!isSluiceError(error) || error.code !== 'JOB_NOT_IN_STATE') throw error;
  }
}
