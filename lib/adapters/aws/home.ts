// Where the state of a deployed job is at home. A table that was restored to an earlier second, or one that was put into the place of another, knows less
// than its sources have handed over and less than the bucket and the tables of sinks hold: a job that went on from it would lose what lies between, and
// say nothing.
//   H1  The table is noted in itself when the job begins. A copy of it has another name, and a job goes on from a copy only by a restore.
//   H2  No checkpoint completes whose number the table has not counted. A bucket that knows a higher one has seen more than the table, whatever
//       its name.
//   H3  A restore makes the table that it found the home. Where that is another state than the one that wrote last, it passes by all that the other one
//       has numbered (T6 of restore.ts): the bucket knows its checkpoints, and a time in seconds is above any count of generations. Sinks look
//       at their targets anew: what they name by the run would have the names of what that one has written. What it passes by is told to the bucket,
//       so that whoever goes back to the other table is refused there, as one that is older.
//   H4  Streams and topics are noted too. Shards of any two streams have the same names, and records of any two topics the same offsets, so that a job
//       would take those of another one for ones that it had. So is what the exchange is made of: in another one nothing would be of what is on its way.

import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { metadataPrefix } from '../../invocation/coordinator/checkpoint-objects.ts';
import { readExistingJob } from '../../invocation/coordinator/read-job.ts';
import type { PassedBy } from '../../invocation/coordinator/restore.ts';
import type { InvocationPorts, JobItems, ObjectStore } from '../../invocation/ports.ts';
import { forgetStarts } from '../../invocation/sinks/start-sinks.ts';
import { type ExchangeKind, type ExchangePlaces, exchangeKindOf } from './exchange-place.ts';

export interface Home {
  /** Name of the table. */
  readonly table: string;
  /** Name in the job → ARN of its stream, or name of its topic. */
  readonly streams: Readonly<Record<string, string>>;
  /** What carries records from stage to stage; absent: queues, or nothing. */
  readonly exchange?: ExchangeKind;
}

const homeItem = 'runner/home';

/** @returns `undefined`: an older version made the job */
export async function readHome(items: Pick<JobItems, 'get'>): Promise<Home | undefined> {
  const stored = await items.get(homeItem);
  return stored === undefined ? undefined : (decodeValue(stored.bytes) as Home);
}

/** Pure. @param p.queues  where the messages of its stages wait */
export function homeOf({ table, streams, queues }: Omit<Home, 'exchange'> & { readonly queues: ExchangePlaces }): Home {
  const exchange = exchangeKindOf(queues);
  return { table, streams, ...(exchange === undefined ? {} : { exchange }) };
}

export async function noteHome(items: Pick<JobItems, 'put'>, home: Home, expects: 'absent' | 'any'): Promise<void> {
  await items.put({ name: homeItem, content: { bytes: encodeValue(home), change: '' }, expects });
}

/** Pure (H1). @throws SluiceError `STORE_REPLACED` */
export function checkHome(noted: Home | undefined, table: string, job: string): void {
  if (noted === undefined || noted.table === table) return;
  throw replaced(`table ${table} has the state that job ${job} had in table ${noted.table}, as of some earlier time`, job);
}

/** No number of a checkpoint, so that no clean-up takes it for one that is over. */
const passedPrefix = `${metadataPrefix}passed/`;

/** The highest number of a checkpoint whose object lies in the bucket, or that a copy of the table has passed by; 0: there is none. */
export async function newestStored(objects: Pick<ObjectStore, 'list'>): Promise<number> {
  const numbers = (await objects.list(metadataPrefix)).map((name) =>
    Number.parseInt(name.slice(name.startsWith(passedPrefix) ? passedPrefix.length : metadataPrefix.length), 10),
  );
  return Math.max(0, ...numbers.filter((n) => Number.isSafeInteger(n)));
}

/** Pure (H2). @param begun  highest number that the table has counted @throws SluiceError `STORE_REPLACED` */
export function checkBegun(stored: number, begun: number, job: string): void {
  if (stored <= begun) return;
  const knows = begun === 0 ? 'the table knows none' : `the table knows of ${begun} at most`;
  throw replaced(`the bucket of job ${job} knows of checkpoint ${stored}, and ${knows}`, job);
}

/** Attempts that never completed have numbers too, and left nothing in the bucket. */
const unseenNumbers = 1_000;

/**
 * H3, before a restore is marked.
 * @param table  in which the job goes on
 * @returns what the mark has to pass by; `undefined`: the table is at home
 */
export async function passedByOriginal(
  ports: Pick<InvocationPorts, 'items' | 'objects'>,
  { table, nowMs }: { readonly table: string; readonly nowMs: number },
): Promise<PassedBy | undefined> {
  const stored = await newestStored(ports.objects);
  const noted = await readHome(ports.items);
  const { item } = await readExistingJob(ports);
  const isOlder = stored > item.begun;
  if (!isOlder && (noted === undefined || noted.table === table)) return undefined;
  await forgetStarts(ports.objects); // first: what follows is how a restore that was cut off knows
  // A pulse of the other one that is still at work may store a checkpoint that it has begun, under a number that neither of these is.
  return { begun: Math.max(stored, item.begun) + unseenNumbers, generation: Math.floor(nowMs / 1_000) };
}

/** H3, behind the mark and before the table is noted as the home: a restore that is cut off in between is asked for again. */
export async function tellPassed(objects: Pick<ObjectStore, 'putIfAbsent'>, { begun }: PassedBy): Promise<void> {
  await objects.putIfAbsent(`${passedPrefix}${begun}`, new Uint8Array());
}

function replaced(what: string, job: string): SluiceError {
  return new SluiceError('STORE_REPLACED', {
    message: `${what}; the job does not go on by itself, because what came since would be lost`,
    next: 'repair-state',
    advice: `\`sluice restore ${job}\` goes back to a checkpoint, and reads again what its sources still have; input stays where it is until then`,
    job,
  });
}
