// What functions of users do besides their work: they throw and kill as the record says, now and then for no reason, and timers where a twist says so.

import type { SimulatedProcess, World } from '../../lib/testing/index.ts';
import type { Surroundings } from './build.ts';
import type { Chaos } from './chaos.ts';
import type { Counts } from './counts.ts';
import type { Drawn } from './draw.ts';
import type { Trouble } from './trouble.ts';

export type UserFunctions = Pick<Surroundings, 'throwsNow' | 'timerThrowsNow'>;

export const faultless: UserFunctions = { throwsNow: () => false };

export interface UserFunctionOptions {
  readonly world: World;
  readonly chaos: Chaos;
  readonly counts: Counts;
  readonly trouble: Trouble;
}

/** As they are in one process. */
export function faultyFunctions(
  process: SimulatedProcess,
  { throwRate, twist }: Pick<Drawn, 'throwRate' | 'twist'>,
  { world, chaos, counts, trouble }: UserFunctionOptions,
): UserFunctions {
  return {
    throwsNow: (row) => {
      if (row === undefined) return false;
      const fate = trouble.fateOf(row);
      if (fate === 'kills') {
        trouble.hasKilled(row);
        chaos.kill(process, world);
        return true;
      }
      if (fate === undefined && !chaos.happens(throwRate)) return false;
      trouble.hasThrown(row);
      return true;
    },
    timerThrowsNow: () => {
      if (twist?.name !== 'timers throw' || chaos.isQuiet || !twist.random.chance(0.8)) return false;
      counts.count('a timer throws');
      return true;
    },
  };
}
