// `sluice state get NAME`: the value of one key as the newest committed entry has it, while the job runs or stands still.

import { lookUpState } from '../adapters/invocations/state-look-up.ts';
import { loadPlan, servicesOf } from '../adapters/invocations/tools.ts';
import type { Command } from './commands.ts';
import { invocationsJob, jsonOrText, requiredFlag, voiceOf } from './invocations-job.ts';
import { loadJob } from './job-file.ts';
import { jsonText } from './json-text.ts';

export const stateGet: Command = async (call) => {
  const { output } = call;
  const wanted = {
    operator: requiredFlag(call, 'operator'),
    state: requiredFlag(call, 'state'),
    key: jsonOrText(requiredFlag(call, 'key')),
  };
  const opened = await invocationsJob(call);
  try {
    const services = servicesOf(opened, await loadPlan(opened, loadJob), voiceOf(call));
    const found = await lookUpState(services, wanted);
    output.text(found.value === undefined ? `nothing is kept for ${jsonText(wanted.key)}` : jsonText(found.value));
    output.object({ job: opened.job, state: 'done', operator: wanted.operator, name: wanted.state, key: wanted.key, ...found });
    return 0;
  } finally {
    opened.close();
  }
};
