// A run from start to end: what it prints, what it reports, how it ends.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countInput, countJob, endlessJob, jobAround } from './jobs.ts';
import { objectsOf, resultOf, stackTrace, workplace } from './support.ts';

const counted = { 'job.ts': countJob, 'in.ndjson': countInput };

describe('a job that reaches its end', () => {
  test('prints its rows to standard output, all else to standard error, and exits with 0', async () => {
    const { code, stdout, stderr } = await workplace(counted).sluice('run', 'job.ts', '--input', 'in.ndjson');
    expect(code, stderr).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(4);
    expect(stderr).toMatch(/^counts finished after .* s: 4 records in, 4 out, last checkpoint \d+$/m);
    expect(stderr).not.toContain('checkpointing is off');
  });

  test('--json: every line is one object, and the last one is the result with the accumulators beside it', async () => {
    const ended = await workplace(counted).sluice('run', 'job.ts', '--input', 'in.ndjson', '--json');
    expect(ended.code, ended.stdout).toBe(0);
    expect(ended.stderr).toBe('');
    const result = resultOf(ended);
    expect(result).toMatchObject({ job: 'counts', state: 'finished', events: 4, recordsOut: 4, rows: 4 });
    expect(typeof result.seconds).toBe('number');
    const kinds = objectsOf(ended).map((object) => object.kind);
    expect(kinds.filter((kind) => kind === 'print')).toHaveLength(4);
    expect(kinds).toContain('started');
    expect(kinds).toContain('checkpoint-completed');
  });

  test('run again from latest it has nothing to do, and says so', async () => {
    const place = workplace(counted);
    await place.sluice('run', 'job.ts', '--input', 'in.ndjson');
    const again = await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', 'latest', '--json');
    expect(again.code, again.stdout).toBe(0);
    expect(resultOf(again)).toMatchObject({ job: 'counts', state: 'already-finished' });
    expect((await place.sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', 'latest')).stderr).toContain(
      'counts had finished with checkpoint',
    );
  });

  test('--from latest without a checkpoint begins at the beginning, and says so', async () => {
    const { code, stderr, stdout } = await workplace(counted).sluice('run', 'job.ts', '--input', 'in.ndjson', '--from', 'latest');
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/beginning/);
    expect(stdout.trim().split('\n')).toHaveLength(4);
  });

  test('--parallelism replaces the default of the job', async () => {
    const ended = await workplace(counted).sluice('run', 'job.ts', '--input', 'in.ndjson', '--parallelism', '3', '--json');
    expect(resultOf(ended)).toMatchObject({ state: 'finished', events: 4, rows: 4 });
  });

  test('without checkpoints it warns, and no entry of the run is left', async () => {
    const place = workplace({ 'job.ts': jobAround(`env.fromSequence(1, 3, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`) });
    const { code, stdout, stderr } = await place.sluice('run', 'job.ts');
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('checkpointing is off');
    expect(stdout).toBe('1\n2\n3\n');
    expect(existsSync(join(place.path, '.sluice/.runs'))).toBe(false);
  });

  test('checkpointing can be switched on from outside, and the job’s own call wins over that', async () => {
    const off = jobAround(`env.fromSequence(1, 3, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`, { name: 'numbers' });
    const place = workplace({ 'job.ts': off, ...{ 'count.ts': countJob, 'in.ndjson': countInput } });
    const set = ['--set', 'execution.checkpointing.interval=1 h', '--set', 'state.checkpoints.dir=elsewhere'];
    expect((await place.sluice('run', 'job.ts', ...set)).stderr).not.toContain('checkpointing is off');
    expect(existsSync(join(place.path, 'elsewhere/numbers'))).toBe(true);
    const ended = await place.sluice('run', 'count.ts', '--input', 'in.ndjson', '--json', ...set);
    expect(resultOf(ended)).toMatchObject({ state: 'finished' });
  });

  test('a job file needs no project around it: no package.json, no installed package, no build', async () => {
    const place = workplace({
      'deep/in/job.ts': jobAround(`env.fromCollection(['x' as string], { uid: 'c' }).sinkTo(print(), { uid: 'out' });`),
    });
    const { code, stdout, stderr } = await place.sluice('run', 'deep/in/job.ts');
    expect([code, stdout]).toEqual([0, 'x\n']);
    expect(stderr).not.toMatch(/ExperimentalWarning|MODULE_TYPELESS/);
  });

  test('other warnings of Node are not held back', async () => {
    const place = workplace({
      'job.ts': `process.emitWarning('mind the gap');${jobAround(`env.fromSequence(1, 1, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`)}`,
    });
    expect((await place.sluice('run', 'job.ts')).stderr).toContain('mind the gap');
  });

  test('timers that user code left behind do not keep the process alive', async () => {
    const place = workplace({
      'job.ts': `setInterval(() => {}, 1_000);${jobAround(`env.fromSequence(1, 1, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`)}`,
    });
    expect((await place.sluice('run', 'job.ts')).code).toBe(0);
  });
});

describe('a job that is cancelled', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s cancels, and the exit code is %i', async (signal, code) => {
    const started = workplace({ 'job.ts': endlessJob }).start(['run', 'job.ts', '--json']);
    await started.says('"line":"up"');
    started.child.kill(signal);
    const ended = await started.ended;
    expect(ended.code, ended.stdout).toBe(code);
    expect(resultOf(ended)).toMatchObject({ job: 'endless', state: 'cancelled' });
  });

  test('its checkpoints stay or go, as the job says', async () => {
    const left = async (retain: boolean): Promise<number> => {
      const place = workplace({ 'job.ts': endlessJob });
      const started = place.start(['run', 'job.ts', `--retain=${retain}`, '--json']);
      await started.says('checkpoint-completed');
      started.child.kill('SIGTERM');
      await started.ended;
      const listed = await place.sluice('checkpoints', 'list', 'endless', '--json');
      return listed.code === 0 ? (resultOf(listed).checkpoints as unknown[]).length : 0;
    };
    expect(await left(true)).toBeGreaterThan(0);
    expect(await left(false)).toBe(0);
  });

  test('cancel NAME ends it from another process and waits until it is gone', async () => {
    const place = workplace({ 'job.ts': endlessJob });
    const started = place.start(['run', 'job.ts']);
    await started.says('up');
    const cancelled = await place.sluice('cancel', 'endless', '--json');
    expect([cancelled.code, resultOf(cancelled).state]).toEqual([0, 'cancelled']);
    expect(() => process.kill(started.child.pid!, 0)).toThrow();
    expect((await started.ended).code).toBe(143);
    expect(resultOf(await place.sluice('cancel', 'endless', '--json'))).toMatchObject({ job: 'endless', state: 'not-running' });
  });

  test('cancel finds a run of another working directory by its checkpoint directory', async () => {
    const [there, here] = [workplace({ 'job.ts': endlessJob }), workplace()];
    const set = ['--set', `state.checkpoints.dir=${join(there.path, 'kept')}`];
    const started = there.start(['run', 'job.ts', ...set]);
    await started.says('up');
    expect((await here.sluice('cancel', 'endless', ...set)).stdout).toBe('endless is cancelled\n');
    expect((await started.ended).code).toBe(143);
  });

  test('cancel of a misspelled name says what runs', async () => {
    const place = workplace({ 'job.ts': endlessJob });
    const started = place.start(['run', 'job.ts']);
    await started.says('up');
    const missed = await place.sluice('cancel', 'endles');
    started.child.kill('SIGTERM');
    await started.ended;
    expect(missed.stderr).toContain("did you mean 'endless'?");
    expect(missed.code).toBe(2);
  });
});

