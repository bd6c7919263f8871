// Reading and changing the job item.
//   J1  A change is decided from the item as it is and stored on the condition that it still is. Whoever loses reads again and decides again.
//   J2  What the item says of a change under way goes beside it as `change`, which the creation of rings is checked against.

import { equalBytes } from '../../core/bytes.ts';
import { SluiceError } from '../../core/errors.ts';
import { type JobItem, jobItemName, type Moving } from '../job-item.ts';
import { decodeJobItem, encodeJobItem } from '../job-item-codec.ts';
import type { InvocationPorts, JobItems } from '../ports.ts';

export interface ReadJob {
  readonly item: JobItem;
  readonly revision: number;
}

/** Others may be faster this often in one change; more means that something changes the item in a loop. */
const triesMax = 50;

/** What was read last through a port. Every unit reads the item twice, and mostly finds what it found before. */
const lastRead = new WeakMap<JobItems, { readonly bytes: Uint8Array; readonly item: JobItem }>();

/** @returns `undefined`: there is no such job */
export async function readJob({ items }: Pick<InvocationPorts, 'items'>): Promise<ReadJob | undefined> {
  const stored = await items.get(jobItemName);
  if (stored === undefined) return undefined;
  const { bytes, revision } = stored;
  const known = lastRead.get(items);
  if (known !== undefined && equalBytes(known.bytes, bytes)) return { item: known.item, revision };
  const item = decodeJobItem(bytes);
  lastRead.set(items, { bytes, item });
  return { item, revision };
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

/**
 * One try, for what was done under the item as it was read: whoever changed it meanwhile may have ended what this was part of, and begun it anew.
 */
export async function changeUnderSame(
  ports: Pick<InvocationPorts, 'items'>,
  known: ReadJob,
  wanted: JobItem,
): Promise<ReadJob | 'overtaken'> {
  const content = { bytes: encodeJobItem(wanted), change: changeOf(wanted) };
  const outcome = await ports.items.put({ name: jobItemName, content, expects: known.revision });
  return outcome.kind === 'stored' ? { item: wanted, revision: outcome.revision } : 'overtaken';
}

/**
 * What is under way, in a text that is the same only while the same is: whoever works under it works towards what the job item still asks for.
 * Empty when there is nothing.
 */
export function changeOf({
  restoring,
  moving,
  status,
  generation,
}: Pick<JobItem, 'restoring' | 'moving' | 'status' | 'generation'>): string {
  // A restore goes on whatever else is asked of the job meanwhile, and comes first.
  if (restoring !== undefined) return `restore ${restoring.generation}`;
  const stop = isStopping(status) ? `stop ${generation}` : undefined;
  const resume = status === 'resuming' ? `resume ${generation}` : undefined;
  return [moving === undefined ? undefined : moveName(moving), stop, resume].filter((part) => part !== undefined).join(', ');
}

/** No other change of owners of this job has it. */
export function moveName(moving: Moving): string {
  return `move ${moving.generation} ${moving.parents[0] ?? 'nobody'}`;
}

export function isStopping(status: JobItem['status']): boolean {
  return status === 'pausing' || status === 'cancelling' || status === 'failing';
}

/** Newest completed checkpoint; 0: none. */
export function newestCompletedOf(item: Pick<JobItem, 'completed'>): number {
  return item.completed.at(-1)?.checkpoint ?? 0;
}
