import { expect, test } from 'vitest';
import { decodeInvocation, encodeInvocation } from '../../../../lib/adapters/invocations/ipc.ts';
import type { Invocation } from '../../../../lib/invocation/invocation.ts';

test('records are decoded anew for each run that asks for them', () => {
  const records = [{ value: { n: 0 }, after: { index: 1, at: 1 } }];
  const given = decodeInvocation(encodeInvocation({ kind: 'records', subtask: '0-0', split: 0, records, isLast: true }));
  const { records: first, reread } = given as Extract<Invocation, { kind: 'records' }>;
  (first[0]!.value as { n: number }).n = 7;
  expect(reread?.()).toEqual(records);
  expect(reread?.()[0]).not.toBe(reread?.()[0]);
});
