// `sluice checkpoints list|show` and restores that are refused.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countInput, countJob, endlessCountJob, endlessJob } from './jobs.ts';
import { resultOf, stackTrace, type Workplace, workplace } from './support.ts';

/** A place in which the counting job has finished. @returns it, and the path of the last checkpoint */
async function afterARun(): Promise<{ readonly place: Workplace; readonly path: string; readonly checkpoint: number }> {
  const place = workplace({ 'job.ts': countJob, 'in.ndjson': countInput });
  const ended = await place.sluice('run', 'job.ts', '--input', 'in.ndjson');
  expect(ended.code, ended.stderr).toBe(0);
  const last = (
    resultOf(await place.sluice('checkpoints', 'list', 'counts', '--json')).checkpoints as { path: string; checkpoint: number }[]
  ).at(-1)!;
  return { place, path: last.path, checkpoint: last.checkpoint };
}

describe('list and show', () => {
  test('list names number, trigger, time, size and path, the newest last', async () => {
    const { place, path, checkpoint } = await afterARun();
    const { stdout, code } = await place.sluice('checkpoints', 'list', 'counts');
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^number +trigger +taken +duration +size +path$/);
    expect(lines.at(-1)).toMatch(new RegExp(`^ *${checkpoint} +end-of-input .*${path}$`));
  });

  test('show names the state of each operator, by the name of the job or by a path', async () => {
    const { place, path, checkpoint } = await afterARun();
    for (const wanted of ['counts', path]) {
      const { stdout, code, stderr } = await place.sluice('checkpoints', 'show', wanted);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain(`checkpoint ${checkpoint} of counts, which had finished`);
      expect(stdout).toMatch(/^count +1 .*n \(value\)/m);
    }
    const shown = resultOf(await place.sluice('checkpoints', 'show', 'counts', '--json'));
    expect(shown).toMatchObject({ job: 'counts', checkpoint, isFinished: true });
    const count = (shown.operators as readonly { readonly uid: string; readonly bytes: number }[]).find(({ uid }) => uid === 'count')!;
    expect(count.bytes).toBeGreaterThan(0);
    expect(count).toMatchObject({ parallelism: 1, subtasks: [{ subtask: 0, bytes: count.bytes }] });
  });

  test('they read beside a run, and find a directory that was chosen by a setting', async () => {
    const place = workplace({ 'job.ts': endlessJob });
    const started = place.start(['run', 'job.ts', '--set', 'state.checkpoints.dir=elsewhere', '--json']);
    await started.says('checkpoint-completed');
    const listed = await place.sluice('checkpoints', 'list', 'endless', '--json');
    started.child.kill('SIGTERM');
    await started.ended;
    expect((resultOf(listed).checkpoints as { path: string }[]).at(-1)?.path).toContain('elsewhere');
  });

  test('a damaged checkpoint is named in the list, and refused when it is shown', async () => {
    const { place, path } = await afterARun();
    const metadata = join(path, '_metadata');
    const bytes = readFileSync(metadata);
    bytes[bytes.length - 20]! ^= 0xff;
    writeFileSync(metadata, bytes);
    const listed = await place.sluice('checkpoints', 'list', 'counts');
    expect(listed.stdout).toMatch(/is damaged: .*_metadata/);
    expect(listed.code).toBe(0);
    const shown = await place.sluice('checkpoints', 'show', path);
    expect(shown.stderr).toContain('CHECKPOINT_DAMAGED');
    expect(shown.stderr).not.toMatch(stackTrace);
    expect(shown.code).toBe(1);
  });

  test('a path at which nothing is, and a directory without checkpoints', async () => {
    const place = workplace({ 'empty/x': '' });
    expect((await place.sluice('checkpoints', 'show', './nowhere')).stderr).toContain('there is nothing at ./nowhere');
    const show = await place.sluice('checkpoints', 'show', './empty');
    expect(show.stderr).toContain('no completed checkpoint');
    expect(show.code).toBe(2);
    expect((await place.sluice('checkpoints', 'list', './empty')).stdout).toBe('no completed checkpoint\n');
  });
});

describe('a restore that is refused', () => {
  test('--from a path at which there is no checkpoint', async () => {
    const place = workplace({ 'job.ts': countJob, 'in.ndjson': countInput });
    const { stderr, code } = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', './nowhere');
    expect(stderr).toContain('CHECKPOINT_NOT_FOUND');
    expect(stderr).not.toMatch(stackTrace);
    expect(code).toBe(2);
  });

  test('a checkpoint of another job', async () => {
    const { place, path } = await afterARun();
    place.write({ 'other.ts': countJob.replace("'counts'", "'others'") });
    const { stderr, code } = await place.sluice('run', 'other.ts', '--input', 'in.ndjson', '--from', path);
    expect(stderr).toMatch(/counts/);
    expect(stderr).not.toMatch(stackTrace);
    expect(code).not.toBe(0);
  });

  test('a damaged state file is found before the job starts, by name', async () => {
    const { place, path } = await afterARun();
    const name = readdirSync(path).find((file) => file.startsWith('state-'));
    const target = join(path, name ?? '_metadata');
    const bytes = readFileSync(target);
    bytes[bytes.length >> 1]! ^= 0xff;
    writeFileSync(target, bytes);
    const moved = join(place.path, 'moved');
    renameSync(path, moved);
    const { stderr, stdout, code } = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', moved);
    expect(stderr).toContain('CHECKPOINT_DAMAGED');
    expect(stderr).toContain(name ?? '_metadata');
    expect([code, stdout]).toEqual([1, '']);
  });

  test('a checkpoint of a newer format is told from a damaged one, and an older one is not taken instead', async () => {
    const { place, path } = await afterARun();
    const bytes = readFileSync(join(path, '_metadata'));
    bytes[0] = 99;
    writeFileSync(join(path, '_metadata'), bytes);
    const { stderr, code } = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', 'latest');
    expect(stderr).toContain('FORMAT_NEWER');
    expect(stderr).toContain('99');
    expect(stderr).not.toMatch(stackTrace);
    expect(code).not.toBe(0);
  });

  test('state that no operator wants is refused by its name, unless --allow-non-restored-state', async () => {
    const place = workplace({ 'job.ts': endlessCountJob('count'), 'renamed.ts': endlessCountJob('other') });
    const started = place.start(['run', 'job.ts', '--json']);
    await started.says('checkpoint-completed');
    started.child.kill('SIGTERM');
    await started.ended;
    const refused = await place.sluice('run', 'renamed.ts', '--from', 'latest');
    expect(refused.stderr).toContain("'count'");
    expect(refused.stderr).not.toMatch(stackTrace);
    expect(refused.code).not.toBe(0);
    const allowed = place.start(['run', 'renamed.ts', '--from', 'latest', '--allow-non-restored-state', '--json']);
    await allowed.says('checkpoint-completed');
    allowed.child.kill('SIGTERM');
    expect((await allowed.ended).code).toBe(143);
  });

  test('a file that is no checkpoint at all', async () => {
    const place = workplace({ 'job.ts': countJob, 'in.ndjson': countInput });
    mkdirSync(join(place.path, 'odd'));
    appendFileSync(join(place.path, 'odd/_metadata'), 'hello');
    const { stderr, code } = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', './odd');
    expect(stderr).toContain('_metadata');
    expect(stderr).not.toMatch(stackTrace);
    expect(code).toBe(1);
  });
});
