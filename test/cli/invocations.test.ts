// `--runtime invocations`: how a run ends, what it goes on from, and the commands on such a job.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countInput, countJob, jobAround, stdinJob } from './jobs.ts';
import { type Ended, objectsOf, resultOf, stackTrace, type Workplace, workplace } from './support.ts';

const invocations = ['--runtime', 'invocations'];
const counted = { 'job.ts': countJob, 'in.ndjson': countInput };
/** Several runs, each of which starts several processes. */
const slow = 180_000;
const countWords = ['run', 'job.ts', '--input', 'in.ndjson', ...invocations];

function rowsOf(place: Workplace, directory = 'out'): readonly Readonly<Record<string, unknown>>[] {
  const parts = existsSync(join(place.path, directory)) ? readdirSync(join(place.path, directory)) : [];
  return parts
    .filter((name) => !name.startsWith('.'))
    .sort()
    .flatMap((name) =>
      readFileSync(join(place.path, directory, name), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function codeOf(ended: Ended): unknown {
  return (resultOf(ended).error as { readonly code?: unknown } | undefined)?.code;
}

describe('a run by invocations', () => {
  test('ends as the embedded one does: rows, result, accumulators, exit code', async () => {
    const place = workplace(counted);
    const ended = await place.sluice(...countWords, '--json');
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(resultOf(ended)).toMatchObject({ job: 'counts', state: 'finished', events: 4, recordsOut: 4, rows: 4 });
    const kinds = objectsOf(ended).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'print')).toHaveLength(4);
    expect(kinds).toContain('started');
    expect(kinds).toContain('checkpoint-completed');
  });

  test('again on a finished job it runs nothing, says so, and exits with 0', async () => {
    const place = workplace(counted);
    await place.sluice(...countWords);
    const again = await place.sluice(...countWords);
    expect(again.code).toBe(0);
    expect(again.stdout).toBe('');
    expect(again.stderr).toMatch(
      /^counts had finished with checkpoint \d+; nothing is run, and no input is taken: to begin afresh, remove .*invocations\.db\*$/m,
    );
    const fromLatest = resultOf(await place.sluice(...countWords, '--from', 'latest', '--json'));
    expect(fromLatest).toMatchObject({ state: 'already-finished', rows: 4 }); // the accumulator of the run that finished
  });

  test('parallelism above the number of splits ends too', async () => {
    const ended = await workplace(counted).sluice(...countWords, '--parallelism', '3', '--workers', '1', '--json');
    expect(resultOf(ended)).toMatchObject({ state: 'finished', events: 4, rows: 4 });
  });

  test('input that is missing and output that cannot be written are told before a job begins', async () => {
    const place = workplace({
      ...counted,
      taken: '',
      'files.ts': jobAround(`env.fromSequence(1, 3, { uid: 'n' }).sinkTo(fileSink({ path: 'taken', format: ndjson() }), { uid: 'out' });`),
    });
    const missing = await place.sluice('run', 'job.ts', '--input', 'no.ndjson', ...invocations, '--json');
    expect([missing.code, codeOf(missing)]).toEqual([2, 'INPUT_NOT_FOUND']);
    expect(missing.stderr).not.toMatch(stackTrace);
    const unwritable = await place.sluice('run', 'files.ts', ...invocations, '--json');
    expect([unwritable.code, codeOf(unwritable)]).toEqual([2, 'OUTPUT_NOT_WRITABLE']);
    expect(codeOf(await place.sluice('checkpoints', 'list', 'counts', '--json'))).toBe('JOB_UNKNOWN');
  });

  test('a plan that has changed is refused, and the job goes on with the old one', async () => {
    const place = workplace(counted);
    await place.sluice(...countWords);
    place.write({ 'job.ts': countJob.replace(".uid('count')", ".uid('counted')") });
    const refused = await place.sluice(...countWords, '--json');
    expect(codeOf(refused)).toBe('PLAN_CHANGED');
  });

  test('flags are refused where they do not belong', async () => {
    const place = workplace(counted);
    const refusals: readonly (readonly [string, readonly string[]])[] = [
      ['--runtime', ['--runtime', 'spark']],
      ['--workers', ['--workers', '2']],
      ['--chaos', ['--chaos']],
      ['--workers', [...invocations, '--workers', '0']],
      ['--from', [...invocations, '--from', 'somewhere/chk-1']],
    ];
    for (const [named, words] of refusals) {
      const { code, stderr } = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', ...words);
      expect([code, stderr.includes(`COMMAND_LINE_INVALID: ${named}`)], stderr).toEqual([2, true]);
    }
  });

  test('--from a checkpoint that is not kept is refused', async () => {
    const place = workplace(counted);
    expect(codeOf(await place.sluice(...countWords, '--from', '7', '--json'))).toBe('CHECKPOINT_NOT_FOUND');
    await place.sluice(...countWords);
    expect(codeOf(await place.sluice(...countWords, '--from', '700', '--json'))).toBe('CHECKPOINT_NOT_FOUND');
  });

  test('--chaos changes nothing in what comes out, and prints its seed', async () => {
    const place = workplace(counted);
    const ended = await place.sluice(...countWords, '--chaos', '--set', 'invocations.event-records=1');
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toMatch(/chaos with seed \d+/);
  });
});

describe('standard input', () => {
  test('is counted once, in order, and the job ends with it', async () => {
    const place = workplace({ 'job.ts': stdinJob });
    const run = place.start(['run', 'job.ts', ...invocations, '--json']);
    run.child.stdin.end('a\nb\na\n');
    const ended = await run.ended;
    expect(ended.code, ended.stdout).toBe(0);
    expect(rowsOf(place)).toEqual([
      { line: 'a', n: 1 },
      { line: 'b', n: 1 },
      { line: 'a', n: 2 },
    ]);
  });

  test('what was taken before a kill is not lost and not repeated, and more may follow in the next run', async () => {
    const place = workplace({ 'job.ts': stdinJob });
    const first = place.start(['run', 'job.ts', ...invocations, '--json']);
    first.child.stdin.write('a\nb\n');
    await first.says(/"kind":"checkpoint-completed"/);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = place.start(['run', 'job.ts', ...invocations, '--json']);
    second.child.stdin.end('a\n');
    const ended = await second.ended;
    expect(ended.code, ended.stdout).toBe(0);
    expect(rowsOf(place)).toEqual([
      { line: 'a', n: 1 },
      { line: 'b', n: 1 },
      { line: 'a', n: 2 },
    ]);
  });
});

describe('a record that fails', () => {
  test(
    'is parked after its tries, shown, and redriven once its code is mended',
    async () => {
      const broken = stdinJob.replace(
        'processElement(line, ctx, out) {',
        "processElement(line, ctx, out) { if (line === 'bad') throw new Error('no such line');",
      );
      const place = workplace({ 'job.ts': broken });
      const run = place.start(['run', 'job.ts', ...invocations, '--json']);
      run.child.stdin.write('a\nbad\nb\n');
      await run.says('checkpoint-completed');
      let letters: readonly Readonly<Record<string, unknown>>[] = [];
      while (letters.length === 0)
        letters = resultOf(await place.sluice('dead-letters', 'list', 'typed', '--json')).letters as typeof letters;
      expect(letters).toMatchObject([{ operator: 'count', value: 'bad' }]);
      expect((await place.sluice('dead-letters', 'show', 'typed')).stdout).toContain('no such line');
      const refused = await place.sluice('dead-letters', 'redrive', 'typed', '--all');
      expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('refused (record-failed)')]);
      place.write({ 'job.ts': stdinJob });
      const redriven = await place.sluice('dead-letters', 'redrive', 'typed', '--letter', String(letters[0]!.letter), '--json');
      expect([redriven.code, resultOf(redriven).state], redriven.stdout).toEqual([0, 'done']);
      expect((await place.sluice('dead-letters', 'list', 'typed')).stdout).toBe('no dead letter\n');
      run.child.stdin.end();
      expect((await run.ended).code).toBe(0);
      const rows = rowsOf(place);
      expect(rows).toHaveLength(3);
      expect(rows).toEqual(expect.arrayContaining(['a', 'b', 'bad'].map((line) => ({ line, n: 1 }))));
    },
    slow,
  );
});

