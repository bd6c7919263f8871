// Worker processes of this machine. They end with the main process: a channel that is closed says that nobody waits for an answer.

import { fork } from 'node:child_process';
import type { FromWorker, WorkerStart } from './ipc.ts';
import type { WorkerEvents, WorkerHandle } from './worker-pool.ts';

/**
 * Forks a worker and hands it the job.
 * @param module  of the worker, which calls `serveInvocations`
 */
export function startWorker(module: URL, start: WorkerStart, events: WorkerEvents): WorkerHandle {
  // What a worker prints would get between the lines of a result; prints of the job come as messages, and errors are worth seeing.
  const child = fork(module, [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.on('message', (message) => events.message(message as FromWorker));
  child.on('error', () => {}); // a message to a worker that has just died; its exit is told anyway
  child.on('exit', (code, signal) => events.exit(signal === null ? `ended with ${code}` : `was ended by ${signal}`));
  const handle: WorkerHandle = {
    pid: child.pid ?? 0,
    send(message) {
      if (child.connected) child.send(message, () => {});
    },
    kill(signal) {
      child.kill(signal);
    },
  };
  handle.send({ kind: 'start', start });
  return handle;
}
