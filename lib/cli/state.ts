// `sluice state get NAME`: the value of one key as the newest committed entry has it, while the job runs or stands still.

import { lookUpState } from '../adapters/invocations/state-look-up.ts';
import { loadPlan, servicesOf } from '../adapters/invocations/tools.ts';
import { isSluiceError } from '../core/errors.ts';
import { usageError } from './arguments.ts';
import type { Command } from './commands.ts';
import { invocationsJob, jsonOrText, refuseWhenGone, requiredFlag, voiceOf } from './invocations-job.ts';
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
    await refuseWhenGone(opened);
    const services = servicesOf(opened, await loadPlan(opened, loadJob), voiceOf(call));
    const found = await lookUpState(services, wanted).catch((error: unknown) => {
      throw withKeyTold(error, wanted.key);
    });
    output.text(found.found ? jsonText(found.value) : nothingKept(wanted.key, found.value));
    output.object({ job: opened.job, state: 'done', operator: wanted.operator, name: wanted.state, key: wanted.key, ...found });
    return 0;
  } finally {
    opened.close();
  }
};

/** The key is of the command line, not of the job. */
function withKeyTold(error: unknown, key: unknown): unknown {
  if (!isSluiceError(error) || error.code !== 'KEY_NOT_SUPPORTED') return error;
  const asText = key === null || typeof key === 'boolean' ? `; the text is written as --key '"${String(key)}"'` : '';
  return usageError(`--key is ${jsonText(key)}, which no key can be${asText}`, { cause: error });
}

/** What a job reads there is its default, which says nothing about the key. */
function nothingKept(key: unknown, fallback: unknown): string {
  const isEmpty = fallback === undefined || (Array.isArray(fallback) && fallback.length === 0);
  return `nothing is kept for ${jsonText(key)}${isEmpty ? '' : `; a job reads its default, ${jsonText(fallback)}`}`;
}
