// One main process at a time runs a job. Two would do no harm to its results, since everything rests on conditional writes, but they would
// read one standard input and settle each other's transactions for nothing.
//   O1  The owner holds the kernel's lock on a file that its number names; the number lies in the job's file and only grows.
//   O2  Whoever takes over from an owner that is stopped or hangs raises the number. The old owner finds that out at its next look and ends.

import { dirname, join } from 'node:path';
import { SluiceError } from '../../core/errors.ts';
import type { FileLock, FileSystem } from '../../core/ports.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { JobItems } from '../../invocation/ports.ts';

const ownerItem = 'runner/owner';

export interface Ownership {
  /** @throws SluiceError `OWNER_LOST` when another process has taken over */
  check(): Promise<void>;
  release(): Promise<void>;
}

export interface OwnershipOptions {
  readonly files: FileSystem;
  readonly items: JobItems;
  readonly database: string;
  readonly job: string;
  /** As shown to whoever is refused. */
  readonly owner: string;
  readonly takeOver: boolean;
}

function lockPath(database: string, number: number): string {
  return join(dirname(database), `invocations-${number}.lock`);
}

async function numberOf(items: JobItems): Promise<{ readonly number: number; readonly revision: number | 'absent' }> {
  const item = await items.get(ownerItem);
  return item === undefined ? { number: 1, revision: 'absent' } : { number: decodeValue(item.bytes) as number, revision: item.revision };
}

/** @throws SluiceError `OWNER_ALIVE` */
export async function takeOwnership(o: OwnershipOptions): Promise<Ownership> {
  const { number, revision } = await numberOf(o.items);
  const answer = await o.files.lock(lockPath(o.database, number), o.owner);
  if (answer.kind === 'locked') return owned(o, number, answer.lock);
  if (!o.takeOver) throw ownerAlive(o, answer.owner);
  return raise(o, number + 1, revision);
}

async function raise(o: OwnershipOptions, number: number, expects: number | 'absent'): Promise<Ownership> {
  const answer = await o.files.lock(lockPath(o.database, number), o.owner);
  if (answer.kind === 'held') throw ownerAlive(o, answer.owner);
  const put = await o.items.put({ name: ownerItem, content: { bytes: encodeValue(number), change: '' }, expects });
  if (put.kind === 'stored') return owned(o, number, answer.lock);
  await answer.lock.release();
  throw ownerAlive(o, 'another process that took over at the same time');
}

async function owned(o: OwnershipOptions, number: number, lock: FileLock): Promise<Ownership> {
  const check = async (): Promise<void> => {
    const { number: now } = await numberOf(o.items);
    if (now === number) return;
    const message = `another process has taken ${o.job} over`;
    const advice = 'nothing is to be done: the other process goes on with the job, and this one ends without doing harm';
    throw new SluiceError('OWNER_LOST', { message, next: 'fix-the-command', advice, job: o.job });
  };
  try {
    await check();
  } catch {
    // Between the look at the number and the lock somebody took over.
    await lock.release();
    throw ownerAlive(o, 'another process that began at the same time');
  }
  return { check, release: () => lock.release() };
}

/** Whoever runs the job now, as it named itself; `undefined` when nobody does. */
export async function liveOwnerOf(files: FileSystem, items: JobItems, database: string): Promise<string | undefined> {
  const { number } = await numberOf(items);
  const path = lockPath(database, number);
  if ((await files.stat(path)) === undefined) return undefined;
  const answer = await files.lock(path, 'a look at who runs the job');
  if (answer.kind === 'held') return answer.owner;
  await answer.lock.release();
  return undefined;
}

function ownerAlive({ job, database }: OwnershipOptions, owner: string): SluiceError {
  return new SluiceError('OWNER_ALIVE', {
    message: `${job} is run by ${owner}`,
    next: 'fix-the-command',
    advice: 'wait for it or cancel it; if it is stopped or hangs, take the job over with --take-over',
    job,
    path: database,
  });
}
