import { describe, expect, test } from 'vitest';
import { tombstoneLifeMs } from '../../../lib/invocation/limits.ts';
import type { VersionView } from '../../../lib/invocation/state/contract.ts';
import { expiryOf, isVisible, mergeVersions, tagsOf, type Version, visibleVersion } from '../../../lib/invocation/versions.ts';

/** `<generation>.<epoch>.<n>`, with `x` behind it a tombstone. */
function version(tag: string): Version {
  const [generation, epoch, n] = tag.replace('x', '').split('.').map(Number) as [number, number, number];
  return { generation, epoch, n, value: tag.endsWith('x') ? undefined : Uint8Array.of(n), object: undefined };
}
const versions = (tags: string): readonly Version[] => (tags === '' ? [] : tags.split(',').map(version));
const viewOf = (more: Partial<VersionView> = {}): VersionView => ({ generation: 0, restores: [], points: [], epoch: 1, ...more });
const restores = [
  { generation: 1, checkpoint: 3 },
  { generation: 2, checkpoint: 5 },
];

describe('what is visible', () => {
  test.each([
    ['an epoch that the restore kept', '0.3.9', 1, true],
    ['an epoch that the restore undid', '0.4.9', 1, false],
    ['the same, for a reader from before the restore', '0.4.9', 0, true],
    ['what was written after the restore', '1.4.9', 1, true],
    ['what two restores kept', '0.3.9', 2, true],
    ['what the first one undid, though the second went back to later', '0.4.9', 2, false],
    ['what came between them and was kept', '1.5.9', 2, true],
    ['what came between them and was undone', '1.6.9', 2, false],
    ['what came after both', '2.99.9', 2, true],
  ] as const)('%s', (_, tag, generation, expected) => {
    expect(isVisible(version(tag), { generation, restores })).toBe(expected);
  });

  test('the newest one, or the newest one up to a checkpoint', () => {
    const all = versions('2.7.40,1.6.31,1.5.30,0.4.20,0.3.10');
    const view = { generation: 2, restores };
    expect(visibleVersion(all, view)).toMatchObject({ n: 40 });
    expect(visibleVersion(all, view, 6)).toMatchObject({ n: 30 });
    expect(visibleVersion(all, view, 4)).toMatchObject({ n: 10 });
    expect(visibleVersion(all, view, 2)).toBe(undefined);
  });
});

describe('what a writer leaves in an item', () => {
  const table: readonly (readonly [string, string, string, Partial<VersionView>, string])[] = [
    ['its first version', '', '0.1.4', {}, '0.1.4'],
    ['of one epoch the larger number', '0.1.4', '0.1.6', {}, '0.1.6'],
    ['of one epoch the larger number, also when that is the stored one', '0.1.6', '0.1.4', {}, '0.1.6'],
    ['nothing older that no checkpoint asks for', '0.1.4', '0.5.9', { epoch: 5 }, '0.5.9'],
    ['what an open or retained checkpoint asks for', '0.1.4', '0.5.9', { epoch: 5, points: [3] }, '0.5.9,0.1.4'],
    ['one version for several checkpoints', '0.2.5,0.1.4', '0.5.9', { epoch: 5, points: [2, 3, 4] }, '0.5.9,0.2.5'],
    ['one for each where they differ', '0.3.6,0.1.4', '0.5.9', { epoch: 5, points: [2, 3] }, '0.5.9,0.3.6,0.1.4'],
    ['a tombstone like any other', '0.1.4', '0.5.9x', { epoch: 5, points: [3] }, '0.5.9,0.1.4'],
    ['nothing that a restore hid', '0.4.8,0.3.7', '1.6.9', { generation: 1, restores, epoch: 6, points: [3] }, '1.6.9,0.3.7'],
    ['all its epochs that somebody asks for', '0.1.4', '0.5.9,0.4.8,0.3.7', { epoch: 5, points: [3, 4] }, '0.5.9,0.4.8,0.3.7'],
    ['not the epochs of aborted checkpoints', '0.1.4', '0.5.9,0.4.8,0.3.7', { epoch: 5, points: [1] }, '0.5.9,0.1.4'],
    ['what writers wrote that have overtaken it', '0.7.30,0.6.20', '0.4.9', { epoch: 4, points: [3] }, '0.7.30,0.6.20,0.4.9'],
    ['its own epoch’s version below those', '1.7.30,0.2.5', '0.4.9', { epoch: 4, points: [2] }, '1.7.30,0.4.9,0.2.5'],
    ['what a later generation wrote', '1.7.30,0.2.5', '0.4.9', { epoch: 4, points: [] }, '1.7.30,0.4.9'],
  ];
  test.each(table)('%s', (_, stored, mine, view, expected) => {
    expect(tagsOf(mergeVersions(versions(stored), versions(mine), viewOf(view)))).toBe(expected);
  });

  test('the value goes with its tag', () => {
    const [merged] = mergeVersions(versions('0.1.4'), versions('0.1.6x'), viewOf());
    expect(merged).toEqual(version('0.1.6x'));
  });

  test('versions above the newest checkpoint do not pile up', () => {
    let stored: readonly Version[] = [];
    for (let epoch = 3; epoch < 50; epoch++) {
      stored = mergeVersions(stored, versions(`0.${epoch}.${epoch}`), viewOf({ epoch, points: [2] }));
      expect(stored.length).toBe(1);
    }
  });
});

test.each([
  ['a value stays for ever', '0.1.4', undefined],
  ['a tombstone with a value behind it, too', '0.5.9x,0.1.4', undefined],
  ['the last tombstone goes when nobody lives who read what was there before', '0.5.9x', 1_000 + tombstoneLifeMs],
  ['so do tombstones with nothing but tombstones behind them', '0.5.9x,0.1.4x', 1_000 + tombstoneLifeMs],
] as const)('%s', (_, tags, expected) => {
  expect(expiryOf(versions(tags), 1_000)).toBe(expected);
});

test('a pointer to an object is no tombstone', () => {
  expect(expiryOf([{ generation: 0, epoch: 1, n: 1, value: undefined, object: 'o' }], 0)).toBe(undefined);
});