describe('one owner', () => {
  test('a second run is refused with the process of the first', async () => {
    const place = workplace({ 'job.ts': endlessJob });
    const started = place.start(['run', 'job.ts']);
    await started.says('up');
    const second = await place.sluice('run', 'job.ts');
    const stillFound = await place.sluice('cancel', 'endless');
    expect(second.stderr).toContain(`process ${started.child.pid}`);
    expect(second.stderr).not.toMatch(stackTrace);
    expect(second.code).not.toBe(0);
    expect(stillFound.stdout).toContain('endless is cancelled');
    await started.ended;
  });
});

describe('a job that fails', () => {
  const failing = `
    env.fromSource(files({ path: 'in.ndjson', format: ndjson() }), { uid: 'in' })
      .keyBy((row) => row.k)
      .process({ state: { n: valueState() }, processElement(row) { if (row.k === 'b') throw new TypeError('no b today'); } })
      .uid('picky')
      .sinkTo(print(), { uid: 'out' });`;

  test('a function that throws is told with operator, key and record, without a stack trace', async () => {
    const { code, stderr } = await workplace({ 'job.ts': jobAround(failing), 'in.ndjson': countInput }).sluice('run', 'job.ts');
    expect(code, stderr).toBe(1);
    for (const part of ['no b today', 'picky', '"k":"b"']) expect(stderr).toContain(part);
    expect(stderr).not.toMatch(stackTrace);
  });

  test('--verbose shows where it threw', async () => {
    const { stderr } = await workplace({ 'job.ts': jobAround(failing), 'in.ndjson': countInput }).sluice('run', 'job.ts', '--verbose');
    expect(stderr).toMatch(/job\.ts:\d+:\d+/);
  });

  test('--json ends with the failure', async () => {
    const ended = await workplace({ 'job.ts': jobAround(failing), 'in.ndjson': countInput }).sluice('run', 'job.ts', '--json');
    expect(resultOf(ended)).toMatchObject({ job: 'around', state: 'failed', error: { details: { operator: 'picky' } } });
    expect(ended.code).toBe(1);
  });

  test('a promise of user code that nobody waits for fails the process in one line', async () => {
    const stray = `Promise.reject(new Error('nobody waits'));${jobAround(`env.generate((i) => i, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`)}`;
    const { code, stderr } = await workplace({ 'job.ts': stray }).sluice('run', 'job.ts');
    expect(stderr).toContain('sluice: nobody waits');
    expect(stderr).not.toMatch(stackTrace);
    expect(code).toBe(1);
  });
});

describe('bad input', () => {
  const sinkless = `.sinkTo(print(), { uid: 'out' });`;
  const cases: readonly {
    readonly name: string;
    readonly job: string;
    readonly files?: Record<string, string>;
    readonly says: readonly RegExp[];
    readonly exit?: number;
  }[] = [
    {
      name: 'a stateful step without uid',
      job: jobAround(
        `env.fromSequence(1, 2, { uid: 'n' }).keyBy((n) => n).process({ state: { n: valueState() }, processElement() {} })${sinkless}`,
      ),
      says: [/uid/, /process/],
    },
    {
      name: 'a uid that is there twice',
      job: jobAround(`env.fromSequence(1, 2, { uid: 'same' }).map((n) => n).uid('same')${sinkless}`),
      says: [/'?same'?/, /uid/],
    },
    {
      name: 'a malformed line of NDJSON',
      job: jobAround(`env.fromSource(files({ path: 'in.ndjson', format: ndjson() }), { uid: 'in' })${sinkless}`),
      files: { 'in.ndjson': '{"k":1}\n{"k":\n' },
      says: [/in\.ndjson/, /\b2\b/, /\{"k":/],
    },
    {
      name: 'a malformed line of CSV',
      job: jobAround(`env.fromSource(files({ path: 'in.csv', format: csv({ columns: { n: 'number' } }) }), { uid: 'in' })${sinkless}`),
      files: { 'in.csv': 'k,n\na,1\nb,many\n' },
      says: [/in\.csv/, /\b3\b/, /many/],
    },
    {
      name: 'an input that is missing',
      job: jobAround(`env.fromSource(files({ path: 'nowhere.ndjson', format: ndjson() }), { uid: 'in' })${sinkless}`),
      says: [/nowhere\.ndjson/],
    },
    {
      name: 'an output that cannot be written',
      job: jobAround(`env.fromSequence(1, 2, { uid: 'n' }).sinkTo(fileSink({ path: 'taken/out', format: ndjson() }), { uid: 'out' });`),
      files: { taken: 'a file, not a directory' },
      says: [/taken/],
    },
    {
      name: 'an invalid duration',
      job: jobAround(`env.enableCheckpointing('10s' as never); env.fromSequence(1, 2, { uid: 'n' })${sinkless}`),
      says: [/'10s' is not a duration/, /'10 s'/],
    },
    {
      name: 'a value that cannot be encoded',
      job: jobAround(
        `env.fromSequence(1, 2, { uid: 'n' }).keyBy((n) => n).process({ state: { f: valueState() }, processElement(n, ctx) { ctx.state.f.update(() => n); } }).uid('p')${sinkless}`,
      ),
      says: [/function/, /\bf\b/, /\bp\b/],
    },
  ];

  test.each(cases)('$name is told in one line, without a stack trace', async ({ job, files = {}, says, exit = 1 }) => {
    const { code, stderr, stdout } = await workplace({ 'job.ts': job, ...files }).sluice('run', 'job.ts');
    for (const part of says) expect(stderr).toMatch(part);
    expect(stderr).not.toMatch(stackTrace);
    expect([code, stdout.includes('    at ')]).toEqual([exit, false]);
  });
});

describe('the three-line job', () => {
  test('is what the documentation says a first job is', async () => {
    const place = workplace({
      'job.ts': `import { defineJob, print } from 'sluice';\nexport default defineJob('three', (env) => env.fromSequence(1, 3, { uid: 'n' }).sinkTo(print(), { uid: 'out' }));\n`,
    });
    expect((await place.sluice('run', 'job.ts')).stdout).toBe('1\n2\n3\n');
    expect(readFileSync(join(place.path, 'job.ts'), 'utf8').trim().split('\n')).toHaveLength(2);
  });
});

describe('what must never end in silence', () => {
  test('a job file that awaits what never comes is named', async () => {
    const place = workplace({ 'job.ts': 'await new Promise(() => {});\nexport default {};\n' });
    const { code, stderr } = await place.sluice('run', 'job.ts');
    expect(stderr).toMatch(/^sluice: JOB_FILE_UNFINISHED: job\.ts, or what it imports, awaits something at its top level that never comes/);
    expect(code).toBe(1);
  });

  test.each([
    ['when it is loaded', 'process.exit(0);\nexport default {};\n'],
    ['when it is built', jobAround('process.exit(0);')],
    ['when it runs', jobAround(`env.generate((i) => process.exit(0), { uid: 'n' }).sinkTo(print(), { uid: 'out' });`)],
  ])('a job that ends the process %s has failed and is told so', async (_, text) => {
    const place = workplace({ 'job.ts': text });
    const { code, stderr } = await place.sluice('run', 'job.ts');
    expect(stderr).toContain('sluice: PROCESS_EXITED: job.ts, or what it imports, called process.exit(0) before the work was done');
    expect(code).toBe(1);
    const json = await place.sluice('run', 'job.ts', '--json');
    expect(resultOf(json)).toMatchObject({ state: 'failed', error: { code: 'PROCESS_EXITED' } });
  });

  test('a job that ends the process with a code of its own keeps the code', async () => {
    const place = workplace({ 'job.ts': 'process.exit(7);\nexport default {};\n' });
    const { code, stderr } = await place.sluice('plan', 'job.ts');
    expect([code, stderr]).toEqual([7, expect.stringContaining('called process.exit(7)')]);
  });

  test('a reader of standard output that leaves early ends the run quietly', async () => {
    const place = workplace({ 'job.ts': jobAround(`env.generate((i) => i, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`) });
    const started = place.start(['run', 'job.ts']);
    await started.says('1\n');
    started.child.stdout.destroy();
    const { code, stderr } = await started.ended;
    expect([code, stackTrace.test(stderr)]).toEqual([141, false]);
  });
});
