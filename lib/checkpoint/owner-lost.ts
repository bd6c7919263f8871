// The error of a run whose checkpoint directory another run has renamed: a zombie that was stopped or hung, and woke up.

import { SluiceError } from '../core/errors.ts';

/** @param root  the job's checkpoint root */
export function ownerLost(root: string, cause: unknown): SluiceError {
  return new SluiceError('OWNER_LOST', {
    message: `another run has taken over the checkpoint directory ${root} while this one was running, so this one must not go on`,
    next: 'fix-the-command',
    advice: 'nothing to do if that was intended; this run has changed nothing since',
    path: root,
    cause,
  });
}
