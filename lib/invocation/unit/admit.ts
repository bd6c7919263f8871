// Admit: may this environment work on the subtask, and from where?
//   A1  A cache is trusted only until the next append, which proves it. A refusal, or an answer that there is nothing to do, is not put to that
//       test: for these the cache is compared with the head of the changelog first (`isSure`).
//   A2  The job item is read before the ring and again after it. A ring is only as good as the generation under which it was read, and what the
//       item says of checkpoints must not be older than what the ring's last writer knew.
//   A3  A subtask is admitted only while the job item lists it as an owner: a restore seals the rings of owners, and of nobody else.
//       A ring that was opened again takes work when the job runs again, which is when all of them are open: one of a job that is stopped on its way
//       there takes none. So the first entry behind the opening is appended by whoever has read that the job runs, after the opening.
//   A4  What another environment appended may not be delivered yet. Whoever takes over delivers the newest entry again before it appends.

import { SluiceError } from '../../core/errors.ts';
import { readJob } from '../coordinator/read-job.ts';
import { isOpening } from '../coordinator/seal.ts';
import type { Entry, EntryHead } from '../entry.ts';
import { unpackEntry, unpackHead } from '../entry-codec.ts';
import type { Refusal } from '../invocation.ts';
import type { JobItem } from '../job-item.ts';
import { LaneMemory } from '../lane/lane-memory.ts';
import { queueOfStage } from '../lane/queues.ts';
import { Outbox } from '../outbox.ts';
import { checkPlan } from '../plan-check.ts';
import { type RingView, readNewer, readRing } from '../ring.ts';
import { keyShareOf } from '../state/key-share.ts';
import { createSubtaskState } from '../state/subtask-state.ts';
import { unpackEntries } from '../unpack-entries.ts';
import { OperatorStateMemory } from './operator-state-memory.ts';
import type { UnitServices } from './services.ts';
import { TimerRelay } from './timer-failures.ts';
import { newestCompleted, type WarmSubtask } from './warm-subtask.ts';

export type Admission = { readonly kind: 'admitted'; readonly warm: WarmSubtask } | { readonly kind: 'refused'; readonly why: Refusal };

/** Restores that may rise while one recovery reads; more means that somebody restores in a loop. */
const readsMax = 20;

const refused = (why: Refusal): Admission => ({ kind: 'refused', why });

/** Reads all that is known of a subtask. */
export async function recover(subtask: string, services: UnitServices): Promise<Admission> {
  for (let reads = 0; reads < readsMax; reads++) {
    const before = await jobOf(services);
    if (before === undefined || !admitsWork(before)) return refused('not-running');
    const ring = { generation: before.generation, subtask };
    const view = await readRing(services.ports.changelog, ring, before.ringSlots);
    const item = await jobOf(services);
    if (item?.generation !== before.generation) continue;
    const owner = item.owners.find((o) => o.subtask === subtask);
    if (view === undefined || owner === undefined) return refused('not-an-owner');
    if (view === 'closed' || view.head.kind === 'seal') return refused('sealed');
    if (isOpening(view.head) && item.status !== 'running') return refused('not-running');
    const stage = services.plan.stages[owner.stage];
    if (stage === undefined) return refused('not-an-owner');
    return { kind: 'admitted', warm: await recovered(view, { ring, owner, stage, item }, services) };
  }
  throw new SluiceError('JOB_ITEM_RESTLESS', {
    message: `the generation of job ${services.plan.job} rose ${readsMax} times while subtask ${subtask} was recovered`,
    next: 'try-again',
    subtask,
  });
}

