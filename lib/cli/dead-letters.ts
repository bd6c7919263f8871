// `sluice dead-letters list|show|redrive NAME`: records that could not be processed and were parked, whole, in their place.

import { itemOf, loadPlan, type OpenedJob, servicesOf } from '../adapters/invocations/tools.ts';
import { SluiceError } from '../core/errors.ts';
import type { JobItem, JobStatus } from '../invocation/job-item.ts';
import { Environment } from '../invocation/unit/environment.ts';
import { type ListedLetter, letterFields, listLetters } from '../invocation/unit/look.ts';
import type { UnitServices } from '../invocation/unit/services.ts';
import { usageError } from './arguments.ts';
import type { Call, Command } from './commands.ts';
import { invocationsJob, refuseWhenGone, voiceOf } from './invocations-job.ts';
import { loadJob } from './job-file.ts';
import { letterTable, letterText, outcomeText } from './letter-texts.ts';

async function withServices(call: Call, work: (opened: OpenedJob, services: UnitServices) => Promise<number>): Promise<number> {
  const opened = await invocationsJob(call);
  try {
    await refuseWhenGone(opened);
    return await work(opened, servicesOf(opened, await loadPlan(opened, loadJob), voiceOf(call)));
  } finally {
    opened.close();
  }
}

export const list: Command = (call) =>
  withServices(call, async ({ job }, services) => {
    const letters = (await listLetters(services)).map(letterFields);
    call.output.text(letterTable(letters));
    call.output.object({ job, state: 'done', letters });
    return 0;
  });

export const show: Command = (call) =>
  withServices(call, async ({ job }, services) => {
    const letters = chosenOf(call, await listLetters(services), true).map(letterFields);
    for (const letter of letters) call.output.text(letterText(letter));
    call.output.object({ job, state: 'done', letters });
    return 0;
  });

export const redrive: Command = (call) =>
  withServices(call, async (opened, services) => {
    const { job } = opened;
    refuseRedrive(await itemOf(opened));
    const environment = new Environment(services);
    const results: Readonly<Record<string, unknown>>[] = [];
    for (const { id, subtask } of chosenOf(call, await listLetters(services), false)) {
      const answer = await environment.invoke({ kind: 'redrive', subtask, letter: id });
      const result = { letter: id, outcome: answer.kind === 'done' ? 'redriven' : answer.why };
      call.output.text(outcomeText(result));
      results.push(result);
    }
    const isDone = results.every(({ outcome }) => outcome === 'redriven');
    call.output.object({ job, state: isDone ? 'done' : 'refused', letters: results });
    return isDone ? 0 : 1;
  });

/** What has to be done first, by what the job is doing: a changelog that is sealed takes nothing. */
const beforeRedrive: Readonly<Partial<Record<JobStatus, (job: string) => string>>> = {
  pausing: (job) => `\`sluice resume ${job}\` first, then redrive`,
  paused: (job) => `\`sluice resume ${job}\` first, then redrive`,
  failing: (job) => `mend what it failed of, \`sluice resume ${job}\`, then redrive`,
  failed: (job) => `mend what it failed of, \`sluice resume ${job}\`, then redrive`,
  cancelling: () => 'run it with --from latest, then redrive what is parked there',
  cancelled: () => 'run it with --from latest, then redrive what is parked there',
  finished: (job) =>
    `its last checkpoint is final and nothing may follow it; \`sluice dead-letters show ${job} --json\` gives the records, to be fed to a job of another name`,
};

/** @throws SluiceError `JOB_NOT_IN_STATE` */
function refuseRedrive({ job, status }: JobItem): void {
  const advice = beforeRedrive[status]?.(job);
  if (advice === undefined) return;
  const message = `${job} is ${status}, and parked records can be redriven only while it runs; they stay parked`;
  throw new SluiceError('JOB_NOT_IN_STATE', { message, next: 'fix-the-command', advice, job });
}

/** @param isAllMeant  without a choice all of them */
function chosenOf({ arguments: given, shape }: Call, letters: readonly ListedLetter[], isAllMeant: boolean): readonly ListedLetter[] {
  const ids = given.flags.get('letter') ?? [];
  if (ids.length > 0 && given.flags.has('all')) throw usageError('--letter and --all are given both');
  if (ids.length === 0 && !isAllMeant && !given.flags.has('all'))
    throw usageError(`\`sluice ${shape.name}\` needs --letter, once for each, or --all`);
  return ids.length === 0 ? letters : ids.map((id) => findOne(letters, id));
}

function findOne(letters: readonly ListedLetter[], id: string): ListedLetter {
  const found = letters.find((letter) => letter.id === id);
  if (found !== undefined) return found;
  throw usageError(`there is no dead letter '${id}'`, { letter: id });
}
