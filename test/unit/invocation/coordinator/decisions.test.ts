// The pure decisions of the coordinator that are its own; those that it shares with the embedded one are in test/unit/checkpoint/decide.test.ts.

import { describe, expect, test } from 'vitest';
import { type BeginFacts, decideFinal, type FinalFacts, withBegun } from '../../../../lib/invocation/coordinator/begin.ts';
import { ringsToCollect } from '../../../../lib/invocation/coordinator/collect.ts';
import { withAborted, withCompleted } from '../../../../lib/invocation/coordinator/completion.ts';
import { withRequest } from '../../../../lib/invocation/coordinator/job-life.ts';
import { withConfirmed } from '../../../../lib/invocation/coordinator/notify.ts';
import { isPending } from '../../../../lib/invocation/coordinator/pulse.ts';
import { changeOf } from '../../../../lib/invocation/coordinator/read-job.ts';
import { withRestored, withRestoreMark, withSealed, withSealedPlaces } from '../../../../lib/invocation/coordinator/restore.ts';
import { concatenated } from '../../../../lib/invocation/coordinator/restored-entry.ts';
import { ringOf } from '../../../../lib/invocation/coordinator/ring-creation.ts';
import type { CompletedCheckpoint, JobItem, OpenCheckpoint } from '../../../../lib/invocation/job-item.ts';
import { headOf } from '../support/entries.ts';
import { twoStages } from './support/scripted-job.ts';

const owner = { subtask: '0-0', stage: 0, index: 0, splits: [0] };

const completed = (checkpoint: number, generation = 1): CompletedCheckpoint => ({
  checkpoint,
  generation,
  begunMs: 0,
  completedMs: 10,
  trigger: 'periodic',
  owners: [owner],
  metadata: `m${checkpoint}`,
  bytes: 1,
});

const open = (checkpoint: number, generation = 1): OpenCheckpoint => ({
  checkpoint,
  generation,
  begunMs: 0,
  patienceMs: 100,
  owners: ['0-0'],
  trigger: 'periodic',
});

const item: JobItem = {
  job: 'job',
  planHash: 'plan',
  status: 'running',
  failure: undefined,
  generation: 1,
  ringSlots: 8,
  begun: 6,
  open: [open(5), open(6)],
  completed: [completed(3), completed(4)],
  confirmed: 3,
  failuresInARow: 1,
  expiredInARow: 1,
  lastBegunMs: 0,
  lastEndedMs: undefined,
  restores: [],
  owners: [owner],
  restoring: undefined,
  moving: undefined,
  until: [],
  rings: ['1/0-0'],
};
const restoring = { checkpoint: 4, generation: 2, epoch: 7, owners: [owner] };
const moving = { generation: 1, parents: ['0-0'], children: [], epoch: 7 };

describe('begin', () => {
  const facts: BeginFacts = { begun: 6, generation: 1, trigger: 'periodic', nowMs: 50, timeoutMs: 100 };
  test('takes the next number, and patience for the aborts before it', () => {
    const begun = withBegun(item, facts);
    expect(begun.begun).toBe(7);
    expect(begun.open.at(-1)).toEqual({ ...open(7), begunMs: 50, patienceMs: 200 });
    expect(begun.lastBegunMs).toBe(50);
  });
  test.each<[string, Partial<JobItem>]>([
    ['when another coordinator began it', { begun: 7 }],
    ['in another generation', { generation: 2 }],
    ['while owners change', { moving }],
    ['during a restore', { restoring }],
    ['when the job is about to stop', { status: 'pausing' }],
  ])('does not happen %s', (_why, more) => {
    const changed = { ...item, ...more };
    expect(withBegun(changed, facts)).toBe(changed);
  });
});

describe('the last checkpoint', () => {
  const facts: FinalFacts = { nowMs: 1_000, hasOpenFinal: false, isComplete: false, failuresInARow: 0, lastEndedMs: 999 };
  test.each<[string, Partial<FinalFacts>, 'begin' | 'wait']>([
    ['begins', {}, 'begin'],
    ['is not begun twice', { hasOpenFinal: true }, 'wait'],
    ['is not begun again when it is complete', { isComplete: true }, 'wait'],
    ['waits a little after it failed', { failuresInARow: 1 }, 'wait'],
    ['begins again then', { failuresInARow: 1, lastEndedMs: 900 }, 'begin'],
    ['waits longer each time', { failuresInARow: 3, lastEndedMs: 601 }, 'wait'],
    ['C53 is not put off by a clock that was set back, for longer than that', { failuresInARow: 1, lastEndedMs: 9_000 }, 'wait'],
  ])('%s', (_rule, more, expected) => {
    expect(decideFinal({ ...facts, ...more })).toBe(expected);
  });
});

