import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { VersionView } from '../../../lib/invocation/state/contract.ts';
import { expiryOf, isVisible, mergeVersions, tagsOf, type Version, visibleVersion } from '../../../lib/invocation/versions.ts';

const generations = fc.integer({ min: 0, max: 4 });
const epochs = fc.integer({ min: 1, max: 12 });

/** What a tag stands for is given by the tag, as in a log where one entry is written once. */
const version = fc.tuple(generations, epochs, fc.integer({ min: 0, max: 6 })).map(
  ([generation, epoch, n]): Version => ({
    generation,
    epoch,
    n,
    value: (generation + epoch + n) % 4 === 0 ? undefined : Uint8Array.of(generation, epoch, n),
    object: undefined,
  }),
);
const written = fc.array(version, { maxLength: 6 });
const views: fc.Arbitrary<VersionView> = fc.record({
  generation: generations,
  restores: fc.uniqueArray(fc.record({ generation: fc.integer({ min: 1, max: 4 }), checkpoint: epochs }), {
    selector: (r) => r.generation,
    maxLength: 4,
  }),
  points: fc.array(epochs, { maxLength: 4 }),
  epoch: epochs,
});

/** A stored item is always what some merge left. */
const stored = fc.tuple(written, views).map(([mine, view]) => mergeVersions([], mine, view));

/** The newest of all versions that are visible up to an epoch, said without any order of a list. */
function newest(all: readonly Version[], view: VersionView, max: number): Version | undefined {
  let found: Version | undefined;
  for (const v of all) {
    if (v.epoch > max || !isVisible(v, view)) continue;
    const isNewer =
      found === undefined ||
      v.generation > found.generation ||
      (v.generation === found.generation && (v.epoch > found.epoch || (v.epoch === found.epoch && v.n > found.n)));
    if (isNewer) found = v;
  }
  return found;
}

test('what a reader may ask for is there after a merge as before: now, at its own epoch, at every live point', () => {
  fc.assert(
    fc.property(stored, written, views, (was, mine, view) => {
      const merged = mergeVersions(was, mine, view);
      for (const max of [Number.POSITIVE_INFINITY, view.epoch, ...view.points]) {
        expect(visibleVersion(merged, view, max)).toEqual(newest([...was, ...mine], view, max));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('what writers of later epochs wrote stays, so a slow writer takes nothing from them', () => {
  fc.assert(
    fc.property(stored, written, views, (was, mine, view) => {
      const merged = mergeVersions(was, mine, view);
      for (const v of was) {
        if (v.epoch <= view.epoch || !isVisible(v, view)) continue;
        expect(merged.some((m) => m.generation === v.generation && m.epoch === v.epoch && m.n >= v.n)).toBe(true);
      }
    }),
  );
});

test('merging again changes nothing', () => {
  fc.assert(
    fc.property(stored, written, views, (was, mine, view) => {
      const once = mergeVersions(was, mine, view);
      expect(mergeVersions(once, mine, view)).toEqual(once);
      expect(mergeVersions(once, [], view)).toEqual(once);
      expect(mergeVersions(once, was, view)).toEqual(once);
    }),
    { numRuns: 2_000 },
  );
});

test('the order of merges, and of versions in them, does not matter', () => {
  fc.assert(
    fc.property(stored, written, written, views, (was, a, b, view) => {
      const expected = mergeVersions(was, [...a, ...b], view);
      expect(mergeVersions(mergeVersions(was, a, view), b, view)).toEqual(expected);
      expect(mergeVersions(mergeVersions(was, b, view), a, view)).toEqual(expected);
      expect(mergeVersions(was, [...b, ...a].reverse(), view)).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('versions are newest first, one of an epoch, so tags name them', () => {
  fc.assert(
    fc.property(stored, written, views, (was, mine, view) => {
      const merged = mergeVersions(was, mine, view);
      const order = merged.map((v) => v.generation * 100 + v.epoch);
      expect(order).toEqual([...new Set(order)].sort((a, b) => b - a));
      expect(new Set(tagsOf(merged).split(',')).size).toBe(Math.max(1, merged.length));
    }),
  );
});

test('nothing is kept that nobody asks for', () => {
  fc.assert(
    fc.property(stored, written, views, (was, mine, view) => {
      const merged = mergeVersions(was, mine, view);
      expect(merged.every((v) => isVisible(v, view))).toBe(true);
      expect(merged.filter((v) => v.epoch <= view.epoch).length).toBeLessThanOrEqual(new Set([...view.points, view.epoch]).size + 1);
    }),
  );
});

test('an item that may expire reads the same, for everybody, when it is gone', () => {
  fc.assert(
    fc.property(stored, written, views, views, epochs, (was, mine, view, reader, max) => {
      const merged = mergeVersions(was, mine, view);
      if (expiryOf(merged, 0) === undefined) return;
      expect(visibleVersion(merged, reader, max)?.value).toBe(undefined);
    }),
  );
});
