import { describe, expect, test } from 'vitest';
import {
  appendEntry,
  expectationFor,
  readNewer,
  readRing,
  roomLeft,
  slotOf,
  stubForSlot,
  viewOfEntries,
} from '../../../lib/invocation/ring.ts';
import { MemoryChangelog, ring } from './support/changelogs.ts';
import { storedEntry } from './support/entries.ts';

const slots = 8;

/** A changelog to which the entries from `first` to `last` have been appended, nothing flushed but up to `flushedThrough`. */
function filled(first: number, last: number, flushedThrough = first): MemoryChangelog {
  const changelog = new MemoryChangelog();
  for (let n = first; n <= last; n++) {
    changelog.slots.set(slotOf(n, slots), storedEntry({ n, base: first, flushedThrough: Math.min(flushedThrough, n) }));
  }
  return changelog;
}

test.each([
  ['the first entry of the job', 0, 0, 'absent'],
  ['the last one of the first round', 7, 0, 'absent'],
  ['the first one of the second round', 8, 0, 0],
  ['the first one of a ring that begins above its parents', 21, 21, 'absent'],
  ['the last one of its first round', 28, 21, 'absent'],
  ['the first one of its second round', 29, 21, 21],
  ['much later', 1_000, 21, 992],
] as const)('%s may replace what the round before has left there', (_, n, base, expected) => {
  expect(expectationFor(n, base, slots)).toBe(expected);
});

test.each([
  ['all is flushed', 10, 10, 7],
  ['nothing is flushed', -1, -1, 7],
  ['some is', 13, 10, 4],
  ['only the slot of the seal is left', 17, 10, 0],
  ['the seal is in', 18, 10, 0],
] as const)('room, when %s', (_, n, flushedThrough, expected) => {
  expect(roomLeft({ n, flushedThrough, slots })).toBe(expected);
});

describe('appending', () => {
  test('of two writers of one number the first wins, and the other has lost', async () => {
    const changelog = filled(0, 2);
    expect(await appendEntry(changelog, ring, slots, 0, storedEntry({ n: 3, writer: 'a' }))).toBe('appended');
    expect(await appendEntry(changelog, ring, slots, 0, storedEntry({ n: 3, writer: 'b' }))).toBe('lost');
    expect(changelog.slots.get(3)!.writer).toBe('a');
  });

  test('a writer that never heard of its success finds its entry', async () => {
    const changelog = filled(0, 2);
    changelog.loseReplies = 1;
    const mine = storedEntry({ n: 3, writer: 'a' });
    await expect(appendEntry(changelog, ring, slots, 0, mine)).rejects.toThrow('no reply');
    expect(await appendEntry(changelog, ring, slots, 0, mine)).toBe('already-mine');
  });

  test('an entry of the same writer under another number is not the one', async () => {
    const changelog = filled(0, 2);
    changelog.slots.set(3, storedEntry({ n: 11, writer: 'a' }));
    expect(await appendEntry(changelog, ring, slots, 0, storedEntry({ n: 3, writer: 'a' }))).toBe('lost');
  });

  test('who slept for a round finds every slot taken', async () => {
    const changelog = filled(0, 20);
    for (let n = 5; n <= 20; n++) expect(await appendEntry(changelog, ring, slots, 0, storedEntry({ n, writer: 'late' }))).toBe('lost');
  });

  test('an empty slot after the first round takes nothing: the ring was removed', async () => {
    expect(await appendEntry(new MemoryChangelog(), ring, slots, 0, storedEntry({ n: 9 }))).toBe('lost');
  });

  test('a ring that begins above its parents takes its first round into empty slots', async () => {
    const changelog = filled(21, 21);
    for (let n = 22; n <= 40; n++) expect(await appendEntry(changelog, ring, slots, 21, storedEntry({ n, base: 21 }))).toBe('appended');
  });

  test('a closed ring takes nothing, in whatever round its writer believes to be', async () => {
    const changelog = new MemoryChangelog();
    for (let slot = 0; slot < slots; slot++) changelog.slots.set(slot, stubForSlot(slot, slots));
    for (let n = 0; n < 40; n++) expect(await appendEntry(changelog, ring, slots, 0, storedEntry({ n }))).toBe('lost');
  });
});

