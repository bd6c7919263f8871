// s3-commit.ts is what to do about each answer to the commit of an object. Pure.
//   C1  An object is only ever made where there is none, so a name that is taken (412) is either ours, by an earlier call or another process, or
//       somebody else's: its mark tells.
//   C2  Where nobody can tell whether a request happened, or an upload is gone because it was completed or given up, a look at the object decides.
//   C3  A put that ran into another request (409) may be made again as it is; an upload has to be started again.

import type { ObjectAnswer } from '../../api/targets.ts';

/** What the object is: `undefined` while nobody has looked. */
export type Look = 'ours' | 'foreign' | 'absent' | undefined;

export type CommitDecision =
  | 'committed'
  /** Ask for the object's mark, and decide again. */
  | 'look'
  /** The same request, a little later. */
  | 'again'
  /** What was prepared is gone. */
  | 'prepare-again'
  /** Somebody else has the name. */
  | 'foreign';

export function decideCommit({
  answer,
  how,
  look,
}: {
  readonly answer: ObjectAnswer['kind'];
  readonly how: 'put' | 'upload';
  readonly look: Look;
}): CommitDecision {
  if (answer === 'done') return 'committed';
  if (answer === 'conflict') return how === 'put' ? 'again' : 'prepare-again';
  if (look === undefined) return 'look';
  if (look === 'ours') return 'committed';
  if (look === 'foreign') return 'foreign';
  // Absent. A name that was taken a moment ago is free again, an upload that is unknown was given up, or the request did not happen.
  return answer === 'no-upload' ? 'prepare-again' : 'again';
}
