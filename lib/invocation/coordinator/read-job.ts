// Reading and changing the job item.
//   J1  A change is decided from the item as it is and stored on the condition that it still is. Whoever loses reads again and decides again.
//   J2  What the item says of a change under way goes beside it as `change`, which the creation of rings is checked against.

import { SluiceError } from '../../core/errors.ts';
import { type JobItem, jobItemName } from '../job-item.ts';
import { decodeJobItem, encodeJobItem } from '../job-item-codec.ts';
import type { InvocationPorts } from '../ports.ts';

export interface ReadJob {
  readonly item: JobItem;
  readonly revision: number;
}

/** Others may be faster this often in one change; more means that something changes the item in a loop. */
const triesMax = 50;

/** @returns `undefined`: there is no such job */
export async function readJob(ports: Pick<InvocationPorts, 'items'>): Promise<ReadJob | undefined> {
  const stored = await ports.items.get(jobItemName);
  return stored === undefined ? undefined : { item: decodeJobItem(stored.bytes), revision: stored.revision };
}

/** @throws SluiceError `JOB_UNKNOWN` */
export async function readExistingJob(ports: Pick<InvocationPorts, 'items'>): Promise<ReadJob> {
  const read = await readJob(ports);
  if (read !== undefined) return read;
  throw new SluiceError('JOB_UNKNOWN', { message: 'there is no such job, or not any more', next: 'fix-the-command' });
}

/**
 * @param decide  the item as it is to be; the same object when nothing is to be changed
 * @returns the item as it is now
 * @throws SluiceError `JOB_UNKNOWN`, and what `decide` throws
 */
export async function changeJob(ports: Pick<InvocationPorts, 'items'>, decide: (item: JobItem) => JobItem): Promise<JobItem> {
  return (await changeFrom(ports, await readExistingJob(ports), decide)).item;
}

/**
 * The same for who has read the item already.
 * @param known  may be old: then it is read again
 */
export async function changeFrom(
  ports: Pick<InvocationPorts, 'items'>,
  known: ReadJob,
  decide: (item: JobItem) => JobItem,
): Promise<ReadJob> {
  for (let tries = 0; tries < triesMax; tries++) {
    const wanted = decide(known.item);
    if (wanted === known.item) return known;
    const content = { bytes: encodeJobItem(wanted), change: changeOf(wanted) };
    const outcome = await ports.items.put({ name: jobItemName, content, expects: known.revision });
    if (outcome.kind === 'stored') return { item: wanted, revision: outcome.revision };
    known = await readExistingJob(ports);
  }
  throw new SluiceError('JOB_ITEM_RESTLESS', {
    message: `the job item changed ${triesMax} times under one change of it`,
    next: 'try-again',
  });
}

/** The restore or change of owners under way, by a name that no other one of this job has; empty when there is none. */
export function changeOf({ restoring, moving }: Pick<JobItem, 'restoring' | 'moving'>): string {
  if (restoring !== undefined) return `restore ${restoring.generation}`;
  if (moving !== undefined) return `move ${moving.generation} ${moving.parents[0] ?? 'nobody'}`;
  return '';
}

/** Newest completed checkpoint; 0: none. */
export function newestCompletedOf(item: Pick<JobItem, 'completed'>): number {
  return item.completed.at(-1)?.checkpoint ?? 0;
}