describe('reading a ring', () => {
  test('there is none', async () => {
    expect(await readRing(new MemoryChangelog(), ring, slots)).toBe(undefined);
  });

  test('the newest entry, what is not flushed without a hole, and what else is there', async () => {
    const view = await readRing(filled(0, 20, 17), ring, slots);
    if (view === undefined || view === 'closed') throw new Error('a ring is expected');
    expect(view.newest.n).toBe(20);
    expect(view.head).toMatchObject({ n: 20, flushedThrough: 17 });
    expect(view.above.map((e) => e.n)).toEqual([18, 19, 20]);
    expect(view.all.map((e) => e.n)).toEqual([13, 14, 15, 16, 17, 18, 19, 20]);
  });

  test('an entry that is its own flush leaves nothing above', async () => {
    expect(await readRing(filled(5, 5), ring, slots)).toMatchObject({ above: [], head: { n: 5 } });
  });

  test('pages that do not belong together are read again', async () => {
    // The first page is read; then two entries come, one into a slot that was read, one into a slot that was not.
    const changelog = filled(0, 14, 10);
    changelog.pageSlots = 1;
    let spoilt = false;
    changelog.onRead = () => {
      if (changelog.reads !== 2 || spoilt) return;
      spoilt = true;
      for (let n = 15; n <= 17; n++) changelog.slots.set(slotOf(n, slots), storedEntry({ n, flushedThrough: 14 }));
    };
    const view = await readRing(changelog, ring, slots);
    expect(view).toMatchObject({ newest: { n: 17 } });
    expect((view as { readonly above: readonly { readonly n: number }[] }).above.map((e) => e.n)).toEqual([15, 16, 17]);
    expect(changelog.reads).toBe(16);
  });

  test('a hole above what is flushed is torn, one below it is not', () => {
    const entries = [11, 12, 14].map((n) => storedEntry({ n, flushedThrough: 11 }));
    expect(viewOfEntries(entries)).toBe('torn');
    expect(viewOfEntries([9, 13, 14].map((n) => storedEntry({ n, flushedThrough: 12 })))).toMatchObject({ above: [{ n: 13 }, { n: 14 }] });
  });

  test('a reader that is always overtaken gives up by name', async () => {
    const changelog = filled(0, 7, 0);
    changelog.slots.delete(3);
    await expect(readRing(changelog, ring, slots)).rejects.toMatchObject({ code: 'CHANGELOG_UNSTEADY', next: 'retry-invocation' });
    expect(changelog.reads).toBe(16);
  });

  test('one stub closes the ring, wherever the clean-up is', async () => {
    for (let slot = 0; slot < slots; slot++) {
      const changelog = filled(0, 20, 17);
      changelog.slots.set(slot, stubForSlot(slot, slots));
      expect(await readRing(changelog, ring, slots)).toBe('closed');
    }
  });

  test('a newest entry of a later format is refused by name', async () => {
    const changelog = filled(0, 3);
    const { n, writer, bytes } = changelog.slots.get(3)!;
    changelog.slots.set(3, { n, writer, bytes: Uint8Array.from([7, ...bytes.subarray(1)]) });
    await expect(readRing(changelog, ring, slots)).rejects.toMatchObject({ code: 'FORMAT_NEWER' });
  });
});

describe('reading what is newer', () => {
  const numbersAfter = async (changelog: MemoryChangelog, after: number): Promise<unknown> => {
    const newer = await readNewer(changelog, ring, slots, after);
    return newer === 'too-far' ? newer : newer.map((e) => e.n);
  };

  test('nothing is, and that takes one read', async () => {
    const changelog = filled(0, 20);
    expect(await numbersAfter(changelog, 20)).toEqual([]);
    expect(changelog.reads).toBe(1);
    expect(await numbersAfter(filled(0, 3), 3)).toEqual([]);
  });

  test.each([1, 2, 1_000])(
    'all that is newer comes in order, also across the end of the slots, with pages of %d slots',
    async (pageSlots) => {
      const changelog = filled(0, 20);
      changelog.pageSlots = pageSlots;
      for (let after = 13; after < 20; after++) {
        expect(await numbersAfter(changelog, after)).toEqual(Array.from({ length: 20 - after }, (_, i) => after + 1 + i));
      }
    },
  );

  test('a round or more behind is too far', async () => {
    for (let after = 0; after < 13; after++) expect(await numbersAfter(filled(0, 20), after)).toBe('too-far');
  });

  test('a ring that goes on while it is read is read up to some moment, or is too far', async () => {
    const changelog = filled(0, 10);
    let n = 10;
    changelog.onRead = () => {
      n++;
      changelog.slots.set(slotOf(n, slots), storedEntry({ n }));
    };
    const newer = (await numbersAfter(changelog, 9)) as number[];
    expect(newer).toEqual(newer.map((_, i) => 10 + i));
    expect(newer.length).toBeGreaterThan(1);
  });

  test('a closed ring is too far', async () => {
    const changelog = filled(0, 10);
    for (let slot = 0; slot < slots; slot++) changelog.slots.set(slot, stubForSlot(slot, slots));
    expect(await numbersAfter(changelog, 10)).toBe('too-far');
  });
});
