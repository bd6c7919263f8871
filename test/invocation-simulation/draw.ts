// What a world is drawn as before anything happens in it. The order of draws is part of what a seed means: what is added comes behind the rest, or
// from a stream of its own.

import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import type { JobSpec } from '../simulation/spec.ts';
import { type AmbushPlan, drawAmbush, tamed, withPatience } from './ambush.ts';
import { drawRates, type Rates } from './chaos.ts';
import type { CoordinatorRates } from './coordinator.ts';
import type { FeedRates } from './feed.ts';
import { randomJob, type Setting } from './random-job.ts';
import { drawTwist, type Twist } from './twists.ts';

export interface Drawn {
  readonly seed: number;
  /** Whatever is drawn later comes from it too. */
  readonly random: SeededRandom;
  readonly setting: Setting;
  readonly twist: Twist | undefined;
  readonly ambush: AmbushPlan | undefined;
  readonly rates: Rates;
  /** After this an event is given up, ms. */
  readonly timeoutMs: number;
  /** A day passes then; never when infinite. */
  readonly dayAtStep: number;
  readonly flushBelowSlots: number;
  /** Steps in which things go wrong. */
  readonly faultySteps: number;
  /** How often a function throws for no reason of the record. */
  readonly throwRate: number;
  /** By id of a split: how much faster than the faulty part it arrives. */
  readonly haste: ReadonlyMap<string, number>;
  readonly seatsMax: number;
  readonly affinity: number;
  readonly coordinator: CoordinatorRates;
}

/** Where worlds of one kind differ from those of another. */
interface Ranges {
  readonly faultySteps: readonly number[];
  readonly flushBelowSlots: readonly number[];
  readonly lostBarrier: readonly number[];
}

const ofChance: Ranges = { faultySteps: [700, 1_200, 1_800, 4_000], flushBelowSlots: [0, 1, 3, 64], lostBarrier: [0, 0, 0.3, 0.8] };
/** Whoever waits in ambush misses something only where enough goes on meanwhile. */
const withAmbush: Ranges = { faultySteps: [1_800, 4_000], flushBelowSlots: [3, 64], lostBarrier: [0, 0, 0.1, 0.3] };
/** A twist has come about long before the longest of those would be over. */
const withTwist: Ranges = { ...withAmbush, faultySteps: [1_200, 1_800] };

export function drawWorld(seed: number): Drawn {
  const job = randomJob(seed);
  const twist = drawTwist(seed, job);
  const twisted = twist?.setting ?? job;
  const ambush = drawAmbush(seed, twisted);
  const setting = ambush === undefined ? twisted : withPatience(twisted);
  const ranges = ambush === undefined ? ofChance : twist === undefined ? withAmbush : withTwist;
  const random = seededRandom(seed).fork('scenario');
  const rates = drawRates(random);
  return {
    seed,
    random,
    setting,
    twist,
    ambush,
    rates: ambush === undefined ? rates : tamed(rates),
    timeoutMs: random.pick([200, 600, 2_000]),
    dayAtStep: random.chance(0.12) ? random.between(100, 700) : Number.POSITIVE_INFINITY,
    flushBelowSlots: random.pick(ranges.flushBelowSlots),
    faultySteps: random.pick(ranges.faultySteps),
    throwRate: random.pick([0, 0, 0.01, 0.04]),
    haste: drawHaste(setting.spec, random),
    seatsMax: random.pick([2, 3, 4, 6]),
    affinity: random.pick([0, 0.5, 0.95]),
    coordinator: drawCoordinator(random, ranges, twist),
  };
}

function drawHaste({ nodes }: JobSpec, random: SeededRandom): ReadonlyMap<string, number> {
  const splits = nodes.flatMap(({ op }) => (op.kind === 'source' ? op.source.splits : []));
  return new Map(splits.map(({ id }) => [id, random.pick([0.9, 1.1, 1.1, 3])]));
}

function drawCoordinator(random: SeededRandom, { lostBarrier }: Ranges, twist: Twist | undefined): CoordinatorRates {
  return {
    restMs: random.pick([30, 80, 200]),
    noPulseForLong: random.pick([0, 0, 0.02]),
    atOnce: random.pick([0, 0.1, 0.5]),
    tick: Math.max(random.pick([0.05, 0.2]), twist?.tick ?? 0),
    lostBarrier: random.pick(lostBarrier),
    restore: random.pick([0, 0.05, 0.15, 0.3]),
    pause: random.pick([0, 0, 0.02, 0.05]),
  };
}

/** Of one split, when the job has been created. */
export function drawFeed(random: SeededRandom): FeedRates {
  return {
    restMs: random.pick([20, 60, 200]),
    batchMax: random.pick([1, 3, 6]),
    early: random.pick([0, 0.2, 0.5]),
    overlap: random.pick([0, 0.1, 0.3]),
  };
}

/** Behind the feeds: of each courier, its rest between two events, ms. */
export function drawCouriers(random: SeededRandom): readonly number[] {
  return Array.from({ length: random.pick([1, 2, 3]) }, () => random.pick([5, 20, 60]));
}
