// What a source calls its records, and that a restored reader calls them the same.

import { describe, expect, test } from 'vitest';
import { freshSplits, SourceDriver, type StoredSplit } from '../../../../lib/adapters/embedded/source-driver.ts';
import type { SourceReservations } from '../../../../lib/adapters/embedded/source-reservations.ts';
import type { Source } from '../../../../lib/api/source.ts';
import { at, type Timed, timedSource } from '../../../support/timed-source.ts';

const bad = (value: number): Timed<number> => ({ at: 0, value, isMalformed: true });

/** The names of everything a driver hands out in `polls` calls, in order. */
function namesOf(driver: SourceDriver, aside: string[], polls: number): readonly string[] {
  const names: string[] = [];
  for (let i = 0; i < polls; i++) {
    const polled = driver.poll();
    names.push(...aside.splice(0));
    if (polled.kind !== 'records') continue;
    for (let j = 0; j < polled.batch.count; j++) names.push(`${polled.batch.origins?.at(j)}=${String(polled.batch.values[j])}`);
  }
  return names;
}

function driverOf(
  source: Source<number>,
  splits: readonly StoredSplit[],
  o: { readonly origins?: string; readonly reservations?: SourceReservations } = {},
): { readonly driver: SourceDriver; readonly aside: string[] } {
  const aside: string[] = [];
  const driver = new SourceDriver(
    {
      source,
      context: { job: 'job', uid: 'in', clock: { now: () => 1e15 }, files: undefined, countSkipped: () => {} } as never,
      watermarks: undefined,
      side: (_tag, value, cause) => void aside.push(`${cause}=${String(value)}`),
      origins: o.origins,
      reservations: o.reservations,
      countLost: () => {},
    },
    splits,
  );
  return { driver, aside };
}

const rows = [...at(0, 10), bad(11), ...at(0, 12), bad(13), bad(14), ...at(0, 15)];
const splits = freshSplits([{ id: 'a/b' }, { id: 'c' }]);

describe('origins of a source', () => {
  test('are made of uid, split and index; malformed records count by themselves', () => {
    const { driver, aside } = driverOf(timedSource({ 'a/b': rows, c: at(0, 1) }), splits, { origins: 'in/' });
    expect(namesOf(driver, aside, 3)).toEqual([
      'in/a/b/malformed-0=11',
      'in/a/b/malformed-1=13',
      'in/a/b/malformed-2=14',
      'in/a/b/0=10',
      'in/a/b/1=12',
      'in/a/b/2=15',
      'in/c/0=1',
    ]);
  });

  test('go on where a restored position stands, also after malformed records', () => {
    const half = timedSource({ 'a/b': rows.slice(0, 4), c: [] }, { endsAt: Number.MAX_SAFE_INTEGER });
    const before = driverOf(half, splits, { origins: 'in/' });
    const first = namesOf(before.driver, before.aside, 1);
    const after = driverOf(timedSource({ 'a/b': rows, c: [] }), before.driver.stored(), { origins: 'in/' });
    const whole = driverOf(timedSource({ 'a/b': rows, c: [] }), splits, { origins: 'in/' });
    expect([...first, ...namesOf(after.driver, after.aside, 1)].sort()).toEqual([...namesOf(whole.driver, whole.aside, 1)].sort());
  });

  test('are not there in jobs that do not ask, and the malformed are counted in the position all the same', () => {
    const { driver, aside } = driverOf(timedSource({ 'a/b': rows, c: [] }), splits);
    expect(namesOf(driver, aside, 1)).toEqual([
      'undefined=11',
      'undefined=13',
      'undefined=14',
      'undefined=10',
      'undefined=12',
      'undefined=15',
    ]);
    expect(driver.stored().map(({ malformed: n }) => n)).toEqual([3, undefined]);
  });

  test('pass over what an earlier run may have handed out under AT_MOST_ONCE, malformed records too', () => {
    const reservations = { earlier: new Map([['in/a/b', 2]]), allowance: () => 100, used: () => {} } as unknown as SourceReservations;
    const { driver, aside } = driverOf(timedSource({ 'a/b': rows, c: [] }), splits, { origins: 'in/', reservations });
    expect(namesOf(driver, aside, 1)).toEqual(['in/a/b/malformed-1=13', 'in/a/b/malformed-2=14', 'in/a/b/2=15']);
  });
});
