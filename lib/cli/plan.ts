// `sluice plan FILE`: what the job is made of and what it promises, without running it.
import { compile } from '../graph/compile.ts';
import { renderPlan } from '../graph/render.ts';
import { usageError } from './arguments.ts';
import type { Command } from './commands.ts';
import { prepareJob } from './job-call.ts';
import { checkpointingIsOff } from './notices.ts';

const formats = ['text', 'json', 'dot', 'svg'] as const;
type Format = (typeof formats)[number];

export const plan: Command = async (call) => {
  const { arguments: given, output } = call;
  const asked = given.flags.get('format')?.[0] ?? 'text';
  const format: Format | undefined = formats.find((candidate) => candidate === asked);
  if (format === undefined) throw usageError(`--format is '${asked}', but it must be one of ${formats.join(', ')}`);
  const { description } = await prepareJob(call);
  const compiled = compile(description);
  if (compiled.settings.checkpoints === undefined) output.note(checkpointingIsOff);
  output.text(renderPlan(compiled, format).trimEnd());
  output.object(JSON.parse(renderPlan(compiled, 'json')) as Readonly<Record<string, unknown>>);
  return 0;
};
