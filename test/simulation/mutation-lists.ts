// The simulations, the rules that each is held to, and what is known to notice: seeds, and reasons where no seed can.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mutations as ofLanes } from '../invocation-simulation/lanes/mutation-list.ts';
import { reasons as reasonsOfLanes } from '../invocation-simulation/lanes/mutation-reasons.ts';
import { mutations as ofInvocations } from '../invocation-simulation/mutation-list.ts';
import { reasons as reasonsOfInvocations } from '../invocation-simulation/mutation-reasons.ts';
import type { Mutation, Reasons } from './mutation.ts';
import { mutations as ofEmbedded } from './mutation-list.ts';

export const root = join(import.meta.dirname, '../..');

/** By name of the mutation. */
export type Seeds = Record<string, number>;

export interface Simulation {
  readonly of: string;
  readonly script: string;
  /** Within which each mutation must be caught. */
  readonly seedsMax: number;
  readonly mutations: readonly Mutation[];
  readonly reasons: Reasons;
  /** What caught each rule last. */
  readonly seeds: Seeds;
}

export const simulations: readonly Simulation[] = [
  listed({ of: 'embedded', script: 'test/simulation/sim.ts', seedsMax: 3_000, mutations: ofEmbedded, reasons: {} }),
  listed({
    of: 'invocations',
    script: 'test/invocation-simulation/sim.ts',
    seedsMax: 2_000,
    mutations: ofInvocations,
    reasons: reasonsOfInvocations,
  }),
  listed({
    of: 'lanes',
    script: 'test/invocation-simulation/lanes/sim.ts',
    seedsMax: 2_000,
    mutations: ofLanes,
    reasons: reasonsOfLanes,
  }),
];

function listed(simulation: Omit<Simulation, 'seeds'>): Simulation {
  return { ...simulation, seeds: JSON.parse(readFileSync(seedsFile(simulation), 'utf8')) as Seeds };
}

export function seedsFile({ script }: Pick<Simulation, 'script'>): string {
  return join(root, dirname(script), 'mutation-seeds.json');
}

export function hasNeither({ seeds, reasons }: Simulation, name: string): boolean {
  return seeds[name] === undefined && reasons[name] === undefined;
}