describe('complete', () => {
  const facts = { done: completed(5), numRetained: 2, hasTransactions: true };
  test('adds it, keeps so many, and ends nothing above', () => {
    const now = withCompleted(item, facts);
    expect(now.completed.map((c) => c.checkpoint)).toEqual([4, 5]);
    expect(now).toMatchObject({ open: [{ checkpoint: 6 }], confirmed: 3, failuresInARow: 0, expiredInARow: 0, lastEndedMs: 10 });
  });
  test('ends what is open below it', () => {
    expect(withCompleted(item, { ...facts, done: completed(6) }).open).toEqual([]);
  });
  test('confirms at once what promised nothing', () => {
    expect(withCompleted(item, { ...facts, hasTransactions: false }).confirmed).toBe(5);
  });
  test.each<[string, Partial<JobItem>]>([
    ['during a restore', { restoring }],
    ['when it is not open any more', { open: [open(6)] }],
    ['when a higher one is complete', { completed: [completed(7)] }],
    ['when the open one is of another generation', { open: [open(5, 2)] }],
  ])('does nothing %s', (_why, more) => {
    const changed = { ...item, ...more };
    expect(withCompleted(changed, facts)).toBe(changed);
  });
});

describe('abort', () => {
  test('takes it off the list and counts', () => {
    const now = withAborted(item, { open: open(5), nowMs: 20, tolerable: 9 });
    expect(now).toMatchObject({ open: [{ checkpoint: 6 }], failuresInARow: 2, expiredInARow: 2, lastEndedMs: 20, status: 'running' });
  });
  test('fails the job beyond what is tolerated, and voids the others', () => {
    expect(withAborted(item, { open: open(5), nowMs: 20, tolerable: 1 })).toMatchObject({ open: [], status: 'failing' });
  });
  test('is nothing for what ended', () => {
    expect(withAborted(item, { open: open(4), nowMs: 20, tolerable: 0 })).toBe(item);
  });
});

describe('confirm', () => {
  test('rises to the newest completed one', () => expect(withConfirmed(item, 4).confirmed).toBe(4));
  test.each<[string, JobItem, number]>([
    ['a lower one', { ...item, confirmed: 4 }, 4],
    ['one that is not the newest any more', item, 3],
    ['during a restore', { ...item, restoring }, 4],
  ])('not %s', (_why, given, checkpoint) => expect(withConfirmed(given, checkpoint)).toBe(given));
});

