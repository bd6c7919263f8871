// A pulse moves whatever is pending one step on. It may run twice, at the same time as another, or die anywhere.

import type { Clock, Random } from '../../core/ports.ts';
import type { Plan } from '../../graph/plan.ts';
import type { Control, TransactionSettler } from '../control.ts';
import type { JobItem, Owner } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';

export interface PulseOptions {
  readonly ports: InvocationPorts;
  readonly plan: Plan;
  readonly control: Control;
  readonly settler: TransactionSettler;
  readonly clock: Clock;
  readonly random: Random;
  /** Who is ticked by this pulse; nobody when absent. Whoever calls knows how long ago the last ticks were. */
  readonly ticks?: (owner: Owner) => boolean;
  /** Records of one slice of a replay, 1,000 when absent. */
  readonly replayRecordsMax?: number;
  /** Invocations under way at once, 32 when absent. */
  readonly concurrency?: number;
  readonly onEvent?: (event: PulseEvent) => void;
}

export type PulseEvent =
  | { readonly kind: 'checkpoint-begun'; readonly checkpoint: number }
  | { readonly kind: 'checkpoint-completed'; readonly checkpoint: number; readonly durationMs: number; readonly bytes: number }
  | { readonly kind: 'checkpoint-failed'; readonly checkpoint: number; readonly reason: string }
  | { readonly kind: 'restored'; readonly checkpoint: number; readonly generation: number }
  | { readonly kind: 'ended'; readonly status: JobItem['status'] }
  /** Something that is tried again by the next pulse did not happen. */
  | { readonly kind: 'notice'; readonly message: string };

export interface PulseReport {
  /** The job item at the end of the pulse; `undefined`: there is no such job. */
  readonly item: JobItem | undefined;
  /** Something is under way that another pulse would move on: it should not wait for the next minute. */
  readonly isBusy: boolean;
}
