// The flags of `--runtime invocations`, and how a run with them is started.
import type { RunRequest, RunResult } from '../adapters/embedded/run-types.ts';
import type { Targets } from '../api/targets.ts';
import { positiveInteger, usageError } from './arguments.ts';
import type { Call } from './commands.ts';
import type { JobCall } from './job-call.ts';
import { workerModule } from './package.ts';

export interface InvocationFlags {
  readonly workers: number;
  readonly isChaotic: boolean;
}

const workersDefault = 2;
const workersMax = 64; // each is a process that loads the job
const runtimes = ['embedded', 'invocations'];
const chaosSeedVariable = 'SLUICE_CHAOS_SEED';

/** @returns `undefined` for the embedded runtime. @throws SluiceError `COMMAND_LINE_INVALID` */
export function invocationFlags({ arguments: { flags } }: Call): InvocationFlags | undefined {
  const runtime = flags.get('runtime')?.[0] ?? 'embedded';
  if (!runtimes.includes(runtime)) throw usageError(`--runtime is '${runtime}', but it must be one of ${runtimes.join(', ')}`);
  const workers = flags.get('workers')?.[0];
  if (runtime === 'embedded') {
    if (workers !== undefined) throw usageError('--workers is for --runtime invocations; the embedded runtime has one process');
    if (flags.has('chaos')) throw usageError('--chaos is for --runtime invocations');
    return undefined;
  }
  const from = flags.get('from')?.[0];
  if (from !== undefined && from !== 'latest' && !/^[1-9][0-9]*$/.test(from))
    throw usageError(`--from is '${from}', but with --runtime invocations it must be latest or the number of a checkpoint`);
  return {
    workers: workers === undefined ? workersDefault : positiveInteger('--workers', workers, workersMax),
    isChaotic: flags.has('chaos'),
  };
}

/** Loads the runtime. */
export async function invocationsRun(
  { arguments: given, output }: Call,
  flags: InvocationFlags,
  { settings, targets }: Pick<JobCall, 'settings'> & { readonly targets: Targets | undefined },
): Promise<(request: RunRequest) => Promise<RunResult>> {
  const { runInvocations } = await import('../adapters/invocations/run.ts');
  const chaos = flags.isChaotic
    ? await chaosOf((seed) => output.note(`chaos with seed ${seed}; ${chaosSeedVariable}=${seed} draws it again`))
    : undefined;
  return (request) =>
    runInvocations({
      ...request,
      targets,
      file: given.positionals[0]!,
      worker: workerModule(),
      workers: flags.workers,
      redeliveryMs: settings.redeliveryMs,
      recordsMax: settings.eventRecordsMax,
      chaos,
    });
}

async function chaosOf(tell: (seed: number) => void) {
  const { seededRandom } = await import('../testing/seeded-random.ts');
  const { systemRandom } = await import('../adapters/embedded/system-clock.ts');
  const given = process.env[chaosSeedVariable];
  if (given !== undefined && !/^[0-9]{1,10}$/.test(given))
    throw usageError(`${chaosSeedVariable} is '${given}', but it must be a whole number`);
  const seed = given === undefined ? systemRandom.bits() % 1_000_000 : Number(given);
  tell(seed);
  return { random: seededRandom(seed) };
}
