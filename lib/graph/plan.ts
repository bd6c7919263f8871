// The plan is what both runtimes execute: operators chained into stages, stages joined by exchanges.
//   P1  An operator is chained to its upstream when it has one incoming edge, that edge forwards, and both have one parallelism.
//       `keyBy` cuts, unless the source is partitioned by that key and the runtime keeps its splits apart. A source is always the first operator of its stage.
//   P2  Operators of a stage are in topological order; the first is the head and the only one that reads exchanges.
//   P3  Every operator has a uid that is unique in the job; one that the user did not name is derived from its place and holds no state.
//   P4  `hash` covers everything that decides where state and records go: uids, kinds, states, edges, maximum parallelism. Not function bodies.

import type { LogicalNode, Partitioning } from '../api/description.ts';
import type { JobSettings } from '../api/options.ts';

/** Where an operator's output goes. */
export type Target =
  /** `selector`: keys the records on the way, where the source is partitioned by that key already. */
  | { readonly kind: 'operator'; readonly operator: number; readonly selector?: ((value: unknown) => unknown) | undefined }
  | { readonly kind: 'exchange'; readonly outlet: number };

export interface PlannedOperator {
  /** Index in its stage. */
  readonly index: number;
  readonly uid: string;
  readonly name: string;
  readonly node: LogicalNode;
  readonly targets: readonly Target[];
  readonly sideTargets: ReadonlyMap<string, readonly Target[]>;
  /** Its records come and go with what caused them, because a sink behind it asks. */
  readonly carriesOrigins?: boolean;
}

/** One edge between stages, seen from both sides. */
export interface Exchange {
  readonly id: number;
  readonly fromStage: number;
  /** Index among the outlets of `fromStage`. */
  readonly outlet: number;
  readonly toStage: number;
  /** Input (0 or 1) of the head operator of `toStage`. */
  readonly input: 0 | 1;
  /** Never `auto`: resolved to `forward` or `rebalance`. */
  readonly partitioning: Exclude<Partitioning, { kind: 'auto' }>;
  /** Appended to the cause of each record, where one cause can reach the receiver in several ways. */
  readonly originMark?: string;
  /**
   * Each split of the source is a sender of its own, and others take its place while the job runs. So every sender has a channel to every receiver:
   * whoever a new sender follows has told all of them.
   */
  readonly fromEvolving?: boolean;
}

export interface Stage {
  readonly id: number;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly operators: readonly PlannedOperator[];
  /** Exchanges that the head reads, in order of id. */
  readonly inputs: readonly Exchange[];
  /** Exchanges that the stage writes; a target's `outlet` is an index here. */
  readonly outlets: readonly Exchange[];
}

export interface Plan {
  readonly job: string;
  readonly stages: readonly Stage[];
  readonly settings: JobSettings;
  readonly hash: string;
}
