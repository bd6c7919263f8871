// A worker process: one environment of a job. It does one invocation at a time, keeps what it knows of subtasks as a cache, and may be killed or
// stopped at any moment.

import type { Job } from '../../api/job.ts';
import type { Targets } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Plan } from '../../graph/plan.ts';
import { createEnvironment } from '../../invocation/unit/create-environment.ts';
import type { Environment } from '../../invocation/unit/environment.ts';
import type { Printer, PrintPlace } from '../../invocation/unit/services.ts';
import { nodeByteStreams } from '../embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../embedded/node-file-system.ts';
import { systemClock, systemRandom } from '../embedded/system-clock.ts';
import { openSqlitePorts } from '../sqlite/sqlite-ports.ts';
import { decodeInvocation, type FromWorker, type LinePlace, type ToWorker, toldError, type WorkerStart } from './ipc.ts';
import { loggedPlan } from './logged-plan.ts';
import { planOf } from './plan-of.ts';
import { WorkLog } from './work-log.ts';

export interface WorkerOptions {
  /** Loads the job of a module. */
  readonly load: (file: string) => Promise<Job>;
  /** Opens what names of the job are bound to, but files; `undefined`: nothing is. */
  readonly openTargets: (bind: Readonly<Record<string, string>>) => Promise<Targets | undefined>;
  readonly process: NodeJS.Process;
}

/** What the environment keeps free at the end of an invocation; a worker is not killed at its deadline, so it may use that too. */
const reserveMs = 2_000;

/** Serves the process that forked this one until it goes. */
export function serveInvocations(o: WorkerOptions): void {
  const { process } = o;
  const say = (message: FromWorker): void => {
    if (process.connected) process.send?.(message, () => {});
  };
  let environment: Environment | undefined;
  const log = new WorkLog();

  const open = async (start: WorkerStart): Promise<void> => {
    try {
      environment = await openEnvironment(o, start, {
        log,
        print: (line, place) => say({ kind: 'print', line, place }),
        report: (message) => say({ kind: 'notice', message }),
      });
      say({ kind: 'ready' });
    } catch (error) {
      say({ kind: 'unusable', error: toldError(error) });
    }
  };

  const invoke = async ({ id, invocation, leftMs }: ToWorker & { readonly kind: 'invoke' }): Promise<void> => {
    try {
      const deadlineMs = systemClock.now() + leftMs + reserveMs;
      const answer = await environment!.invoke(decodeInvocation(invocation), { deadlineMs });
      say({ kind: 'answer', id, answer, counts: log.takeCounts() });
    } catch (error) {
      say({ kind: 'failed', id, error: toldError(error), counts: log.takeCounts() });
    }
  };

  process.on('message', (message) => {
    const told = message as ToWorker;
    if (told.kind === 'start') void open(told.start);
    else if (told.kind === 'invoke') void invoke(told);
    else if (told.kind === 'accumulators') say({ kind: 'accumulated', id: told.id, results: log.accumulated(told.values) });
    else process.exit(0);
  });
  // Nobody waits for an answer any more, and what is half done may be left so at any point.
  process.on('disconnect', () => process.exit(0));
  // A signal to the whole group of a terminal is for the main process to act on.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
}

export interface WorkerVoice {
  readonly log: WorkLog;
  readonly print: (line: string, place?: LinePlace) => void;
  readonly report: (line: string) => void;
}

async function openEnvironment(o: WorkerOptions, start: WorkerStart, voice: WorkerVoice): Promise<Environment> {
  const job = await o.load(start.file);
  const plan = planOf({ ...start, job, params: new Map(start.params) });
  if (plan.hash !== start.planHash) throw builtDifferently(plan);
  const ports = openSqlitePorts({ path: start.database, job: plan.job, clock: systemClock });
  const logged = loggedPlan(plan, { objects: ports.objects, clock: systemClock });
  const machine = { clock: systemClock, random: systemRandom, files: nodeFileSystem, streams: nodeByteStreams };
  return createEnvironment({
    ...machine,
    targets: await o.openTargets(start.global.bind ?? {}),
    plan: logged.plan,
    ports,
    observer: voice.log,
    printerOf: printerOf(voice),
    print: voice.print,
    report: voice.report,
  });
}

function printerOf(voice: WorkerVoice): (place: PrintPlace) => Printer {
  return (place) => {
    let index = 0;
    return (line) => voice.print(line, { ...place, index: index++ });
  };
}

function builtDifferently(plan: Plan): SluiceError {
  return new SluiceError('PLAN_CHANGED', {
    message: `job ${plan.job} was built to another plan in a worker process than in the main one`,
    next: 'fix-the-job',
    advice: 'let the build function depend on its parameters only, not on the time, chance or the process',
  });
}