describe('restore', () => {
  test('the mark voids what is open, cancels a change of owners and lists rings', () => {
    const marked = withRestoreMark({ ...item, moving, status: 'paused' }, { checkpoint: 4, isOlderMeant: false });
    expect(marked).toMatchObject({ open: [], moving: undefined, restoring, rings: ['1/0-0', '2/0-0'], status: 'running' });
  });
  test('owners are those of the checkpoint', () => {
    const moved = { ...item, owners: [{ ...owner, subtask: '0-s4' }] };
    expect(withRestoreMark(moved, { checkpoint: 4, isOlderMeant: false }).restoring?.owners).toEqual([owner]);
  });
  test('raising keeps numbers and forgets what was completed above', () => {
    const marked = { ...item, restoring: { ...restoring, checkpoint: 3 } };
    const now = withRestored(marked, marked.restoring, { until: [['0-0/0', 9]], places: undefined, nowMs: 0 });
    expect(now).toMatchObject({
      generation: 2,
      restoring: undefined,
      begun: 6,
      completed: [{ checkpoint: 3 }],
      confirmed: 3,
      until: [['0-0/0', 9]],
    });
  });
  test('is not raised twice', () => expect(withRestored(item, restoring, { until: [], places: undefined, nowMs: 0 })).toBe(item));
  test('how far a split had been read only grows, and what nobody owns any more is kept', () => {
    const split = { ordinal: 0, split: { id: 'a' }, hasEnded: false, largest: 0, malformed: 0 };
    const seals = [headOf({ splits: [{ ...split, position: { index: 5, at: 5 }, replayUntil: 8 }] })];
    expect(withSealed([['0-0/0', 3], ['0-s9/9', 2]], seals)).toEqual([['0-0/0', 8], ['0-s9/9', 2]]); // biome-ignore format: pairs
  });
  test('of sources that do not count, the furthest place is kept as well, and of the others how many malformed records there were', () => {
    const split = { ordinal: 0, split: { id: 'a' }, hasEnded: false, largest: 0, malformed: 0, replayUntil: 0 };
    const seal = (at: number, malformed = 0) => [headOf({ splits: [{ ...split, position: { index: 5, at }, malformed }] })];
    const plan = twoStages();
    expect(withSealedPlaces(undefined, seal(50), plan)).toBeUndefined();
    expect(withSealedPlaces(undefined, seal(50, 3), plan)).toEqual([['0-0/0', 3]]);
    expect(withSealedPlaces([['0-0/0', 4]], seal(50, 3), plan)).toEqual([['0-0/0', 4]]);
    const [head] = plan.stages[0]!.operators;
    Object.assign((head!.node.operator as { readonly source: object }).source, { comparePlaces: (a: number, b: number) => a - b });
    expect(withSealedPlaces(undefined, seal(50), plan)).toEqual([['0-0/0', 50]]);
    expect(withSealedPlaces([['0-0/0', 60], ['0-s9/9', 2]], seal(50), plan)).toEqual([['0-0/0', 60], ['0-s9/9', 2]]); // biome-ignore format: pairs
    expect(withSealedPlaces([['0-0/0', 40]], seal(50), plan)).toEqual([['0-0/0', 50]]);
  });
  test('of several writes to one address the last one is taken along, and every timer', () => {
    const address = { operator: 'o', state: 's', key: 'k', sub: '' };
    const timer = { operator: 'o', domain: 'event' as const, isSet: true, time: 1, key: 'k', cause: undefined };
    const deltas = [1, 2].map((v) => ({ writes: [{ address, value: Uint8Array.of(v) }], timers: [timer] }));
    expect(concatenated(deltas)).toEqual({ writes: [{ address, value: Uint8Array.of(2) }], timers: [timer, timer] });
  });
});

describe('requests', () => {
  test.each(['pausing', 'cancelling', 'failing'] as const)('%s voids what is open', (wanted) => {
    expect(withRequest(item, wanted)).toMatchObject({ status: wanted, open: [] });
  });
  test('a finished job takes none', () => {
    for (const wanted of ['pausing', 'cancelling', 'failing'] as const) {
      expect(() => withRequest({ ...item, status: 'finished' }, wanted)).toThrow(expect.objectContaining({ code: 'JOB_NOT_IN_STATE' }));
    }
  });
});

test('rings that an owner, a retained or an open checkpoint needs are not collected', () => {
  const rings = ['0/0-0', '1/0-0', '2/0-0', '3/0-0'];
  expect(ringsToCollect({ ...item, rings, generation: 3, completed: [completed(4, 1)], open: [open(6, 2)] })).toEqual(['0/0-0']);
  expect(ringsToCollect({ ...item, rings, generation: 3, completed: [], open: [], status: 'failed' })).not.toContain('3/0-0');
  expect(ringsToCollect({ ...item, rings, generation: 3, completed: [], open: [], status: 'cancelled' })).toEqual(rings);
});

test('a change under way has a name of its own', () => {
  expect([changeOf(item), changeOf({ ...item, restoring }), changeOf({ ...item, moving })]).toEqual(['', 'restore 2', 'move 1 0-0']);
  expect([changeOf({ ...item, status: 'pausing', moving }), changeOf({ ...item, status: 'resuming' })]).toEqual([
    'move 1 0-0, stop 1',
    'resume 1',
  ]);
});

test('a ring has its generation and its subtask in its name', () => {
  expect(ringOf('12/0-s3')).toEqual({ generation: 12, subtask: '0-s3' });
});

test('another pulse has something to do while anything is open, untold, moving, restoring or stopping', () => {
  const idle = { ...item, open: [], confirmed: 4 };
  expect(isPending(idle)).toBe(false);
  for (const more of [{ open: [open(6)] }, { confirmed: 3 }, { moving }, { restoring }, { status: 'pausing' }] as Partial<JobItem>[]) {
    expect(isPending({ ...idle, ...more })).toBe(true);
  }
});
