import type { RunEntry } from '../adapters/embedded/registry.ts';
import { SluiceError } from '../core/errors.ts';

/** Asks the process of a job to cancel it. @throws SluiceError `CANCEL_REFUSED` */
export function askToCancel({ job, pid }: Pick<RunEntry, 'job' | 'pid'>): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return; // it has ended by itself in the meantime
    throw new SluiceError('CANCEL_REFUSED', { message: `process ${pid} cannot be asked to cancel`, next: 'fix-the-command', cause, job });
  }
}
