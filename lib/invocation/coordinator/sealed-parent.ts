// The state of a sealed parent, read once, as whoever takes over needs it.

import { SluiceError } from '../../core/errors.ts';
import type { Stage } from '../../graph/plan.ts';
import type { Entry } from '../entry.ts';
import { readRing } from '../ring.ts';
import type { StateBase } from '../state/base.ts';
import type { SubtaskState, VersionView } from '../state/contract.ts';
import { keyShareOf } from '../state/key-share.ts';
import { createBaseOf, createSubtaskState } from '../state/subtask-state.ts';
import { unpackEntries } from '../unpack-entries.ts';
import type { PulseRun } from './pulse-run.ts';

/** Flushes that one pulse makes: each stores what the one before it lost to a writer that was left behind. */
const flushesMax = 3;

export interface SealedParent {
  readonly seal: Entry;
  readonly base: StateBase;
  readonly state: SubtaskState;
  /** The object that holds its state, for backends that have one; known when it has been materialised. */
  readonly snapshot: string | undefined;
  /** @returns false: some of its state is not in the base */
  materialise(): Promise<boolean>;
}

/** @returns `undefined`: its ring is closed, since somebody else has long finished this change */
export async function sealedParent(run: PulseRun, seal: Entry): Promise<SealedParent | undefined> {
  const { head } = seal;
  const { changelog, objects } = run.options.ports;
  const { base, state } = openState(run, head);
  const view = await readRing(changelog, { generation: head.generation, subtask: head.subtask }, run.item.ringSlots);
  if (view === undefined || view === 'closed') return undefined;
  for await (const entry of unpackEntries(view.above, objects)) {
    state.catchUp({ generation: entry.head.generation, epoch: entry.head.epoch, n: entry.head.n }, entry.body.delta);
  }
  let snapshot = head.snapshot;
  return {
    seal,
    base,
    state,
    get snapshot() {
      return snapshot;
    },
    materialise: async () => {
      for (let flushes = 0; flushes < flushesMax; flushes++) {
        const flushed = await state.flush(viewOf(run, seal));
        if (flushed.kind === 'incomplete') continue;
        snapshot = flushed.snapshot ?? snapshot;
        return true;
      }
      return false;
    },
  };
}

/** State of a subtask over its base, with nothing unflushed. */
export function openState(
  run: PulseRun,
  { subtask, snapshot }: { readonly subtask: string; readonly snapshot: string | undefined },
): { readonly base: StateBase; readonly state: SubtaskState } {
  const { ports, clock, random, plan } = run.options;
  const { generation, restores } = run.item;
  const stage = stageOf(run, subtask);
  const { maxParallelism } = stage;
  const createBase = createBaseOf({ ports, patience: { clock, random }, backend: plan.settings.backend });
  const base = createBase({ subtask, snapshot, view: { generation, restores } });
  const share = keyShareOf(stage, run.item.owners.find((owner) => owner.subtask === subtask)?.index ?? 0);
  return { base, state: createSubtaskState({ subtask, base, maxParallelism, ...share }) };
}

export function stageOf(run: PulseRun, subtask: string): Stage {
  return run.options.plan.stages[Number.parseInt(subtask, 10)]!; // names of subtasks begin with their stage
}

/** Restore points come from the job item too: the parent may never have seen a barrier that its seal stands for. */
function viewOf(run: PulseRun, { head }: Entry): VersionView {
  const { item } = run;
  const points = [...item.completed.map((c) => c.checkpoint), ...item.open.map((o) => o.checkpoint), ...head.open];
  return { generation: head.generation, restores: item.restores, points: [...new Set(points)], epoch: head.epoch };
}

export function stateGone(subtask: string): SluiceError {
  return new SluiceError('OBJECT_MISSING', {
    message: `state of subtask ${subtask}, which others are to take over, is gone`,
    next: 'repair-state',
    subtask,
  });
}
