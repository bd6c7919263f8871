import { describe, expect, test } from 'vitest';
import type { JobItem, JobStatus } from '../../../lib/invocation/job-item.ts';
import { decodeHandles, decodeJobItem, encodeHandles, encodeJobItem } from '../../../lib/invocation/job-item-codec.ts';
import { handles, jobItem } from '../../golden/invocation/stored.ts';

const fresh: JobItem = {
  ...jobItem,
  status: 'running',
  failure: undefined,
  generation: 0,
  begun: 0,
  open: [],
  completed: [],
  confirmed: 0,
  lastEndedMs: undefined,
  restores: [],
  restoring: undefined,
  moving: undefined,
  until: [],
};

describe('a job item comes back as it was', () => {
  test.each([
    ['with all that it can hold', jobItem],
    ['that has just been made', fresh],
    ['without owners', { ...fresh, owners: [], rings: [] }],
  ])('%s', (_, item) => {
    expect(decodeJobItem(encodeJobItem(item))).toEqual(item);
  });

  test.each<JobStatus>(['running', 'pausing', 'paused', 'cancelling', 'failing', 'cancelled', 'failed', 'finished'])('%s', (status) => {
    expect(decodeJobItem(encodeJobItem({ ...fresh, status })).status).toBe(status);
  });
});

describe('ranges of owners', () => {
  const ranged = { subtask: '0-s3', stage: 0, index: 3, splits: [3], range: { from: 0, to: 2 ** 32 - 1 } };
  const other = { ...ranged, subtask: '0-s4', index: 4, splits: [4], range: { from: 7, to: 7 } };
  const plain = { subtask: '1-0', stage: 1, index: 0, splits: [] };

  test('come back wherever an owner is named', () => {
    const item: JobItem = {
      ...jobItem,
      owners: [ranged, plain],
      completed: [{ ...jobItem.completed[0]!, owners: [other, plain] }],
      restoring: { ...jobItem.restoring!, owners: [plain, ranged] },
      moving: { ...jobItem.moving!, children: [other] },
    };
    expect(decodeJobItem(encodeJobItem(item))).toEqual(item);
  });

  test('cost nothing where there are none, and lie behind what format 1 held before them', () => {
    const without = encodeJobItem({ ...fresh, owners: [plain, { subtask: '0-s3', stage: 0, index: 3, splits: [3] }] });
    const withRange = encodeJobItem({ ...fresh, owners: [plain, ranged] });
    expect(withRange.subarray(0, without.length)).toEqual(without);
    expect(decodeJobItem(without).owners.map(({ range }) => range)).toEqual([undefined, undefined]);
  });
});

describe('places', () => {
  const places = [['0-s3/3', '12'], ['0-s4/4', { sequence: 7n, sub: 0 }]] as const; // biome-ignore format: pairs

  test('come back, with ranges of owners and without', () => {
    const ranged = { subtask: '0-s3', stage: 0, index: 3, splits: [3], range: { from: 0, to: 9 } };
    for (const owners of [[], [ranged]]) {
      const item: JobItem = { ...fresh, owners, places };
      expect(decodeJobItem(encodeJobItem(item))).toEqual(item);
    }
  });

  test('cost nothing where there are none, and an addition of nothing is damaged', () => {
    expect(encodeJobItem({ ...fresh, places: [] })).toEqual(encodeJobItem(fresh));
    expect(() => decodeJobItem(Uint8Array.from([...encodeJobItem(fresh), 0]))).toThrow(/nothing is never written/);
  });
});

test('an owner costs its name once, however many lists it is in', () => {
  const owners = Array.from({ length: 128 }, (_, i) => ({ subtask: `12-${i}`, stage: 12, index: i, splits: [] }));
  const completed = Array.from({ length: 3 }, (_, i) => ({ ...jobItem.completed[0]!, checkpoint: i, owners }));
  const size = (item: JobItem): number => encodeJobItem(item).length;
  expect(size({ ...fresh, owners, completed }) - size({ ...fresh, owners })).toBeLessThan(3 * (128 * 5.5 + 60));
});

test('a status that nobody writes is damage', () => {
  const bytes = encodeJobItem({ ...fresh, job: '', planHash: '' });
  bytes[3] = 200;
  expect(() => decodeJobItem(bytes)).toThrow(/no status has number 200/);
});

test('a checkpoint of no subtasks has metadata', () => {
  expect(decodeHandles(encodeHandles([]))).toEqual([]);
  expect(decodeHandles(encodeHandles(handles))).toEqual(handles);
});
