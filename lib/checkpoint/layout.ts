// layout.ts spells every name below a job's checkpoint root, and nobody else does. In `attempt-<generation>/` (adapters/embedded/
// attempt-directory.ts says how it gets that name) lie:
//   numbers                          the highest checkpoint number ever begun
//   announced/<n>-<stage>-<subtask>-<i>   sink transactions that checkpoint n was about to prepare
//   chk-<n>/_metadata                written last: its presence is what makes checkpoint n complete
//   chk-<n>/_undone                  the same, after a restore of an older checkpoint took n back
//   chk-<n>/state-<stage>-<subtask>-<operator>   state of one operator of one subtask
//   line                             where the present line of checkpoints begins, when older ones of another line lie beside it
//   reservation-<stage>-<subtask>    positions set aside under AT_MOST_ONCE
// A name that ends in `~` is being written and means nothing.

import { join } from 'node:path';

/** `attempt-<generation>` */
export function attemptName(generation: number): string {
  return `attempt-${generation}`;
}

/** The generation in `attempt-<generation>`; `undefined` for any other name. */
export function generationOfName(name: string): number | undefined {
  return numberIn(/^attempt-([1-9][0-9]{0,14})$/, name);
}

export const metadataName = '_metadata';
export const undoneName = '_undone';
export const numbersName = 'numbers';
export const lineName = 'line';
export const announcedName = 'announced';

/** What an unfinished file is called until it is renamed. */
export function temporaryOf(path: string): string {
  return `${path}~`;
}

export function checkpointPath(attempt: string, checkpoint: number): string {
  return join(attempt, `chk-${checkpoint}`);
}

/** The number in `chk-<n>`; `undefined` for any other name. */
export function checkpointOfName(name: string): number | undefined {
  return numberIn(/^chk-([1-9][0-9]{0,14})$/, name);
}

export function stateFileName(stage: number, subtask: number, operator: number): string {
  return `state-${stage}-${subtask}-${operator}`;
}

export function announcementName(checkpoint: number, stage: number, subtask: number, index: number): string {
  return `${checkpoint}-${stage}-${subtask}-${index}`;
}

/** The checkpoint in the name of an announcement; `undefined` for any other name. */
export function checkpointOfAnnouncement(name: string): number | undefined {
  return numberIn(/^([1-9][0-9]{0,14})-[0-9]+-[0-9]+-[0-9]+$/, name);
}

export function reservationName(stage: number, subtask: number): string {
  return `reservation-${stage}-${subtask}`;
}

export function isReservationName(name: string): boolean {
  return /^reservation-[0-9]+-[0-9]+$/.test(name);
}

/** `pattern` lets 15 digits pass at most, so that the number is exact. */
function numberIn(pattern: RegExp, name: string): number | undefined {
  const digits = pattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
