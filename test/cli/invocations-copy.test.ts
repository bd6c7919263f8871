// A job's file that was copied: the original and the copy may both go on, and neither takes what the other wrote for its own.
import { cpSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stdinJob } from './jobs.ts';
import { resultOf, type Workplace, workplace } from './support.ts';

const invocations = ['--runtime', 'invocations', '--json'];
const slow = 120_000;

/** Takes a line, completes a checkpoint with it, and is killed. */
async function killedBehindCheckpoint(): Promise<Workplace> {
  const place = workplace({ 'job.ts': stdinJob });
  const run = place.start(['run', 'job.ts', ...invocations]);
  run.child.stdin.write('a\n');
  await run.says(/"kind":"checkpoint-completed"/);
  run.child.kill('SIGKILL');
  await run.ended;
  return place;
}

async function goOn(place: Workplace, input: string, ...flags: readonly string[]) {
  const run = place.start(['run', 'job.ts', ...invocations, ...flags]);
  run.child.stdin.end(input);
  const ended = await run.ended;
  return { code: ended.code, error: resultOf(ended).error as { readonly code: string; readonly message: string } | undefined };
}

function lastRow(place: Workplace): unknown {
  const parts = readdirSync(join(place.path, 'out')).filter((name) => !name.startsWith('.'));
  return JSON.parse(
    readFileSync(join(place.path, 'out', parts.toSorted().at(-1)!), 'utf8')
      .trimEnd()
      .split('\n')
      .at(-1)!,
  );
}

test(
  'a copy beside its original goes on by a restore only, under a generation that the original never has',
  async () => {
    const original = await killedBehindCheckpoint();
    const copy = workplace({ 'job.ts': stdinJob });
    cpSync(join(original.path, '.sluice'), join(copy.path, '.sluice'), { recursive: true });
    const refused = await goOn(copy, 'a\n');
    expect([refused.code, refused.error?.code]).toEqual([2, 'STORE_REPLACED']);
    expect(refused.error?.message).toContain(join(original.path, '.sluice'));
    expect(await goOn(copy, 'a\na\n', '--from', 'latest')).toMatchObject({ code: 0 });
    expect(lastRow(copy)).toEqual({ line: 'a', n: 3 });
    const { stdout } = await copy.sluice('checkpoints', 'list', 'typed', '--json');
    expect(stdout).toMatch(/"generation":1\d{9}/);
    expect(await goOn(original, 'a\n')).toMatchObject({ code: 0 });
    expect(lastRow(original)).toEqual({ line: 'a', n: 2 });
  },
  slow,
);

test(
  'one that was moved goes on as ever',
  async () => {
    const place = await killedBehindCheckpoint();
    const elsewhere = workplace({ 'job.ts': stdinJob });
    renameSync(join(place.path, '.sluice'), join(elsewhere.path, '.sluice'));
    expect(await goOn(elsewhere, 'a\n')).toMatchObject({ code: 0 });
    expect(lastRow(elsewhere)).toEqual({ line: 'a', n: 2 });
  },
  slow,
);
