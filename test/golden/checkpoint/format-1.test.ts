import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeFileSystem } from '../../../lib/adapters/embedded/node-file-system.ts';
import { loadCheckpoint } from '../../../lib/checkpoint/reading.ts';
import { promisedTransactions } from '../../../lib/checkpoint/redistribute.ts';
import { loadReservations } from '../../../lib/checkpoint/reservation.ts';
import { readSubtask } from '../../../lib/checkpoint/restore.ts';
import { CheckpointStorage } from '../../../lib/checkpoint/storage.ts';
import { memoryFiles } from '../../unit/checkpoint/support/ports.ts';
import { groupBytes, info, snapshot, writeAll } from './stored.ts';

const frozen = join(import.meta.dirname, 'format-1');
const names = ['chk-7/_metadata', 'chk-7/state-1-2-0', 'numbers', 'announced/8-1-2-0', 'reservation-0-1'];
const text = (b: Uint8Array): string => new TextDecoder().decode(b);

test.each(names)('what is written today as %s is what format 1 has always been', async (name) => {
  const files = memoryFiles();
  await writeAll(files, '/attempt');
  const written = Uint8Array.from(await files.readFile(`/attempt/${name}`));
  expect(written).toEqual(Uint8Array.from(await readFile(join(frozen, name))));
  expect(written[0]).toBe(1);
});

test('a checkpoint of format 1 is read as it was taken', async () => {
  const loaded = await loadCheckpoint(nodeFileSystem, join(frozen, 'chk-7'));
  const { subtasks, ...metadata } = loaded.metadata;
  expect(metadata).toEqual({ ...info, job: 'golden', checkpoint: 7, generation: 2, backend: 'filesystem' });
  expect(subtasks.map((s) => [s.stage, s.subtask])).toEqual([[1, 2]]);
  const uids = snapshot.operators.map((o) => o.uid);
  const { operators } = await readSubtask(nodeFileSystem, loaded, uids, { subtask: 0, parallelism: 1, maxParallelism: 24 });
  const [counts, small, out] = operators;
  expect(counts!.keyed.map((k) => k.states)).toEqual([snapshot.operators[0]!.keyed!.states]);
  expect(counts!.keyed[0]!.groups).toEqual([8, 9, 10, 11, 12, 13, 14, 15].map((group) => ({ group, bytes: groupBytes(group) })));
  expect(counts!.lists.map((l) => [l.name, l.redistribution, l.elements.map(text)])).toEqual([
    ['buffer', 'split', ['one', '', 'three']],
    ['rules', 'broadcast', [text(Uint8Array.of(0, 255))]],
  ]);
  expect(counts!.accumulators.map((a) => [a.name, text(a.value)])).toEqual([['records', '41']]);
  expect(small!.lists[0]!.elements.map(text)).toEqual(['a:7']);
  expect(out!.sinkStates.map(text)).toEqual(['counter 5']);
});

test('the notes of format 1 are read as they were written', async () => {
  const storage = new CheckpointStorage({
    files: nodeFileSystem,
    path: frozen,
    job: 'golden',
    generation: 3,
    backend: { kind: 'filesystem' },
  });
  const { checkpoint } = await storage.load({ path: join(frozen, 'chk-7') });
  const abandoned = await storage.abandonedTransactions(checkpoint);
  expect(abandoned.map((t) => [t.checkpoint, t.uid, t.subtask, text(t.transaction)])).toEqual([[8, 'out', 2, 'job/out/2/2/8']]);
  expect(promisedTransactions(checkpoint!.metadata, 'out').map(text)).toEqual(['job/out/2/2/6', 'job/out/2/2/7']);
  expect([...(await loadReservations(nodeFileSystem, frozen))]).toEqual([['file a', 65_536]]);
});
