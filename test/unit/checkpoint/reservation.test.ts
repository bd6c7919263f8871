import { describe, expect, test } from 'vitest';
import {
  decideReservation,
  loadReservations,
  type ReservationFacts,
  removeReservations,
  storeReservations,
} from '../../../lib/checkpoint/reservation.ts';
import { faultyFiles, memoryFiles } from './support/ports.ts';

describe('when positions are set aside', () => {
  const facts: ReservationFacts = { nowMs: 10_000, storedMs: 9_500, left: 100, usedSince: 500 };
  const table: readonly (readonly [string, Partial<ReservationFacts>, ReturnType<typeof decideReservation>])[] = [
    ['there is enough, and it is fresh', {}, { kind: 'enough' }],
    ['the first one covers 64 Ki records', { storedMs: undefined, left: 0, usedSince: 0 }, { kind: 'reserve', records: 65_536 }],
    ['it is used up by a fast source: 64 Ki records', { left: 0, usedSince: 65_536 }, { kind: 'reserve', records: 65_536 }],
    ['it is a second old: twice what a second brings', { storedMs: 9_000, usedSince: 500 }, { kind: 'reserve', records: 1_000 }],
    ['it is ten seconds old: still what one second brings', { storedMs: 0, usedSince: 500 }, { kind: 'reserve', records: 100 }],
    ['it is old, but nothing was read since: enough', { storedMs: 0, usedSince: 0 }, { kind: 'enough' }],
    [
      'it is old and used up by a single record: at least one more',
      { storedMs: 0, left: 0, usedSince: 1 },
      { kind: 'reserve', records: 2 },
    ],
    ['C53 the clock was set back: as if it were fresh', { storedMs: 99_999 }, { kind: 'enough' }],
    ['C53 the clock was set back and it is used up: 64 Ki records', { storedMs: 99_999, left: 0 }, { kind: 'reserve', records: 65_536 }],
  ];
  test.each(table)('%s', (_rule, changed, expected) => {
    expect(decideReservation({ ...facts, ...changed })).toEqual(expected);
  });
});

describe('stored reservations', () => {
  test('of all source subtasks are read together, and of a split that several name the highest counts', async () => {
    const files = memoryFiles();
    await files.createDirectoryTree('/a');
    await storeReservations(files, '/a', 0, 0, [{ split: 'in/x', index: 5 }]);
    await storeReservations(files, '/a', 0, 0, [{ split: 'in/x', index: 10 }]);
    await storeReservations(files, '/a', 0, 1, [
      { split: 'in/x', index: 7 },
      { split: 'in/y', index: 1 },
    ]);
    await storeReservations(files, '/a', 3, 0, [{ split: 'other/x', index: 99 }]);
    expect([...(await loadReservations(files, '/a'))]).toEqual([
      ['in/x', 10],
      ['in/y', 1],
      ['other/x', 99],
    ]);
    await removeReservations(files, '/a');
    expect((await loadReservations(files, '/a')).size).toBe(0);
  });

  test('one that could not be written leaves the one before it whole', async () => {
    const faulty = faultyFiles(memoryFiles());
    await faulty.files.createDirectoryTree('/a');
    await storeReservations(faulty.files, '/a', 0, 0, [{ split: 'x', index: 5 }]);
    for (const method of ['append', 'sync', 'rename']) {
      faulty.faults.splice(0, 1, { method, path: /reservation/ });
      await expect(storeReservations(faulty.files, '/a', 0, 0, [{ split: 'x', index: 10 }])).rejects.toMatchObject({ code: 'ENOSPC' });
      expect((await loadReservations(faulty.files, '/a')).get('x')).toBe(5);
    }
  });
});
