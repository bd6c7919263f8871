// `--runtime invocations`: what a run and its commands have to say, so that nobody is left to find it out.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countInput, countJob, jobAround } from './jobs.ts';
import { objectsOf, resultOf, type Started, type Workplace, workplace } from './support.ts';

const invocations = ['--runtime', 'invocations', '--workers', '1'];
/** Several runs, each of which starts several processes. */
const slow = 120_000;

/** Upper-cases lines of standard input into files; the line `bad` throws. */
function linesJob(cleanup: 'RETAIN' | 'DELETE' = 'RETAIN'): string {
  return `
import { defineJob, fileSink, lines, stdin, valueState } from 'sluice';
export default defineJob('typed', (env, params) => {
  const mark = params.get('mark', '!');
  env.enableCheckpointing('50 ms', { externalizedCleanup: '${cleanup}_ON_CANCELLATION', tolerableFailures: 100, numRetained: 9 });
  env.fromSource(stdin({ format: lines() }), { uid: 'in' })
    .keyBy((line) => line)
    .process({
      state: { n: valueState({ default: () => 0 }) },
      processElement(line, ctx, out) {
        if (line === 'bad') throw new Error('no such line');
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect(line + mark);
      },
    })
    .uid('count')
    .sinkTo(fileSink({ path: 'out', format: lines() }), { uid: 'out' });
});
`;
}

const run = ['run', 'job.ts', ...invocations];

/** Starts the job of lines and takes it to its first checkpoint. */
async function begun(place: Workplace, input = 'a\n'): Promise<Started> {
  const started = place.start([...run, '--json']);
  started.child.stdin.write(input);
  await started.says(/"kind":"checkpoint-completed"/);
  return started;
}

function linesOut(place: Workplace): readonly string[] {
  const parts = readdirSync(join(place.path, 'out')).filter((name) => !name.startsWith('.'));
  return parts.sort().flatMap((name) =>
    readFileSync(join(place.path, 'out', name), 'utf8')
      .split('\n')
      .slice(0, -1),
  );
}

function errorOf(ended: Parameters<typeof resultOf>[0]): { readonly code?: unknown; readonly text?: unknown } {
  return (resultOf(ended).error ?? {}) as { readonly code?: unknown; readonly text?: unknown };
}

test('a restore to an older checkpoint reads standard input again from what was written down of it', async () => {
  const place = workplace({ 'job.ts': linesJob() });
  const first = await begun(place);
  first.child.stdin.end('b\n');
  expect((await first.ended).code).toBe(0);
  const { checkpoints } = resultOf(await place.sluice('checkpoints', 'list', 'typed', '--json')) as {
    readonly checkpoints: readonly { readonly checkpoint: number }[];
  };
  const restored = await place.sluice(...run, '--from', String(checkpoints[0]!.checkpoint), '--json');
  expect(resultOf(restored)).toMatchObject({ state: 'finished' });
  for (const key of ['a', 'b']) {
    const got = await place.sluice('state', 'get', 'typed', '--operator', 'count', '--state', 'n', '--key', key, '--json');
    expect(resultOf(got)).toMatchObject({ found: true, value: 1 });
  }
}, 60_000);

describe('a run that has parked records', () => {
  test(
    'tells how many and which command shows them, also when it is called again; a finished job says why they are not redriven',
    async () => {
      const place = workplace({ 'job.ts': linesJob() });
      const first = place.start(run);
      first.child.stdin.end('a\nbad\nb\n');
      const ended = await first.ended;
      const told = 'dead letters: 1 record could not be processed and is parked; `sluice dead-letters list typed` shows it';
      expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining(told)]);
      expect(readdirSync(join(place.path, 'out')).filter((name) => name.startsWith('.'))).toEqual([]);
      expect(resultOf(await place.sluice(...run, '--json'))).toMatchObject({
        state: 'already-finished',
        deadLetters: 1,
        deadLettersCommand: 'sluice dead-letters list typed',
      });
      const redriven = await place.sluice('dead-letters', 'redrive', 'typed', '--all', '--json');
      expect([redriven.code, errorOf(redriven).code]).toEqual([2, 'JOB_NOT_IN_STATE']);
      expect(errorOf(redriven).text).toMatch(/is finished.*stay parked\n.*dead-letters show typed --json/);
      expect((await place.sluice('pause', 'typed')).stderr).toContain('is finished and cannot be paused');
    },
    slow,
  );
});