/** All that a ring's view and the base know. */
export async function recovered(
  view: RingView,
  facts: Pick<WarmSubtask, 'ring' | 'owner' | 'stage' | 'item'>,
  services: UnitServices,
): Promise<WarmSubtask> {
  const { head } = view;
  const { restores } = facts.item;
  const base = services.createBase({
    subtask: head.subtask,
    snapshot: head.snapshot,
    view: { generation: head.generation, restores },
  });
  const state = createSubtaskState({
    subtask: head.subtask,
    base,
    maxParallelism: facts.stage.maxParallelism,
    ...keyShareOf(facts.stage, facts.owner.index),
  });
  const lane = laneMemory(head, facts, services);
  let newest: Entry | undefined;
  for await (const entry of unpackEntries(view.above, services.ports.objects)) {
    newest = entry;
    state.catchUp(tagOf(entry.head), entry.body.delta);
    lane?.learn(entry);
  }
  newest ??= await unpackEntry(view.newest.bytes, services.ports.objects);
  return {
    ...facts,
    itemAsOf: newest.head.n,
    newest,
    isDelivered: false,
    state,
    flushedThrough: head.flushedThrough,
    snapshot: head.snapshot,
    lane,
    outbox: new Outbox({ plan: services.plan, owner: facts.owner, owners: facts.item.owners }),
    storedThrough: -1,
    waiting: undefined,
    operatorState: new OperatorStateMemory(),
    timers: new TimerRelay(),
    host: undefined,
    metrics: undefined,
  };
}

/** Brings a cache up to the head. `undefined`: it is too far behind, or its ring is closed, so that recovering is cheaper or says why. */
export async function catchUp(warm: WarmSubtask, services: UnitServices): Promise<WarmSubtask | undefined> {
  const newer = await readNewer(services.ports.changelog, warm.ring, warm.item.ringSlots, warm.newest.head.n);
  if (newer === 'too-far') return undefined;
  const last = newer.at(-1);
  const head = last === undefined ? undefined : unpackHead(last.bytes);
  if (head !== undefined && (head.kind === 'seal' || isOpening(head))) return undefined;
  for await (const entry of unpackEntries(newer, services.ports.objects)) {
    warm.state.catchUp(tagOf(entry.head), entry.body.delta);
    warm.lane?.learn(entry);
    warm.newest = entry;
    warm.isDelivered = false;
    warm.host = undefined;
    // The other writer may have materialised more than we have, or we more than it knew of.
    if (entry.head.flushedThrough > warm.flushedThrough) {
      warm.flushedThrough = entry.head.flushedThrough;
    }
    // Clean-up keeps the snapshot that the newest entry names. Another one is kept only if it was stored behind that, so that nobody can have looked.
    if (entry.head.flushedThrough >= warm.storedThrough) {
      warm.snapshot = entry.head.snapshot;
      warm.storedThrough = -1;
    }
  }
  // The writer of the newest entry dropped what it knew to be over from `open`; what is retained instead only the item says (A2).
  if (warm.newest.head.lastCompleted > newestCompleted(warm.item)) {
    const job = await jobOf(services);
    if (job?.generation !== warm.ring.generation) return undefined;
    warm.item = job;
  }
  return warm;
}

function laneMemory(head: EntryHead, { owner }: Pick<WarmSubtask, 'owner'>, services: UnitServices): LaneMemory | undefined {
  const of = queueOfStage(services.plan, owner.stage);
  if (of === undefined || head.lane === undefined) return undefined;
  const { newWriter, ports } = services;
  return new LaneMemory({ subtask: head.subtask, of, lane: head.lane, objects: ports.objects, newWriter });
}

export function tagOf(head: EntryHead): { generation: number; epoch: number; n: number } {
  return { generation: head.generation, epoch: head.epoch, n: head.n };
}

/** @throws SluiceError `PLAN_CHANGED`: this code is not what the job runs */
async function jobOf(services: UnitServices): Promise<JobItem | undefined> {
  const job = await readJob(services.ports);
  if (job === undefined) return undefined;
  checkPlan(job.item, services.plan);
  return job.item;
}

function admitsWork(item: JobItem): boolean {
  return item.restoring === undefined && (item.status === 'running' || item.status === 'pausing' || item.status === 'cancelling');
}
