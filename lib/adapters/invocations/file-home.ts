// The file in which a job is at home. A copy that goes on beside its original names transactions, rows and messages as the original does.
//   F1  A file notes where it lies. One that is found elsewhere is a copy while another file lies at the place that it noted, and was moved when none does.
//   F2  A copy goes on by a restore only, which passes by all that the original has numbered since (T6 of restore.ts).

import { realpathSync, statSync } from 'node:fs';
import { SluiceError } from '../../core/errors.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { InvocationPorts } from '../../invocation/ports.ts';

const homeItem = 'runner/home';

/** @returns path of the original when the job's file is a copy of it */
export async function originalOf({ items }: Pick<InvocationPorts, 'items'>, database: string): Promise<string | undefined> {
  const stored = await items.get(homeItem);
  if (stored === undefined) return undefined;
  const noted = decodeValue(stored.bytes) as string;
  const there = statSync(noted, { bigint: true, throwIfNoEntry: false });
  const here = statSync(database, { bigint: true });
  return there === undefined || (there.dev === here.dev && there.ino === here.ino) ? undefined : noted;
}

export async function noteHome({ items }: Pick<InvocationPorts, 'items'>, database: string): Promise<void> {
  await items.put({ name: homeItem, content: { bytes: encodeValue(realpathSync(database)), change: '' }, expects: 'any' });
}

/** @param p.hasCheckpoint  a copy without one cannot be told from its original in what it writes */
export function copyRefused(p: {
  readonly job: string;
  readonly database: string;
  readonly original: string;
  readonly hasCheckpoint: boolean;
}): SluiceError {
  const { job, database, original, hasCheckpoint } = p;
  return new SluiceError('STORE_REPLACED', {
    message: `${database} is a copy of ${original}, where ${job} may go on: each would take the other's output for its own`,
    next: 'fix-the-command',
    advice: hasCheckpoint
      ? `--from latest goes on from the newest checkpoint of the copy, as a run of its own; or remove ${original}`
      : `it has no completed checkpoint to go on from; remove ${database}* to begin afresh, or ${original} if that is to be this one`,
    job,
  });
}
