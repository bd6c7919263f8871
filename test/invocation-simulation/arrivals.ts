// How much of its input a job could have read by now.

import type { World } from '../../lib/testing/index.ts';
import type { SourceSpec } from '../simulation/spec.ts';
import type { Chaos } from './chaos.ts';
import type { Drawn } from './draw.ts';
import type { Arrivals } from './source.ts';

export const allArrived: Arrivals = {
  arrived: ({ rows }) => rows.length,
  hasEnded: () => true,
  placeOf: () => Number.POSITIVE_INFINITY,
};

/** Input comes over the faulty part of a world, each split at its pace; all of it is there when the last fault is over. */
export function gradualArrivals(
  { setting, haste, faultySteps }: Pick<Drawn, 'setting' | 'haste' | 'faultySteps'>,
  { world, chaos }: { readonly world: World; readonly chaos: Chaos },
): Arrivals {
  const sources = setting.spec.nodes.flatMap(({ op }): readonly SourceSpec[] => (op.kind === 'source' ? [op.source] : []));
  /** How much of a split has come; more than 1 when all of it has. */
  const part = (split: string): number => (world.steps / faultySteps) * haste.get(split)!;
  const placeOf = ({ splits, evolution }: SourceSpec): number =>
    chaos.isQuiet ? Number.POSITIVE_INFINITY : Math.floor(evolution!.length * part(splits[0]!.id));
  return {
    arrived: (split) => {
      const { id, rows, places } = split;
      if (chaos.isQuiet) return rows.length;
      const source = places === undefined ? undefined : sources.find(({ splits }) => splits.includes(split));
      if (places === undefined || source === undefined) return Math.min(rows.length, Math.floor(rows.length * part(id)));
      const place = placeOf(source);
      return places.filter((at) => at < place).length;
    },
    hasEnded: () => setting.isFinite,
    placeOf,
  };
}
