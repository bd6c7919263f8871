import fc from 'fast-check';
import { expect, test } from 'vitest';
import { appendEntry, expectationFor, readNewer, readRing, roomLeft, slotOf } from '../../../lib/invocation/ring.ts';
import { MemoryChangelog, ring } from '../../unit/invocation/support/changelogs.ts';
import { storedEntry } from '../../unit/invocation/support/entries.ts';

const shapes = fc.record({ slots: fc.integer({ min: 6, max: 12 }), base: fc.constantFrom(0, 1, 5, 12, 1_000) });

/** A subtask as it should be: it appends while there is room, materialises when told, and keeps every entry that it ever appended. */
class Log {
  readonly changelog = new MemoryChangelog();
  readonly entries: number[] = [];
  readonly slots: number;
  readonly base: number;
  n: number;
  flushedThrough: number;

  constructor(shape: { readonly slots: number; readonly base: number }) {
    this.slots = shape.slots;
    this.base = shape.base;
    this.n = shape.base;
    this.flushedThrough = shape.base;
    this.#put(this.n);
  }

  #put(n: number): void {
    const entry = storedEntry({ n, base: this.base, flushedThrough: Math.min(this.flushedThrough, n), writer: `w${n}` });
    const held = this.changelog.slots.get(slotOf(n, this.slots));
    expect(held?.n ?? 'absent').toBe(expectationFor(n, this.base, this.slots));
    // What is overwritten has to be in the base.
    if (held !== undefined) expect(held.n).toBeLessThanOrEqual(this.flushedThrough);
    this.changelog.slots.set(slotOf(n, this.slots), entry);
    this.entries.push(n);
    this.n = n;
  }

  append(): boolean {
    if (roomLeft(this) === 0) return false;
    this.#put(this.n + 1);
    return true;
  }

  seal(): void {
    this.#put(this.n + 1);
  }

  materialise(through = this.n): void {
    this.flushedThrough = Math.max(this.flushedThrough, through);
  }

  /** Appends, and flushes when it has to. */
  proceed(): void {
    if (!this.append()) {
      this.materialise();
      this.append();
    }
  }
}

const steps = fc.array(fc.oneof({ weight: 6, arbitrary: fc.constant('append' as const) }, fc.integer({ min: 0, max: 12 })), {
  maxLength: 80,
});

test('no slot is used again before its entry is in the base, and a ring can be sealed at any time', () => {
  fc.assert(
    fc.property(shapes, steps, (shape, path) => {
      const log = new Log(shape);
      for (const step of path) {
        if (step === 'append') log.append();
        else log.materialise(log.n - step);
      }
      log.seal();
      expect(log.entries).toEqual(log.entries.map((_, i) => shape.base + i));
    }),
  );
});

test('whatever number a writer believes to be next, it wins only with the one that is', async () => {
  await fc.assert(
    fc.asyncProperty(shapes, fc.nat(60), fc.integer({ min: -30, max: 30 }), async (shape, count, off) => {
      const log = new Log(shape);
      for (let i = 0; i < count; i++) log.proceed();
      const n = log.n + 1 + off;
      if (n < shape.base) return;
      const outcome = await appendEntry(
        log.changelog,
        ring,
        shape.slots,
        shape.base,
        storedEntry({ n, base: shape.base, writer: 'other' }),
      );
      // A number ahead of the log finds its slot a round behind, or empty in the first round: a writer only ever counts on from an entry that it
      // read, so such a number does not come up.
      if (off <= 0) expect(outcome).toBe(off === 0 ? 'appended' : 'lost');
    }),
  );
});

test('what is read of a ring is a log that existed, whatever is appended between its pages', async () => {
  await fc.assert(
    fc.asyncProperty(
      shapes,
      fc.nat(40),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.nat(9), { maxLength: 20 }),
      async (shape, count, page, between) => {
        const log = new Log(shape);
        for (let i = 0; i < count; i++) log.proceed();
        const before = log.n;
        const pauses = [...between];
        log.changelog.pageSlots = page;
        log.changelog.onRead = () => {
          for (let i = pauses.shift() ?? 0; i > 0; i--) log.proceed();
        };
        const view = await readRing(log.changelog, ring, shape.slots);
        if (view === undefined || view === 'closed') throw new Error('a ring is expected');
        expect(view.newest.n).toBeGreaterThanOrEqual(before);
        expect(view.newest.n).toBeLessThanOrEqual(log.n);
        const { n, flushedThrough } = view.head;
        expect(view.above.map((e) => e.n)).toEqual(Array.from({ length: n - flushedThrough }, (_, i) => flushedThrough + 1 + i));
      },
    ),
    { numRuns: 500 },
  );
});

test('what is newer follows without a hole, up to where the log was at some moment', async () => {
  await fc.assert(
    fc.asyncProperty(
      shapes,
      fc.nat(40),
      fc.nat(20),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.nat(4), { maxLength: 10 }),
      async (shape, count, behind, page, between) => {
        const log = new Log(shape);
        for (let i = 0; i < count; i++) log.proceed();
        const after = Math.max(shape.base, log.n - behind);
        const before = log.n;
        const pauses = [...between];
        log.changelog.pageSlots = page;
        log.changelog.onRead = () => {
          for (let i = pauses.shift() ?? 0; i > 0; i--) log.proceed();
        };
        const newer = await readNewer(log.changelog, ring, shape.slots, after);
        if (newer === 'too-far') {
          expect(log.n - after).toBeGreaterThanOrEqual(shape.slots);
          return;
        }
        expect(newer.map((e) => e.n)).toEqual(newer.map((_, i) => after + 1 + i));
        expect(after + newer.length).toBeGreaterThanOrEqual(before);
        expect(after + newer.length).toBeLessThanOrEqual(log.n);
      },
    ),
    { numRuns: 500 },
  );
});
