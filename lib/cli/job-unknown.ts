import { listRuns } from '../adapters/embedded/registry.ts';
import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';

/** The error for a name under which nothing is found, with the running job that was most likely meant. */
export function jobUnknown(name: string, directory: string, isPath = false): SluiceError {
  const running = listRuns(directory).map((run) => run.job);
  const meant = nearest(name, running);
  const hint = meant !== undefined ? `; did you mean '${meant}'?` : running.length > 0 ? `; running are ${running.join(', ')}` : '';
  return new SluiceError('JOB_UNKNOWN', {
    message: isPath ? `there is nothing at ${name}` : `no job named '${name}' runs or has left checkpoints here${hint}`,
    next: 'fix-the-command',
    advice: 'call it in the directory in which the job was started, or say where its checkpoints are by --set state.checkpoints.dir=…',
    job: isPath ? undefined : name,
  });
}
