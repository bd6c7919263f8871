// What the six verbs of a unit are given.

import type { CheckpointMode } from '../../api/options.ts';
import type { DetachedContext } from '../../api/sink.ts';
import type { SourceContext, SplitPosition, SplitReader } from '../../api/source.ts';
import type { Clock, Random } from '../../core/ports.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import type { SubtaskMetrics } from '../../runtime/metrics.ts';
import type { SplitProgress } from '../entry.ts';
import type { Owner } from '../job-item.ts';
import type { Patience } from '../patience.ts';
import type { InvocationPorts } from '../ports.ts';
import type { VersionView } from '../state/contract.ts';
import type { StateBase } from '../state/subtask-state.ts';

export interface UnitLimits {
  /** Entry bodies above this go to the object store. */
  readonly inlineBytesMax: number;
  readonly messageBytesMax: number;
  readonly heldBytesMax: number;
  readonly inlineOperatorStateBytesMax: number;
  /** Tries of a record before it becomes a dead letter. */
  readonly attemptsMax: number;
  /** Materialise when this many slots or fewer are left. */
  readonly flushBelowSlots: number;
  /** Newest entries that a materialise may leave in the ring; absent: half of its slots. */
  readonly flushKeepSlots?: number | undefined;
  /** Keys of a subtask that an environment keeps. */
  readonly residentKeysMax: number;
  /** See limits.ts. */
  readonly positionMarginMs: number;
}

/** Who wants to know what an environment does, besides its results. Nothing rests on it. */
export interface UnitObserver {
  /** Operators were made over a subtask's state. */
  opened(host: OperatorHost, metrics: SubtaskMetrics): void;
  /** @param rows  that the unit handed to sinks */
  committed(rows: number): void;
  /** Messages of a queue that may have had their effect before: they are older than what is remembered. They have it now. */
  beyondHorizon?(messages: number): void;
}

/** Prints the rows of one sink in one entry, in order: whoever delivers the entry again begins with the same line. */
export type Printer = (line: string) => void;

export interface PrintPlace {
  readonly sink: string;
  readonly subtask: string;
  readonly generation: number;
  readonly n: number;
}

export interface BaseRequest {
  readonly subtask: string;
  /** What the newest entry names. */
  readonly snapshot: string | undefined;
  readonly view: Pick<VersionView, 'generation' | 'restores'>;
}

export interface UnitServices {
  readonly plan: Plan;
  readonly mode: CheckpointMode;
  readonly ports: InvocationPorts;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: UnitLimits;
  /** What a queue delivered is kept, because a restore may ask for it. */
  readonly keepsInput: boolean;
  /** Unique in the life of the job: names an attempt to append. */
  readonly newWriter: () => string;
  readonly patience: Patience;
  readonly createBase: (p: BaseRequest) => StateBase;
  /** Whether rows of a sink are written when they are committed; the others wait for a barrier. */
  readonly isImmediate: (operator: PlannedOperator) => boolean;
  readonly sinkContext: (operator: PlannedOperator, owner: Owner, stage: Stage, generation: number) => DetachedContext;
  readonly openSplit: (p: {
    readonly stage: Stage;
    readonly split: SplitProgress['split'];
    readonly from: SplitPosition | undefined;
    readonly context: SourceContext;
  }) => SplitReader<unknown>;
  readonly sourceContext: (uid: string) => SourceContext;
  readonly observer?: UnitObserver | undefined;
  /** Where lines of output can be told from those of a second delivery. By default `print` of the sink's context is used. */
  readonly printerOf?: ((place: PrintPlace) => Printer) | undefined;
}