describe('commands on a running job', () => {
  test(
    'list checkpoints, show state by key, pause, resume and cancel it',
    async () => {
      const place = workplace({ 'job.ts': stdinJob });
      const run = place.start(['run', 'job.ts', ...invocations, '--json']);
      run.child.stdin.write('a\nb\na\n');
      await run.says(/"kind":"checkpoint-completed"/);

      const listed = resultOf(await place.sluice('checkpoints', 'list', 'typed', '--json'));
      expect(listed).toMatchObject({ job: 'typed', state: 'done' });
      expect((listed.checkpoints as readonly unknown[]).length).toBeGreaterThan(0);
      const shown = resultOf(await place.sluice('checkpoints', 'show', 'typed', '--json'));
      expect(shown).toMatchObject({ job: 'typed', isFinished: false });
      expect(shown.operators).toContainEqual(
        expect.objectContaining({ uid: 'count', keyed: [{ name: 'n', kind: 'value' }], isShared: true, bytes: 0 }),
      );
      const { stdout: told } = await place.sluice('checkpoints', 'show', 'typed');
      expect(told).toMatch(/^ {2}state {5}\d+ B, besides keyed state in the table, which checkpoints share$/m);
      expect(told).toMatch(/^count +1 +in the table +n \(value\)/m);

      const get = ['state', 'get', 'typed', '--operator', 'count', '--state', 'n'];
      expect((await place.sluice(...get, '--key', 'a')).stdout).toBe('2\n');
      expect(resultOf(await place.sluice(...get, '--key', '"b"', '--json'))).toMatchObject({ kind: 'value', value: 1, found: true });
      expect(resultOf(await place.sluice(...get, '--key', 'b {', '--json'))).toMatchObject({ key: 'b {', found: false });
      expect((await place.sluice(...get, '--key', 'null')).stderr).toContain(
        `--key is null, which no key can be; the text is written as --key '"null"'`,
      );
      expect(codeOf(await place.sluice('state', 'get', 'typed', '--operator', 'count', '--state', 'm', '--key', '1', '--json'))).toBe(
        'STATE_UNKNOWN',
      );

      expect(codeOf(await place.sluice('run', 'job.ts', ...invocations, '--json'))).toBe('OWNER_ALIVE');
      expect((await place.sluice('pause', 'typed')).stdout).toBe('typed is paused\n');
      expect((await place.sluice('pause', 'typed')).stdout).toBe('typed is paused\n');
      run.child.stdin.write('a\n');
      expect((await place.sluice('transactions', 'list', 'typed')).code).toBe(0);
      expect((await place.sluice('dead-letters', 'list', 'typed')).stdout).toBe('no dead letter\n');
      const tooEarly = await place.sluice('dead-letters', 'redrive', 'typed', '--all');
      expect([tooEarly.code, tooEarly.stderr]).toEqual([2, expect.stringContaining('`sluice resume typed` first, then redrive')]);
      expect((await place.sluice('resume', 'typed')).stdout).toBe('typed is running\n');
      await run.says(/goes on/);

      run.child.kill('SIGINT');
      expect((await run.ended).code).toBe(130);
    },
    slow,
  );

  test(
    'a cancelled job is not begun again by accident, and goes on from its last checkpoint when that is asked',
    async () => {
      const place = workplace({ 'job.ts': stdinJob });
      const run = place.start(['run', 'job.ts', ...invocations, '--json']);
      run.child.stdin.write('a\na\n');
      await run.says(/"kind":"checkpoint-completed"/);
      const cancelled = await place.sluice('cancel', 'typed');
      expect([cancelled.code, cancelled.stdout], cancelled.stderr).toEqual([0, 'typed is cancelled\n']);
      expect((await run.ended).code).toBe(143);
      expect(codeOf(await place.sluice('run', 'job.ts', ...invocations, '--json'))).toBe('JOB_NOT_IN_STATE');
      const again = place.start(['run', 'job.ts', ...invocations, '--from', 'latest', '--json']);
      again.child.stdin.end('a\n');
      const ended = await again.ended;
      expect(ended.code, ended.stdout).toBe(0);
      expect(
        rowsOf(place)
          .filter(({ line }) => line === 'a')
          .map(({ n }) => n),
      ).toEqual([1, 2, 3]);
    },
    slow,
  );

  test('a job that nobody runs is paused, resumed and cancelled all the same', async () => {
    const place = workplace({ 'job.ts': stdinJob });
    const run = place.start(['run', 'job.ts', ...invocations, '--json']);
    run.child.stdin.write('a\n');
    await run.says(/"kind":"checkpoint-completed"/);
    run.child.kill('SIGKILL');
    await run.ended;
    expect((await place.sluice('pause', 'typed')).stdout).toBe('typed is paused\n');
    expect((await place.sluice('resume', 'typed')).stdout).toBe('typed is running\n');
    expect((await place.sluice('cancel', 'typed')).stdout).toBe('typed is cancelled\n');
    expect((await place.sluice('cancel', 'typed')).stdout).toBe('typed is not running\n');
  });

  test('a job of the embedded runtime is told from one by invocations', async () => {
    const place = workplace(counted);
    await place.sluice('run', 'job.ts', '--input', 'in.ndjson');
    expect(codeOf(await place.sluice('pause', 'counts', '--json'))).toBe('NOT_AVAILABLE_YET');
    expect(codeOf(await place.sluice('pause', 'nobody', '--json'))).toBe('JOB_UNKNOWN');
  });

  test(
    'a stopped owner keeps its job until --take-over, and when it is continued it ends without doing harm',
    async () => {
      const place = workplace({ 'job.ts': stdinJob });
      const first = place.start(['run', 'job.ts', ...invocations, '--json']);
      first.child.stdin.write('a\n');
      await first.says(/"kind":"checkpoint-completed"/);
      first.child.kill('SIGSTOP');
      const refused = await place.sluice('run', 'job.ts', ...invocations, '--json');
      expect(codeOf(refused)).toBe('OWNER_ALIVE');
      expect(JSON.stringify(resultOf(refused))).toContain(`process ${first.child.pid}`);
      const second = place.start(['run', 'job.ts', ...invocations, '--take-over', '--json']);
      second.child.stdin.end('a\n');
      expect((await second.ended).code).toBe(0);
      first.child.kill('SIGCONT');
      const lost = await first.ended;
      expect([lost.code, codeOf(lost)]).toEqual([1, 'OWNER_LOST']);
      expect(rowsOf(place)).toEqual([
        { line: 'a', n: 1 },
        { line: 'a', n: 2 },
      ]);
    },
    slow,
  );
});
