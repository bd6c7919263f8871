import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OperatorRestore, Redistribution } from '../../../lib/checkpoint/snapshot.ts';
import { CheckpointStorage } from '../../../lib/checkpoint/storage.ts';
import { keyGroupRange } from '../../../lib/core/key-group.ts';
import { memoryFiles } from '../../unit/checkpoint/support/ports.ts';
import { nothing } from '../../unit/checkpoint/support/samples.ts';

const maxParallelism = 16;

/** Stores one operator at one parallelism and reads it at another; through real files, so that offsets and lengths are part of the law. */
async function rescaled(o: {
  readonly groups: readonly Uint8Array[];
  readonly lists: readonly (readonly Uint8Array[])[];
  readonly redistribution: Redistribution;
  readonly to: number;
  readonly kind: 'memory' | 'filesystem';
}): Promise<OperatorRestore[]> {
  const files = memoryFiles();
  await files.createDirectoryTree('/a');
  const storage = new CheckpointStorage({ files, path: '/a', job: 'job', generation: 1, backend: { kind: o.kind } });
  await storage.open();
  await storage.begin(storage.nextNumber());
  const parallelism = o.lists.length;
  const handles = [];
  for (const [subtask, elements] of o.lists.entries()) {
    const range = keyGroupRange(subtask, maxParallelism, parallelism);
    const groups = o.groups
      .map((bytes, group) => ({ group, bytes }))
      .filter((g) => g.group >= range.first && g.group <= range.last && g.bytes.length > 0);
    const keyed = { states: [{ name: 's', kind: 'value', version: 0 }], groups };
    handles.push(
      await storage.storeSubtask(1, {
        stage: 0,
        subtask,
        operators: [{ uid: 'op', ...nothing, keyed, lists: [{ name: 'l', redistribution: o.redistribution, elements }] }],
      }),
    );
  }
  const info = { timestamp: 0, trigger: 'interval', durationMs: 0, mode: 'EXACTLY_ONCE', planHash: '', isFinished: false } as const;
  await storage.complete(1, handles, { ...info, operators: [{ uid: 'op', name: 'op', parallelism, maxParallelism }] });
  const { checkpoint } = await storage.load('latest');
  const restored: OperatorRestore[] = [];
  for (let subtask = 0; subtask < o.to; subtask++) {
    restored.push((await storage.readSubtask(checkpoint!, ['op'], { subtask, parallelism: o.to, maxParallelism })).operators[0]!);
  }
  return restored;
}

const small = fc.uint8Array({ maxLength: 12 });
const large = fc
  .record({ byte: fc.nat(255), length: fc.integer({ min: 20_000, max: 40_000 }) })
  .map(({ byte, length }) => new Uint8Array(length).fill(byte));
const content = fc.oneof({ weight: 9, arbitrary: small }, { weight: 1, arbitrary: large });
const request = fc.record({
  groups: fc.array(content, { minLength: maxParallelism, maxLength: maxParallelism }),
  lists: fc.array(fc.array(small, { maxLength: 7 }), { minLength: 1, maxLength: 6 }),
  to: fc.integer({ min: 1, max: maxParallelism }),
  kind: fc.constantFrom('memory' as const, 'filesystem' as const),
});

test('whatever the two parallelisms: every key group arrives once, unchanged, at its owner', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (r) => {
      const restored = await rescaled({ ...r, redistribution: 'split' });
      const arrived = restored.flatMap((o) => o.keyed.flatMap((k) => k.groups));
      expect(arrived.map((g) => [g.group, g.bytes])).toEqual([...r.groups.entries()].filter(([, bytes]) => bytes.length > 0));
      for (const [subtask, o] of restored.entries()) {
        const range = keyGroupRange(subtask, maxParallelism, r.to);
        expect(o.keyed.every((k) => k.groups.every((g) => g.group >= range.first && g.group <= range.last))).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test('whatever the two parallelisms: split lists keep every element once and in order, in shares whose sizes differ by at most one', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (r) => {
      const shares = (await rescaled({ ...r, redistribution: 'split' })).map((o) => o.lists[0]?.elements ?? []);
      expect(shares.flat()).toEqual(r.lists.flat());
      const sizes = shares.map((s) => s.length);
      if (r.to === r.lists.length) expect(shares).toEqual(r.lists);
      else expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }),
    { numRuns: 60 },
  );
});

test('whatever the two parallelisms: everyone gets a union list whole', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (r) => {
      for (const o of await rescaled({ ...r, redistribution: 'union' })) expect(o.lists[0]?.elements ?? []).toEqual(r.lists.flat());
    }),
    { numRuns: 30 },
  );
});
