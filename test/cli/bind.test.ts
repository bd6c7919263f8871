// `--bind`: one job file, with files in the place of services.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resultOf, type Workplace, workplace } from './support.ts';

const job = `
import { defineJob, kinesis, sqsSink, valueState } from 'sluice';
export default defineJob('clicks', (env) => {
  env.enableCheckpointing('1 s');
  env
    .fromSource(kinesis('clicks'), { uid: 'clicks', partitionedBy: (c) => c.user })
    .keyBy((c) => c.user)
    .process({
      state: { n: valueState({ default: () => 0 }) },
      processElement(c, ctx, out) {
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect({ user: c.user, n: ctx.state.n.value() });
      },
    })
    .uid('count')
    .sinkTo(sqsSink('totals', { key: (t) => t.user }), { uid: 'totals' });
});
`;

const clicks = Array.from({ length: 30 }, (_, i) => `${JSON.stringify({ user: `u${i % 3}` })}\n`).join('');

const place = (): Workplace => workplace({ 'job.js': job, 'clicks.ndjson': clicks, 'package.json': '{ "type": "module" }' });

function rowsIn({ path }: Workplace): readonly string[] {
  const directory = join(path, 'out');
  const files = readdirSync(directory).filter((name) => name.startsWith('part-'));
  return files.flatMap((name) => readFileSync(join(directory, name), 'utf8').trim().split('\n')).sort();
}

const expected = Array.from({ length: 30 }, (_, i) => JSON.stringify({ user: `u${i % 3}`, n: Math.floor(i / 3) + 1 })).sort();

test.each([[], ['--runtime', 'invocations']])('a stream and a queue are files where --bind says so (%s %s)', async (...runtime) => {
  const at = place();
  const bind = ['--bind', 'clicks=./clicks.ndjson', '--bind', 'totals=./out'];
  const ended = await at.sluice('run', 'job.js', ...bind, ...runtime.filter((word) => word !== undefined), '--json');
  expect(ended).toMatchObject({ code: 0 });
  expect(resultOf(ended)).toMatchObject({ state: 'finished', events: 30 });
  expect(rowsIn(at)).toEqual(expected);
});

test('a name that is bound to nothing stops the run before it starts, and the flag is named', async () => {
  const { code, stderr } = await place().sluice('run', 'job.js', '--bind', 'clicks=./clicks.ndjson');
  expect(code).toBe(2);
  expect(stderr).toMatch(/BIND_MISSING.*'totals'[\s\S]*--bind totals=DIRECTORY/);
});

test('a name that the job does not have is refused with the nearest one', async () => {
  const { code, stderr } = await place().sluice('run', 'job.js', '--bind', 'click=./clicks.ndjson');
  expect(code).toBe(2);
  expect(stderr).toMatch(/BIND_UNKNOWN.*did you mean 'clicks'/);
});

test('a target that is missing or given twice is wrong use', async () => {
  expect(await place().sluice('run', 'job.js', '--bind', 'clicks')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--bind name=PATH/),
  });
  const twice = await place().sluice('run', 'job.js', '--bind', 'clicks=a', '--bind', 'clicks=b');
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringMatching(/given twice/) });
});

test('a directory of several files is no stream', async () => {
  const at = place().write({ 'in/a.ndjson': clicks, 'in/b.ndjson': clicks });
  const { code, stderr } = await at.sluice('run', 'job.js', '--bind', 'clicks=./in', '--bind', 'totals=./out');
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/BIND_UNFIT.*2 files/);
});

test('a plan can be shown without anything bound', async () => {
  const { code, stdout } = await place().sluice('plan', 'job.js');
  expect(code).toBe(0);
  expect(stdout).toMatch(/fromSource\(kinesis\)/);
});

/** Node finds the packages of AWS no more, as where nobody has installed them. */
const withoutAws = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('@aws-sdk/')) return next(specifier, context);
    throw Object.assign(new Error('Cannot find package ' + specifier), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});
`)}`;

test.each([
  [[], 'sqs:http://127.0.0.1:1/0/totals', /PACKAGE_MISSING: --bind totals=sqs:… needs .*npm install .*@aws-sdk\/client-sqs/s],
  [['--runtime', 'invocations'], 'sqs:http://127.0.0.1:1/0/totals', /PACKAGE_MISSING: --bind totals=sqs:…/],
  [
    ['--set', 'state.backend=dynamodb', '--set', 'state.backend.dynamodb.table=states'],
    './out',
    /PACKAGE_MISSING: DynamoDbStateBackend needs @aws-sdk/,
  ],
] as const)('packages that are not installed are told with the command that installs them (%s %s)', async (more, target, message) => {
  const words = ['run', 'job.js', '--bind', 'clicks=./clicks.ndjson', '--bind', `totals=${target}`, ...more];
  const { code, stderr } = await place().start(words, { NODE_OPTIONS: `--import=${withoutAws}` }).ended;
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test('what a job needs no package for runs without any', async () => {
  const words = ['run', 'job.js', '--bind', 'clicks=./clicks.ndjson', '--bind', 'totals=./out'];
  expect(await place().start(words, { NODE_OPTIONS: `--import=${withoutAws}` }).ended).toMatchObject({ code: 0 });
});
