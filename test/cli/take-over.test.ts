// One owner at a time, with real processes that are stopped and continued.
import { expect, test } from 'vitest';
import { endlessJob } from './jobs.ts';
import { resultOf, stackTrace, workplace } from './support.ts';

test('a stopped owner keeps its directory until --take-over, and when it is continued it ends without doing harm', async () => {
  const place = workplace({ 'job.ts': endlessJob });
  const first = place.start(['run', 'job.ts', '--json']);
  await first.says('checkpoint-completed');
  first.child.kill('SIGSTOP');

  const refused = await place.sluice('run', 'job.ts', '--from', 'latest', '--json');
  expect(resultOf(refused)).toMatchObject({ state: 'failed', error: { code: 'OWNER_ALIVE' } });
  expect(JSON.stringify(resultOf(refused))).toContain(`process ${first.child.pid}`);

  const second = place.start(['run', 'job.ts', '--from', 'latest', '--take-over', '--json']);
  await second.says('checkpoint-completed');
  first.child.kill('SIGCONT');
  const lost = await first.ended;
  expect(resultOf(lost)).toMatchObject({ state: 'failed', error: { code: 'OWNER_LOST' } });
  expect(lost.stderr).not.toMatch(stackTrace);
  expect(lost.code).toBe(1);

  expect((await place.sluice('cancel', 'endless')).stdout).toContain('endless is cancelled');
  expect((await second.ended).code).toBe(143);
});

test('a second signal ends the process at once', async () => {
  const place = workplace({
    'job.ts': `
import { defineJob, fileSink, ndjson, TwoPhaseCommitSink } from 'sluice';
class Stuck extends TwoPhaseCommitSink<number, { name: string }> {
  override beginTransaction() { return { name: 'x' }; }
  override invoke(_txn: { name: string }, n: number) { if (n === 0) process.stderr.write('invoked\\n'); }
  override preCommit() {}
  override commit() {}
  override abort() { process.stderr.write('aborting\\n'); return new Promise<void>((resolve) => { setTimeout(resolve, 600_000); }); }
}
export default defineJob('stuck', (env) => {
  env.generate((i) => i, { uid: 'n' }).sinkTo(() => new Stuck(), { uid: 'out' });
});
`,
  });
  const started = place.start(['run', 'job.ts']);
  await started.says('invoked');
  started.child.kill('SIGTERM');
  await started.says('once more ends the process');
  await started.says('aborting');
  started.child.kill('SIGINT');
  expect((await started.ended).code).toBe(130);
});
