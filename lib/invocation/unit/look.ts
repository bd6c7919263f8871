// Looks at a subtask without taking part: for tools. Works whatever the job is doing, also on sealed changelogs.

import { SluiceError } from '../../core/errors.ts';
import { readExistingJob } from '../coordinator/read-job.ts';
import { type DeadLetter, decodeLetter, letterIdOf, lettersAddress } from '../poison/dead-letters.ts';
import { readRing } from '../ring.ts';
import { recovered } from './admit.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export interface ListedLetter {
  readonly subtask: string;
  /** For `redrive`. */
  readonly id: string;
  readonly letter: DeadLetter;
}

/** @throws SluiceError `SUBTASK_UNKNOWN`: the job item does not list it, or its changelog is gone */
export async function lookAt(services: UnitServices, subtask: string): Promise<WarmSubtask> {
  const { item } = await readExistingJob(services.ports);
  const owner = item.owners.find((one) => one.subtask === subtask);
  const stage = owner === undefined ? undefined : services.plan.stages[owner.stage];
  const ring = { generation: item.generation, subtask };
  const view = await readRing(services.ports.changelog, ring, item.ringSlots);
  if (owner !== undefined && stage !== undefined && view !== undefined && view !== 'closed') {
    return recovered(view, { ring, owner, stage, item }, services);
  }
  throw new SluiceError('SUBTASK_UNKNOWN', {
    message: `job ${item.job} has no subtask ${subtask} in generation ${item.generation}`,
    next: 'fix-the-command',
    subtask,
  });
}

/** Every parked record of the job, by subtask and place. */
export async function listLetters(services: UnitServices): Promise<readonly ListedLetter[]> {
  const { item } = await readExistingJob(services.ports);
  const listed: ListedLetter[] = [];
  for (const { subtask } of item.owners) {
    const { state } = await lookAt(services, subtask);
    for (const [sub, bytes] of await state.list(lettersAddress(subtask)))
      listed.push({ subtask, id: letterIdOf(sub), letter: decodeLetter(bytes) });
  }
  return listed;
}

/** As tools print it: plain data, but for the value. */
export function letterFields({ id, subtask, letter }: ListedLetter): Readonly<Record<string, unknown>> {
  const { operator, error, place, record, generation, n, atMs, isExcerpt, batch } = letter;
  return { letter: id, subtask, operator, error, place, record, generation, n, parkedMs: atMs, isExcerpt, value: batch.values[0] };
}
