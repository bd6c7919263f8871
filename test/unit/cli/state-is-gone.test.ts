import { expect, test } from 'vitest';
import { stateIsGone } from '../../../lib/cli/invocations-job.ts';
import type { CompletedCheckpoint } from '../../../lib/invocation/job-item.ts';

const advice = (completed: readonly number[], confirmed: number): unknown =>
  stateIsGone({ job: 'j', completed: completed.map((checkpoint) => ({ checkpoint }) as CompletedCheckpoint), confirmed }).details.advice;

test('a setting is recommended only where it would have kept something', () => {
  expect(advice([], 0)).not.toContain('RETAIN_ON_CANCELLATION');
  expect(advice([], 3)).toContain('RETAIN_ON_CANCELLATION');
  expect(advice([2, 3], 3)).toContain('goes on from checkpoint 3');
});
