// Wrong use of the command line and of the configuration: exit code 2, one line that says what was probably meant.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resultOf, stackTrace, workplace } from './support.ts';

const job = `
import { defineJob, ndjson, files } from 'sluice';
export default defineJob('echo', (env, params) => {
  const limit = params.number('limit', 1);
  env.fromSource(files<{ n: number }>({ path: params.required('input'), format: ndjson() }), { uid: 'in' })
    .filter((row) => row.n >= limit)
    .sinkTo(print(), { uid: 'out' });
});
import { print } from 'sluice';
`;
const files = { 'job.ts': job, 'in.ndjson': '{"n":1}\n{"n":2}\n' };

describe('words', () => {
  test.each([
    [['rnu', 'job.ts'], /no command 'rnu'; did you mean 'run'\?/],
    [['checkpoints'], /one of `sluice checkpoints list` and `sluice checkpoints show`/],
    [['run'], /`sluice run` needs FILE/],
    [['run', 'job.ts', 'other.ts'], /'other.ts' was given/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--parallelism', 'two'], /--parallelism is 'two'/],
    [['run', 'job.ts', '--inptu', 'in.ndjson'], /neither `sluice run` nor the job reads --inptu; did you mean --input\?/],
    [['run', 'job.ts', '--colour', 'red'], /needs the parameter 'input'/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--take-ovre'], /did you mean --take-over\?/],
    [['plan', 'job.ts', '--input', 'in.ndjson', '--colour', 'red'], /reads --colour/],
    [['plan', 'job.ts', '--input', 'in.ndjson', '--format', 'png'], /--format is 'png', but it must be one of text, json, dot, svg/],
    [['run', 'job.ts'], /needs the parameter 'input'; pass --input VALUE or set SLUICE_INPUT/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--limit', 'few'], /'limit' is a number.*not 'few'/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--set', 'state.backnd=filesystem'], /did you mean 'state.backend'\?/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--set', 'state.backend=rocksdb'], /rocksdb backend is not available yet/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--set', 'execution.checkpointing.interval=soon'], /'soon' is not a duration/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--runtime', 'spark'], /--runtime is 'spark', but it must be one of embedded, invocations/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--workers', '2'], /--workers is for --runtime invocations/],
    [['state', 'get', 'echo', '--operator', 'x'], /`sluice state get` needs --state/],
    [['state', 'list', 'echo'], /`sluice state list` is not available yet/],
    [['transactions', 'commit', 'echo'], /needs --transaction, once for each, or --all/],
    [['pause', 'nobody'], /no job named 'nobody'/],
    [['run', 'job.ts', '--stack', 'x'], /--stack is not available yet/],
    [['state', 'get', 'x', '--endpoint', 'http://x'], /--endpoint is for deployed jobs; --stack is missing/],
    [['run', 'job.ts', '--input', 'in.ndjson', '--bind', 'a=b'], /--bind a=….*it names none/],
    [['plan', 'job.ts', '--diff', 'x'], /--diff is not available yet/],
    [['savepoint', 'echo'], /`sluice savepoint` is not available yet/],
    [['checkpoints', 'list', 'nobody'], /nobody/],
    [['cancel', 'nobody'], /no job named 'nobody'/],
  ] as const)('sluice %j is wrong use', async (words, says) => {
    const ended = await workplace(files).sluice(...words);
    expect(ended.stderr).toMatch(says);
    expect(ended.stderr).not.toMatch(stackTrace);
    expect(ended.code).toBe(2);
  });
});

describe('sluice.yaml', () => {
  test.each([
    ['state.backnd: filesystem\n', /sluice\.yaml has an unknown key 'state.backnd'; did you mean 'state.backend'\?/],
    ['inptu: in.ndjson\n', /sluice\.yaml has an unknown key 'inptu'; did you mean 'input'\?/],
    ['parallelism: 2\n', /unknown key 'parallelism'; did you mean 'parallelism.default'\?/],
    ['execution.checkpointing.interval: soon\n', /interval \(sluice\.yaml\): 'soon' is not a duration/],
    ['a: [1\n', /sluice\.yaml: .*line/],
  ])('%j is refused', async (yaml, says) => {
    const ended = await workplace({ ...files, 'sluice.yaml': yaml }).sluice('run', 'job.ts', '--input', 'in.ndjson');
    expect(ended.stderr).toMatch(says);
    expect(ended.stderr).not.toMatch(stackTrace);
    expect(ended.code).toBe(2);
  });
});

describe('where a parameter comes from', () => {
  const rowsWith = async (words: readonly string[], variables: Record<string, string>, yaml: string): Promise<string> => {
    const place = workplace({ ...files, 'sluice.yaml': yaml });
    const ended = await place.start(['run', 'job.ts', '--input', 'in.ndjson', ...words], variables).ended;
    expect(ended.code, ended.stderr).toBe(0);
    return ended.stdout;
  };

  test('a flag wins over a variable, and that over the file', async () => {
    expect(await rowsWith(['--limit', '3'], { SLUICE_LIMIT: '2' }, 'params: { limit: 1 }')).toBe('');
    expect((await rowsWith([], { SLUICE_LIMIT: '2' }, 'params: { limit: 1 }')).trim().split('\n')).toHaveLength(1);
    expect((await rowsWith([], {}, 'params: { limit: 1, other: 5 }')).trim().split('\n')).toHaveLength(2);
    expect(await rowsWith([], {}, 'limit: 3\n')).toBe('');
  });
});

describe('texts', () => {
  test('--version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string };
    const place = workplace();
    expect((await place.sluice('--version')).stdout).toBe(`${version}\n`);
    expect(resultOf(await place.sluice('--version', '--json'))).toEqual({ version });
  });

  test('--help shows the commands, and the flags of one', async () => {
    const place = workplace();
    const all = await place.sluice('--help');
    for (const command of ['run', 'plan', 'checkpoints list', 'checkpoints show', 'cancel'])
      expect(all.stdout).toContain(`sluice ${command}`);
    const one = await place.sluice('run', '--help');
    expect(one.stdout).toContain('--take-over');
    expect(one.stdout).toContain('--bind');
    expect(one.stdout).toContain('--endpoint');
    expect(one.stdout).not.toContain('--stack');
    expect([all.code, one.code, all.stderr + one.stderr]).toEqual([0, 0, '']);
  });

  test('no word at all shows the help', async () => {
    expect((await workplace().sluice()).stdout).toContain('sluice run FILE');
  });
});
