import { describe, expect, test } from 'vitest';
import { type CommitStep, type Decision, decideCommit } from '../../../../../lib/connectors/cloud/rows/commits.ts';
import { transactionTag } from '../../../../../lib/connectors/cloud/rows/version-tags.ts';

const tag = (checkpoint: number, run = 5): string => transactionTag(run, { generation: 1, checkpoint });
const [t1, t2, t3] = [tag(1), tag(2), tag(3)];

function shown(step: CommitStep): unknown {
  return step.kind === 'commit' ? [step.head.committed, ...step.head.open] : step.kind;
}

describe('the commit of a transaction', () => {
  // biome-ignore format: one case a line reads as the table it is
  test.each<readonly [what: string, committed: string | undefined, open: readonly string[], decision: Decision | undefined, isInPlace: boolean, step: unknown]>([
    ['the first',                                undefined, [],   undefined,   false, [t2, t2]],
    ['the next',                                 t1,        [],   undefined,   false, [t2, t2]],
    ['with its rows',                            t1,        [],   undefined,   true,  [t2]],
    ['while an earlier one is not in place',     t1,        [t1], undefined,   false, [t2, t1, t2]],
    ['again',                                    t2,        [],   'committed', false, 'done'],
    ['again, and its rows are not in place',     t2,        [t2], 'committed', false, 'apply'],
    ['again, long after others',                 t3,        [],   'committed', false, 'done'],
    ['after it was aborted',                     t1,        [],   'aborted',   false, 'aborted'],
    ['by hand, after others were committed',     t3,        [],   undefined,   false, [t3, t2]],
    ['after a later run of the job',             tag(1, 6), [],   undefined,   false, 'superseded'],
    ['after an earlier run of the job',          tag(9, 4), [],   undefined,   true,  [t2]],
  ])('%s', (_, committed, open, decision, isInPlace, step) => {
    const head = { key: new Map(), revision: 1, committed, open };
    expect(shown(decideCommit({ head, decision, tag: t2, isInPlace }))).toEqual(step);
  });
});
