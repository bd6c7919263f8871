// Asks once in the life of a sandbox whether its table is the one that the job is at home in (lib/adapters/aws/home.ts). A refusal is asked again by the
// next call, because a restore may have mended it.

import { checkBegun, checkHome, homeOf, newestStored, noteHome, readHome } from '../adapters/aws/home.ts';
import { readExistingJob, readJob } from '../invocation/coordinator/read-job.ts';
import type { JobItem } from '../invocation/job-item.ts';
import type { Deployed } from './deployed.ts';
import { functionError } from './function-error.ts';

/** Of a stage: two reads of small items and a list. */
export class StageAtHome {
  #isKnown = false;

  /** @throws Error under the code `STORE_REPLACED` */
  async check({ ports, settings }: Deployed): Promise<void> {
    if (this.#isKnown) return;
    try {
      const stored = await newestStored(ports.objects); // first, as below
      checkHome(await readHome(ports.items), settings.table, settings.job);
      const read = await readJob(ports);
      if (read?.item.restoring !== undefined) return; // its rings are sealed, and it is asked again
      checkBegun(stored, read?.item.begun ?? 0, settings.job);
      this.#isKnown = true;
    } catch (error) {
      throw functionError(error);
    }
  }
}

/** Before a job is made. @throws SluiceError `STORE_REPLACED`: the bucket has seen one */
export async function checkNew({ ports, plan }: Deployed): Promise<void> {
  checkBegun(await newestStored(ports.objects), 0, plan.job);
}

/** Of a job that was just made, or that an older version made. */
export async function settle({ ports, settings }: Deployed): Promise<void> {
  const bound = Object.entries(settings.bind ?? {}).filter(([, { kind }]) => kind === 'kinesis' || kind === 'kafka');
  const streams = Object.fromEntries(bound.map(([name, { stream, topic }]) => [name, String(stream ?? topic)]));
  await noteHome(ports.items, homeOf({ table: settings.table, streams, queues: settings.queues ?? {} }), 'absent');
}

/** Before a pulse moves a job on. One that is being restored, or that ends, may do so anywhere. @throws SluiceError `STORE_REPLACED` */
export async function checkPulse(deployed: Deployed, item: JobItem): Promise<'at-home' | 'not-asked'> {
  if (item.restoring !== undefined || (item.status !== 'running' && item.status !== 'resuming')) return 'not-asked';
  const { ports, settings } = deployed;
  const stored = await newestStored(ports.objects); // before the item is read that it is held against: that only grows
  const noted = await readHome(ports.items);
  checkHome(noted, settings.table, item.job);
  const { item: now } = await readExistingJob(ports);
  checkBegun(stored, now.begun, item.job);
  if (noted === undefined) await settle(deployed);
  return 'at-home';
}