describe('a run that goes on', () => {
  test(
    'says which parameters are not those of the run before, and, at an older checkpoint, what is undone and stays visible',
    async () => {
      const place = workplace({ 'job.ts': linesJob() });
      const first = await begun(place);
      first.child.stdin.end('b\n');
      const [oldest] = objectsOf(await first.ended).filter(({ kind }) => kind === 'checkpoint-completed');
      const again = place.start([...run, '--from', String(oldest!.checkpoint), '--mark', '?']);
      again.child.stdin.end();
      const { code, stderr } = await again.ended;
      expect(code, stderr).toBe(0);
      expect(stderr).toContain("typed goes on with other parameters: --mark was not given and is '?'");
      expect(stderr).toMatch(new RegExp(`checkpoint ${oldest!.checkpoint} is older than \\d+: .* is visible and stays so`));
    },
    slow,
  );

  test('without checkpointing it is told what is true of this runtime', async () => {
    const place = workplace({ 'job.ts': jobAround(`env.fromSequence(1, 2, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`) });
    const { stderr } = await place.sluice(...run);
    expect(stderr).toContain('state is kept with each batch all the same');
    expect(stderr).not.toContain('state is lost');
  });

  test('of a job that both runtimes have run in one directory, commands say which run they are about', async () => {
    const place = workplace({ 'job.ts': countJob, 'in.ndjson': countInput });
    const words = ['run', 'job.ts', '--input', 'in.ndjson'];
    await place.sluice(...words);
    await place.sluice(...words, ...invocations);
    const listed = await place.sluice('checkpoints', 'list', 'counts');
    expect(listed.stderr).toContain('both runtimes have run counts in .sluice/counts; this is about the run by invocations');
    await place.sluice(...words);
    const since = await place.sluice('checkpoints', 'list', 'counts');
    expect(since.stderr).toContain(
      'this is about the embedded run, which is the newer one; the other is meant by .sluice/counts/invocations.db',
    );
    expect((await place.sluice('checkpoints', 'list', '.sluice/counts/invocations.db')).stdout).toContain('invocations.db#');
    expect((await place.sluice('dead-letters', 'list', 'counts')).stdout).toBe('no dead letter\n');
  });
});

describe('a job that is cancelled', () => {
  test('without retention says later that its state was removed', async () => {
    const place = workplace({ 'job.ts': linesJob('DELETE') });
    const started = await begun(place);
    started.child.kill('SIGTERM');
    expect((await started.ended).code).toBe(143);
    for (const words of [
      ['state', 'get', 'typed', '--operator', 'count', '--state', 'n', '--key', 'a'],
      ['dead-letters', 'list', 'typed'],
    ]) {
      const { code, stderr } = await place.sluice(...words);
      expect([code, stderr]).toEqual([2, expect.stringContaining('its changelogs were removed with all its state')]);
    }
  });

  test('while its process is stopped, the command says so and waits until it is continued', async () => {
    const place = workplace({ 'job.ts': linesJob() });
    const started = await begun(place);
    const pid = started.child.pid!;
    started.child.kill('SIGSTOP');
    const cancel = place.start(['cancel', 'typed']);
    await cancel.says(`process ${pid}, which is stopped: it goes on with \`kill -CONT ${pid}\``);
    started.child.kill('SIGCONT');
    expect((await cancel.ended).stdout).toBe('typed is cancelled\n');
    expect((await started.ended).code).toBe(143);
  });

  test(
    'ends on SIGTERM though a target refuses what was promised; the rows are kept, and visible after a run once the target takes them',
    async () => {
      const place = workplace({ 'job.ts': linesJob() });
      const started = place.start([...run, '--json']);
      await started.says(/"kind":"started"/);
      while (!existsSync(join(place.path, 'out'))) await new Promise((resolve) => setImmediate(resolve));
      const foreign = Array.from({ length: 40 }, (_, n) =>
        [0, 1].map((subtask) => join(place.path, `out/part-${subtask}-${String(n + 1).padStart(10, '0')}.txt`)),
      ).flat();
      for (const path of foreign) writeFileSync(path, 'not ours');
      started.child.stdin.write('a\n');
      await started.says('OUTPUT_CONFLICT');
      started.child.kill('SIGTERM');
      const ended = await started.ended;
      expect(ended.code, ended.stdout).toBe(143);
      expect(ended.stdout).toContain('promised is not visible yet, and is kept');
      for (const path of foreign) rmSync(path);
      const again = place.start([...run, '--from', 'latest']);
      again.child.stdin.end();
      const later = await again.ended;
      expect(later.code, later.stderr).toBe(0);
      expect(linesOut(place)).toEqual(['a!']);
    },
    slow,
  );
});

describe('a place that cannot be written', () => {
  test('is told as one by its name', async () => {
    const place = workplace({ 'job.ts': linesJob(), taken: '' });
    const refused = await place.sluice(...run, '--set', 'state.checkpoints.dir=taken/below', '--json');
    expect([refused.code, errorOf(refused).code]).toEqual([2, 'CHECKPOINT_DIRECTORY_NOT_WRITABLE']);
    expect(errorOf(refused).text).toContain('taken/below/typed cannot be made');
  });
});
