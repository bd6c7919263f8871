// `sluice run FILE`: builds the job, runs it in this process, shows how it goes and what came out.
import { checkpointRoot, noteRoot, pathOfUri } from '../adapters/embedded/checkpoint-directory.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import { forgetRun, registerRun } from '../adapters/embedded/registry.ts';
import type { RunEvent, RunRequest, RunResult } from '../adapters/embedded/run-types.ts';
import type { Targets } from '../api/targets.ts';
import { useEndpoint } from './aws/endpoint.ts';
import { openBound } from './aws/services.ts';
import type { Call, Command } from './commands.ts';
import { exitCodes, tellFailure } from './failure.ts';
import { type JobCall, prepareJob } from './job-call.ts';
import { checkpointingIsOff, checkpointingIsOffInvocations } from './notices.ts';
import type { Output } from './output.ts';
import { embeddedPorts, ownerOfProcess } from './ports.ts';
import { countedText, countText, Reporter, summaryOf } from './progress.ts';
import { invocationFlags, invocationsRun } from './run-invocations.ts';
import { cancelOnSignals } from './signals.ts';

export const run: Command = async (call: Call): Promise<number> => {
  const { output } = call;
  const invocations = invocationFlags(call);
  useEndpoint(call.arguments.flags);
  const prepared = await prepareJob(call);
  const job = prepared.job.name;
  const { checkpoints, checkpointsDirectory } = prepared.description.settings;
  const root = checkpointRoot(job, checkpointsDirectory, process.cwd());
  const reporter = new Reporter(output, () => performance.now());
  if (checkpoints === undefined)
    reporter.report({ kind: 'notice', message: invocations === undefined ? checkpointingIsOff : checkpointingIsOffInvocations });

  const cancellation = cancelOnSignals((signal) => output.note(`${signal}: cancelling ${job}; once more ends the process at once`));
  let hasStarted = false;
  const report = (event: RunEvent): void => {
    reporter.report(event);
    if (event.kind !== 'started' || hasStarted) return;
    hasStarted = true;
    void register(output, job, root);
  };
  const began = performance.now();
  try {
    // What is wrong with the job is told before the engine is loaded.
    const bound = await openBound(prepared.settings.bind);
    const { targets } = bound ?? {};
    try {
      const start =
        invocations === undefined ? await embeddedRun(targets) : await invocationsRun(call, invocations, { ...prepared, targets });
      const result = await start(requestOf(call, prepared, cancellation.signal, report));
      tellResult(output, job, result);
      return result.state === 'cancelled' ? cancellation.exitCode() : exitCodes.done;
    } finally {
      bound?.close();
    }
  } catch (error) {
    const code = tellFailure(output, error, { job, seconds: Math.round(performance.now() - began) / 1_000 });
    return hasStarted ? exitCodes.failed : code; // a job that ran and failed was not wrongly used, whoever is to blame
  } finally {
    cancellation.end();
    forgetRun(process.cwd(), job, process.pid);
  }
};

type Run = (request: RunRequest) => Promise<RunResult>;

async function embeddedRun(targets: Targets | undefined): Promise<Run> {
  const { runJob } = await import('../adapters/embedded/run.ts');
  return (request) => runJob({ ...embeddedPorts(), ...(targets === undefined ? {} : { targets }) }, request);
}

function requestOf(call: Call, prepared: JobCall, cancel: AbortSignal, report: (event: RunEvent) => void): RunRequest {
  const { flags } = call.arguments;
  const from = flags.get('from')?.[0];
  return {
    job: prepared.job,
    params: prepared.params,
    global: prepared.settings,
    ...(prepared.parallelism === undefined ? {} : { parallelism: prepared.parallelism }),
    ...(from === undefined
      ? {}
      : { from: from === 'latest' || call.arguments.flags.get('runtime')?.[0] === 'invocations' ? from : pathOfUri(from, process.cwd()) }),
    takeOver: flags.has('take-over'),
    allowNonRestoredState: flags.has('allow-non-restored-state'),
    print: (line) => call.output.printed(line),
    report,
    cancel,
    workingDirectory: process.cwd(),
    owner: ownerOfProcess(process.pid),
  };
}

/** Being found by name is a convenience: a working directory that cannot be written must not stop a job. */
async function register(output: Output, job: string, root: string): Promise<void> {
  try {
    registerRun(process.cwd(), job, process.pid);
    await noteRoot(nodeFileSystem, job, root, process.cwd());
  } catch (error) {
    output.note(`${job} cannot be found by its name: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tellResult(output: Output, job: string, result: RunResult): void {
  const { state, recordsIn, recordsOut, seconds, lastCheckpoint, accumulators, counters, workersReplaced } = result;
  output.status('');
  if (state !== 'already-finished') output.note(summaryOf(job, result)); // the run itself has said that there was nothing to do
  if ((result.deadLetters ?? 0) > 0) output.note(`  dead letters: ${lettersText(job, result.deadLetters!)}`);
  for (const [name, count] of Object.entries(counters)) {
    if (count !== 0) output.note(`  ${name}: ${countedText(count, result)}`);
  }
  for (const [name, value] of Object.entries(accumulators)) {
    if (value !== 0) output.note(`  ${name}: ${typeof value === 'number' ? countText(value) : String(value)}`);
  }
  const own = {
    job,
    state,
    events: recordsIn,
    seconds,
    recordsOut,
    lastCheckpoint,
    counters,
    ...(workersReplaced === undefined ? {} : { workersReplaced }),
    ...lettersFields(job, result),
  };
  // An accumulator with the name of one of our fields goes by a longer name, because scripts rely on ours.
  const further = Object.entries(accumulators).map(
    ([name, value]) => [Object.hasOwn(own, name) ? `accumulator.${name}` : name, value] as const,
  );
  output.object({ ...own, ...Object.fromEntries(further) });
}

function lettersText(job: string, letters: number): string {
  const records = letters === 1 ? '1 record could not be processed and is' : `${countText(letters)} records could not be processed and are`;
  return `${records} parked; ${listLettersOf(job)} shows ${letters === 1 ? 'it' : 'them'}`;
}

function listLettersOf(job: string): string {
  return `\`sluice dead-letters list ${job}\``;
}

/** Only a run by invocations parks records. */
function lettersFields(job: string, { deadLetters }: RunResult): Readonly<Record<string, unknown>> {
  if (deadLetters === undefined) return {};
  return { deadLetters, ...(deadLetters === 0 ? {} : { deadLettersCommand: `sluice dead-letters list ${job}` }) };
}
