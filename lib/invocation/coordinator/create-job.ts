// A new job: its item, and the ring of each subtask.
//   N1  The item is first, and says that owners are about to come: rings are created against it, like those of any other change of owners.
//   N2  The splits of sources are written down before anything names them. Whoever goes on where a creation was cut off takes those.
//   N3  Splits that may give way to others get their names first, in the order of their ordinals. Nobody owns anything until all rings are there.

import type { Split } from '../../api/source.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { Plan } from '../../graph/plan.ts';
import { withBegin } from '../begins.ts';
import { emptyBody } from '../entry.ts';
import { type JobItem, jobItemName } from '../job-item.ts';
import { encodeJobItem } from '../job-item-codec.ts';
import { ringSlotsDefault, ringSlotsMin } from '../limits.ts';
import { checkPlan } from '../plan-check.ts';
import type { InvocationPorts } from '../ports.ts';
import { registered } from './changes.ts';
import { initialHead } from './initial-head.ts';
import { ownersOf, sourceOf } from './owners.ts';
import { changeJob, changeOf, readExistingJob, readJob } from './read-job.ts';
import { createRing, listedRings } from './ring-creation.ts';

export interface JobToCreate {
  readonly plan: Plan;
  /** By stage: what the sources of the stage enumerate, in order. */
  readonly splits: ReadonlyMap<number, readonly Split[]>;
  /** `ringSlotsDefault` when absent. */
  readonly ringSlots?: number;
  readonly nowMs: number;
}

const splitsName = 'splits';

type SplitsByStage = ReadonlyMap<number, readonly Split[]>;

/**
 * Creates the job, or finishes a creation that was cut off; a job that exists already is left as it is.
 * @throws SluiceError `PLAN_CHANGED`: the job exists and runs another plan
 */
export async function createJob(ports: InvocationPorts, job: JobToCreate): Promise<JobItem> {
  const { plan } = job;
  if ((await readJob(ports)) === undefined) {
    await ports.objects.putIfAbsent(splitsName, encodeValue(job.splits));
    const item = itemOf(job, (await storedSplits(ports)) ?? job.splits);
    await ports.items.put({ name: jobItemName, content: { bytes: encodeJobItem(item), change: changeOf(item) }, expects: 'absent' });
  }
  const { item } = await readExistingJob(ports);
  checkPlan(item, plan);
  if (isBeingCreated(item)) return finishCreation(ports, item, plan);
  await ports.objects.remove(splitsName); // a creation may have been cut off just before it did
  return item;
}

export function isBeingCreated(item: JobItem): boolean {
  return item.moving?.parents.length === 0;
}

/** Creates the rings that are missing and lets the job begin. */
export async function finishCreation(ports: InvocationPorts, item: JobItem, plan: Plan): Promise<JobItem> {
  const splits = await storedSplits(ports);
  const { moving } = item;
  if (moving !== undefined && splits !== undefined) {
    const change = changeOf(item);
    for (const stage of plan.stages)
      if (sourceOf(stage)?.evolution !== undefined) await registered(ports, stage.id, splits.get(stage.id) ?? []);
    for (const owner of moving.children) {
      const head = initialHead({
        owner,
        owners: moving.children,
        plan,
        splits: splits.get(owner.stage) ?? [],
        generation: moving.generation,
        epoch: moving.epoch,
        writer: 'create',
      });
      await createRing(ports, { entry: { head, body: emptyBody }, slots: item.ringSlots, change });
    }
    item = await changeJob(ports, (now) => (isBeingCreated(now) ? { ...now, owners: now.moving!.children, moving: undefined } : now));
  } else {
    ({ item } = await readExistingJob(ports));
  }
  if (!isBeingCreated(item)) await ports.objects.remove(splitsName); // every ring has its own by now
  return item;
}

async function storedSplits(ports: InvocationPorts): Promise<SplitsByStage | undefined> {
  const bytes = await ports.objects.get(splitsName);
  return bytes === undefined ? undefined : (decodeValue(bytes) as SplitsByStage);
}

function itemOf({ plan, ringSlots = ringSlotsDefault, nowMs }: JobToCreate, splits: SplitsByStage): JobItem {
  const owners = ownersOf(plan, splits);
  return {
    job: plan.job,
    planHash: plan.hash,
    status: 'running',
    failure: undefined,
    generation: 0,
    ringSlots: Math.max(ringSlots, ringSlotsMin),
    begun: 0,
    open: [],
    completed: [],
    confirmed: 0,
    failuresInARow: 0,
    expiredInARow: 0,
    lastBegunMs: nowMs,
    lastEndedMs: undefined,
    restores: [],
    owners: [],
    restoring: undefined,
    moving: { generation: 0, parents: [], children: owners, epoch: 1 },
    until: [],
    begins: withBegin(undefined, 0, nowMs),
    rings: listedRings({ rings: [] }, 0, owners),
  };
}
