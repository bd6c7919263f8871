// The head of the first entry of a new job's rings: nothing has happened, but everyone who will send is known.

import type { Split } from '../../api/source.ts';
import { noWatermark } from '../../core/batch.ts';
import type { Plan } from '../../graph/plan.ts';
import type { ChannelProgress, EntryHead, LaneProgress } from '../entry.ts';
import type { Owner } from '../job-item.ts';
import { unreadSplit } from '../source-intake.ts';
import { channelsInto, sourceOf } from './owners.ts';

export interface InitialHead {
  readonly owner: Owner;
  /** All owners of the job. */
  readonly owners: readonly Owner[];
  readonly plan: Plan;
  /** Splits of the source of this stage, by ordinal. */
  readonly splits: readonly Split[];
  readonly generation: number;
  readonly epoch: number;
  readonly writer: string;
}

export function initialHead(p: InitialHead): EntryHead {
  const { owner, plan } = p;
  return {
    generation: p.generation,
    subtask: owner.subtask,
    n: 0,
    base: 0,
    kind: 'init',
    writer: p.writer,
    epoch: p.epoch,
    flushedThrough: 0,
    lastCompleted: 0,
    open: [],
    lastBarrier: undefined,
    splits: owner.splits.map((ordinal) => unreadSplit(ordinal, p.splits[ordinal]!)),
    channels: channelsInto(owner, p.owners, plan).map(({ sender, exchange }) => unusedChannel(sender, exchange)),
    held: [],
    abortedThrough: 0,
    hasEnded: false,
    sent: [],
    watermark: noWatermark,
    operatorWatermarks: plan.stages[owner.stage]!.operators.map(() => noWatermark),
    operatorState: undefined,
    snapshot: undefined,
    transactions: [],
    attempts: [],
    ...(sourceOf(plan.stages[owner.stage])?.queue === undefined ? {} : { lane: newLane }),
  };
}

const newLane: LaneProgress = { kept: 0, stored: 0, segment: undefined, replay: undefined, buckets: undefined };

export function unusedChannel(sender: string, exchange: number): ChannelProgress {
  return { sender, exchange, sequence: 0, barrier: 0, hasEnded: false, watermark: noWatermark, isIdle: false };
}
