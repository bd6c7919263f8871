// `sluice plan`: four formats of one plan, and nothing is run.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countInput, countJob, jobAround } from './jobs.ts';
import { resultOf, workplace } from './support.ts';

const files = { 'job.ts': countJob, 'in.ndjson': countInput };

describe('sluice plan', () => {
  test('text names operators, stages, exchange, state and guarantee', async () => {
    const { stdout, code, stderr } = await workplace(files).sluice('plan', 'job.ts', '--input', 'in.ndjson');
    expect(code, stderr).toBe(0);
    for (const part of ['counts', 'count', 'hash', 'keyed: n value', 'exactly-once', 'stage 0', 'stage 1']) expect(stdout).toContain(part);
    expect(stderr).toBe('');
  });

  test('--json and --format json hold the same', async () => {
    const place = workplace(files);
    const lined = resultOf(await place.sluice('plan', 'job.ts', '--input', 'in.ndjson', '--json'));
    const formatted = await place.sluice('plan', 'job.ts', '--input', 'in.ndjson', '--format', 'json');
    expect(JSON.parse(formatted.stdout)).toEqual(lined);
    expect(lined).toMatchObject({ job: 'counts', guarantee: 'exactly-once' });
  });

  test.each([
    ['dot', /^digraph /],
    ['svg', /^<svg [\s\S]*<\/svg>\n$/],
  ])('--format %s', async (format, shape) => {
    const { stdout } = await workplace(files).sluice('plan', 'job.ts', '--input', 'in.ndjson', '--format', format);
    expect(stdout).toMatch(shape);
  });

  test('runs nothing: it neither reads the input nor makes a directory', async () => {
    const place = workplace({ 'job.ts': countJob });
    expect((await place.sluice('plan', 'job.ts', '--input', 'nowhere.ndjson')).code).toBe(0);
    expect(existsSync(join(place.path, '.sluice'))).toBe(false);
  });

  test('warns when checkpointing is off', async () => {
    const place = workplace({ 'job.ts': jobAround(`env.fromSequence(1, 3, { uid: 'n' }).sinkTo(print(), { uid: 'out' });`) });
    expect((await place.sluice('plan', 'job.ts')).stderr).toContain('checkpointing is off');
  });

  test('settings from outside show in it', async () => {
    const set = ['--parallelism', '3', '--set', 'execution.checkpointing.timeout=7 s'];
    const planned = resultOf(await workplace(files).sluice('plan', 'job.ts', '--input', 'in.ndjson', '--json', ...set));
    expect(planned).toMatchObject({ parallelism: 3, checkpoints: { timeoutMs: 7_000 } });
  });
});
