import { describe, expect, test } from 'vitest';
import { CheckpointStorage, type StorageOptions } from '../../../lib/checkpoint/storage.ts';
import type { FileSystem } from '../../../lib/core/ports.ts';
import { faultyFiles, filesBelow, memoryFiles, settle } from './support/ports.ts';
import { bytes, nothing, type SampleOptions, sampleInfo, sampleSnapshot, text } from './support/samples.ts';

const path = '/root/attempt-1';

async function storageOn(files: FileSystem, o: Partial<StorageOptions> = {}): Promise<CheckpointStorage> {
  await files.createDirectoryTree(path);
  const storage = new CheckpointStorage({ files, path, job: 'job', generation: 1, backend: { kind: 'filesystem' }, ...o });
  await storage.open();
  return storage;
}

/** Takes a whole checkpoint of the sample job. */
async function take(storage: CheckpointStorage, o: SampleOptions = {}): Promise<number> {
  const n = storage.nextNumber();
  await storage.begin(n);
  const handles = [];
  for (let subtask = 0; subtask < (o.parallelism ?? 1); subtask++)
    handles.push(await storage.storeSubtask(n, sampleSnapshot(subtask, { ...o, checkpoint: n })));
  await storage.complete(n, handles, sampleInfo(o));
  return n;
}

const large: SampleOptions = { groupBytes: 100_000 };

async function flip(files: FileSystem, file: string, at: number): Promise<void> {
  const content = Uint8Array.from(await files.readFile(file));
  content[at < 0 ? content.length + at : at]! ^= 1;
  await replace(files, file, content);
}

async function replace(files: FileSystem, file: string, content: Uint8Array): Promise<void> {
  await files.removeFile(file);
  const f = await files.createFile(file);
  await f.append(content);
  await f.close();
}

describe('a complete checkpoint', () => {
  test.each(['memory', 'filesystem'] as const)('is read back as it was stored (%s)', async (kind) => {
    const storage = await storageOn(memoryFiles(), { backend: { kind } });
    await take(storage, { parallelism: 2, ...large });
    const { checkpoint } = await storage.load('latest');
    expect(checkpoint!.metadata).toMatchObject({
      job: 'job',
      checkpoint: 1,
      generation: 1,
      backend: kind,
      isFinished: false,
      planHash: 'plan',
    });
    const restored = await storage.readSubtask(checkpoint!, ['source', 'counts', 'out'], { subtask: 0, parallelism: 1, maxParallelism: 8 });
    const [source, counts, out] = restored.operators;
    expect(source!.lists[0]!.elements.map(text)).toEqual(['split 0', 'split 1']);
    expect(counts!.keyed.flatMap((k) => k.groups.map((g) => g.group))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(
      counts!.keyed.every((k) => k.groups.every((g) => text(g.bytes).startsWith(`${g.group};${g.group};`) && g.bytes.length === 100_000)),
    ).toBe(true);
    expect(counts!.accumulators.map((a) => text(a.value))).toEqual(['0', '1']);
    expect(out!.sinkStates.map(text)).toEqual(['counter 0', 'counter 1']);
  });

  test('has one state file per operator and subtask with large state; small state lies in the metadata', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage, { parallelism: 2 });
    await take(storage, { parallelism: 2, ...large });
    expect(await filesBelow(files, path)).toEqual([
      'chk-1/_metadata',
      'chk-2/_metadata',
      'chk-2/state-0-0-1',
      'chk-2/state-0-1-1',
      'numbers',
    ]);
  });

  test('can be moved or copied as a directory', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage, large);
    await files.createDirectoryTree('/elsewhere');
    await files.rename(`${path}/chk-1`, '/elsewhere/chk-1');
    const { checkpoint } = await storage.load({ path: '/elsewhere/chk-1' });
    const { operators } = await storage.readSubtask(checkpoint!, ['counts'], { subtask: 1, parallelism: 2, maxParallelism: 8 });
    expect(operators[0]!.keyed[0]!.groups.map((g) => g.group)).toEqual([4, 5, 6, 7]);
  });

  test('writes its metadata last, when every file and directory it refers to is durable', async () => {
    const { files, calls } = faultyFiles(memoryFiles());
    const storage = await storageOn(files);
    calls.length = 0;
    await take(storage, large);
    const at = (call: string): number => calls.indexOf(call);
    const rename = at(`rename ${path}/chk-1/_metadata~ ${path}/chk-1/_metadata`);
    expect(rename).toBeGreaterThan(0);
    for (const before of [
      `sync ${path}/chk-1/state-0-0-1`,
      `syncDirectory ${path}/chk-1`,
      `syncDirectory ${path}`,
      `sync ${path}/chk-1/_metadata~`,
    ]) {
      expect(at(before), before).toBeGreaterThan(0);
      expect(at(before), before).toBeLessThan(rename);
    }
    expect(calls.lastIndexOf(`syncDirectory ${path}/chk-1`)).toBeGreaterThan(rename);
  });
});

describe('numbers', () => {
  test('are never used twice: not after an abort, a crash or a removed checkpoint', async () => {
    const files = memoryFiles();
    const first = await storageOn(files);
    await take(first);
    const aborted = first.nextNumber();
    await first.begin(aborted);
    await first.discard(aborted);
    await first.retain([]);
    const second = await storageOn(files, { generation: 2 });
    expect(second.nextNumber()).toBe(3);
  });

  test('C04 go on above a checkpoint from elsewhere that was restored', async () => {
    const storage = await storageOn(memoryFiles());
    storage.continueAbove(20);
    expect(await take(storage)).toBe(21);
    expect((await storageOn(memoryFiles())).nextNumber()).toBe(1);
  });

  test('a damaged note of them is an error that names the file', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    await flip(files, `${path}/numbers`, -1);
    await expect(storageOn(files)).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED', details: { path: `${path}/numbers` } });
  });
});

describe('damage', () => {
  const places = [
    ['_metadata', 7],
    ['_metadata', -1],
    ['state-0-0-1', 0],
    ['state-0-0-1', 5_000],
    ['state-0-0-1', -1],
  ] as const;
  test.each(places)('a flipped bit in %s at %i is found when the checkpoint is loaded, by name', async (name, at) => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage, large);
    await flip(files, `${path}/chk-1/${name}`, at);
    const error = storage.load({ checkpoint: 1 });
    await expect(error).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED', details: { path: `${path}/chk-1/${name}` } });
  });

  test('missing, short and long state files are found', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage, large);
    const file = `${path}/chk-1/state-0-0-1`;
    const whole = Uint8Array.from(await files.readFile(file));
    await replace(files, file, whole.subarray(0, whole.length - 1));
    await expect(storage.load({ checkpoint: 1 })).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    await replace(files, file, Uint8Array.from([...whole, 0]));
    await expect(storage.load({ checkpoint: 1 })).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    await files.removeFile(file);
    await expect(storage.load({ checkpoint: 1 })).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
  });

  test('every truncation and every single flipped byte of the metadata is an error of ours, never a wrong checkpoint', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    const file = `${path}/chk-1/_metadata`;
    const whole = Uint8Array.from(await files.readFile(file));
    for (let length = 0; length < whole.length; length += 7) {
      await replace(files, file, whole.subarray(0, length));
      await expect(storage.load({ checkpoint: 1 }), `length ${length}`).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    }
    for (let at = 0; at < whole.length; at += 5) {
      const changed = Uint8Array.from(whole);
      changed[at]! ^= 0x41;
      await replace(files, file, changed);
      await expect(storage.load({ checkpoint: 1 }), `byte ${at}`).rejects.toMatchObject({
        code: at === 0 ? 'FORMAT_NEWER' : 'CHECKPOINT_DAMAGED',
      });
    }
  });

  test('latest falls back to the next older checkpoint and says so', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    await take(storage, large);
    await flip(files, `${path}/chk-2/state-0-0-1`, 9);
    const { checkpoint, notices } = await storage.load('latest');
    expect(checkpoint!.metadata.checkpoint).toBe(1);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain('chk-2/state-0-0-1 is damaged');
    expect(notices[0]).toContain('checkpoint 1 is used instead');
  });

  test('latest never falls back to nothing', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    expect(await storage.load('latest')).toEqual({ checkpoint: undefined, notices: [] });
    await take(storage);
    await flip(files, `${path}/chk-1/_metadata`, 20);
    await expect(storage.load('latest')).rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
  });

  test.each(['_metadata', 'state-0-0-1'])('a newer format of %s is refused, and latest does not pass over it', async (name) => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage, large);
    await take(storage, large);
    const file = `${path}/chk-2/${name}`;
    const content = Uint8Array.from(await files.readFile(file));
    content[0] = 2;
    await replace(files, file, content);
    await expect(storage.load('latest')).rejects.toMatchObject({ code: 'FORMAT_NEWER', details: { path: file, format: 2 } });
  });

  test('a list names what is damaged instead of failing', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    await take(storage);
    await flip(files, `${path}/chk-1/_metadata`, 20);
    const [newest, older] = await storage.list();
    expect(newest).toMatchObject({ checkpoint: 2, problem: undefined, metadata: { checkpoint: 2 } });
    expect(older).toMatchObject({ checkpoint: 1, metadata: undefined, problem: { code: 'CHECKPOINT_DAMAGED' } });
  });

  test('a checkpoint that is not there is told as that', async () => {
    const storage = await storageOn(memoryFiles());
    await expect(storage.load({ checkpoint: 3 })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
    await expect(storage.load({ path: '/nowhere' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  });
});

describe('a checkpoint that does not complete', () => {
  test('is never taken for a complete one, wherever the crash was', async () => {
    const files = memoryFiles();
    for (const [method, pattern] of [
      ['createDirectory', /chk-2$/],
      ['append', /chk-2\/state/],
      ['sync', /chk-2\/state/],
      ['syncDirectory', /chk-2$/],
      ['append', /chk-2\/_metadata~/],
      ['sync', /chk-2\/_metadata~/],
      ['rename', /chk-2\/_metadata~/],
    ] as const) {
      const faulty = faultyFiles(files, [{ method, path: pattern }]);
      await files.removeTree(path);
      const storage = await storageOn(faulty.files);
      await take(storage, large);
      await expect(take(storage, large)).rejects.toMatchObject({ code: 'ENOSPC' });
      const next = await storageOn(files);
      expect((await next.load('latest')).checkpoint!.metadata.checkpoint, method).toBe(1);
      expect(await filesBelow(files, path), method).toEqual(['chk-1/_metadata', 'chk-1/state-0-0-1', 'numbers']);
    }
  });

  test('leaves no files behind when it is discarded', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    const n = storage.nextNumber();
    await storage.begin(n);
    await storage.storeSubtask(n, sampleSnapshot(0, large));
    await storage.discard(n);
    expect(await filesBelow(files, path)).toEqual(['numbers']);
  });

  test('C11 an upload that goes on after the abort is stopped, and lands nowhere', async () => {
    const inner = memoryFiles();
    const gate = Promise.withResolvers<void>();
    let isWaiting = false;
    const files: FileSystem = {
      ...inner,
      async createFile(p) {
        const file = await inner.createFile(p);
        if (!p.includes('state')) return file;
        return {
          ...file,
          append: (b) => {
            isWaiting = true;
            return gate.promise.then(() => file.append(b));
          },
        };
      },
    };
    const storage = await storageOn(files);
    const n = storage.nextNumber();
    await storage.begin(n);
    const upload = storage.storeSubtask(n, sampleSnapshot(0, large));
    await settle();
    expect(isWaiting).toBe(true);
    const discarded = storage.discard(n);
    gate.resolve();
    await expect(upload).rejects.toMatchObject({ code: 'CHECKPOINT_GIVEN_UP' });
    await discarded;
    await expect(storage.storeSubtask(n, sampleSnapshot(0, large))).rejects.toMatchObject({ code: 'CHECKPOINT_GIVEN_UP' });
    await expect(storage.complete(n, [], sampleInfo())).rejects.toMatchObject({ code: 'CHECKPOINT_GIVEN_UP' });
    expect(await filesBelow(files, path)).toEqual(['numbers']);
  });

  test('C13 after 100 checkpoints, every third with an upload that fails half way, exactly what is retained is left', async () => {
    const inner = memoryFiles();
    const faulty = faultyFiles(inner);
    const storage = await storageOn(faulty.files);
    for (let i = 0; i < 100; i++) {
      if (i % 3 === 0) {
        faulty.faults.push({ method: 'append', path: /state-0-1-1/, times: 1 });
        if (i % 2 === 0) faulty.faults.push({ method: 'removeTree', path: /chk/, times: 1 });
        await expect(take(storage, { parallelism: 3, ...large, groupBytes: 30_000 })).rejects.toMatchObject({ code: 'ENOSPC' });
        await storage.discard(i + 1).catch(() => undefined);
        faulty.faults.length = 0;
      } else {
        await take(storage, { parallelism: 3, groupBytes: 30_000 });
        await storage.subsume(2);
      }
    }
    await take(storage, { parallelism: 3, groupBytes: 30_000 });
    await storage.subsume(2);
    const retained = await storage.list();
    expect(retained.map((c) => c.checkpoint)).toEqual([101, 99]);
    const referred = retained.flatMap((c) => [
      `chk-${c.checkpoint}/_metadata`,
      ...c.metadata!.subtasks.flatMap((s) =>
        s.operators.flatMap((o) => (o.place.kind === 'file' ? [`chk-${c.checkpoint}/${o.place.name}`] : [])),
      ),
    ]);
    expect(referred).toHaveLength(8);
    expect(await filesBelow(inner, path)).toEqual([...referred, 'numbers'].sort());
  });
});

describe('the limit of the memory backend', () => {
  test('names state, operator, subtask, size and limit; the last complete checkpoint stays usable', async () => {
    const storage = await storageOn(memoryFiles(), { backend: { kind: 'memory', stateBytesMax: 5_242_880 } });
    await take(storage);
    const n = storage.nextNumber();
    await storage.begin(n);
    const error = await storage.storeSubtask(n, sampleSnapshot(0, { groupBytes: 700_000 })).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'STATE_TOO_LARGE',
      details: { operator: 'counts', state: 'count', subtask: 0, bytes: 5_600_000, bytesMax: 5_242_880 },
    });
    expect((error as Error).message).toBe(
      'state count of operator counts has 5.3 MiB on subtask 0, the limit of the memory backend is 5 MiB',
    );
    await storage.discard(n);
    expect((await storage.load('latest')).checkpoint!.metadata.checkpoint).toBe(1);
  });

  test('holds for operator state too, and a size that is just over it is told in bytes', async () => {
    const storage = await storageOn(memoryFiles(), { backend: { kind: 'memory', stateBytesMax: 1_024 } });
    const n = storage.nextNumber();
    await storage.begin(n);
    const list = (length: number) => ({
      stage: 0,
      subtask: 0,
      operators: [
        { uid: 'batches', ...nothing, lists: [{ name: 'rows', redistribution: 'split' as const, elements: [new Uint8Array(length)] }] },
      ],
    });
    await storage.storeSubtask(n, list(1_020));
    await expect(storage.storeSubtask(n, list(1_021))).rejects.toThrow(
      'state rows of operator batches has 1025 bytes on subtask 0, the limit of the memory backend is 1024 bytes',
    );
  });
});

describe('transactions', () => {
  const note = (subtask: number, ...names: string[]) => ({ stage: 0, subtask, uid: 'out', transactions: names.map(bytes) });
  const names = (found: readonly { readonly transaction: Uint8Array }[]): string[] => found.map((t) => text(t.transaction));

  test('noted before they were prepared are found by the next attempt, also when their checkpoint was aborted', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    for (const n of [2, 3]) {
      expect(storage.nextNumber()).toBe(n);
      await storage.begin(n);
      await storage.announce(n, note(0, `out/0/${n}`));
    }
    await storage.discard(2);
    const next = await storageOn(files, { generation: 2 });
    const { checkpoint } = await next.load('latest');
    expect(names(await next.abandonedTransactions(checkpoint))).toEqual(['out/0/2', 'out/0/3']);
    expect(next.nextNumber()).toBe(4);
  });

  test('that had only begun are abandoned by a restore, until a later checkpoint is complete', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    await storage.note(1, note(0, 'out/0/9'));
    const { checkpoint } = await storage.load('latest');
    expect(names(await storage.abandonedTransactions(checkpoint))).toEqual(['out/0/9']);
    await take(storage);
    await storage.subsume(1);
    expect(await filesBelow(files, path)).toEqual(['chk-2/_metadata', 'numbers']);
  });

  test('that the restored checkpoint promises are not abandoned, whoever noted them again', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await take(storage);
    await storage.begin(storage.nextNumber());
    await storage.announce(2, note(0, 'out/0/1', 'out/0/2'));
    const { checkpoint } = await storage.load('latest');
    expect(names(await storage.abandonedTransactions(checkpoint))).toEqual(['out/0/2']);
  });

  test('of checkpoints that a restore of an older one took back are abandoned; latest no longer means them', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    for (let i = 0; i < 3; i++) await take(storage);
    const { checkpoint } = await storage.load({ checkpoint: 1 });
    expect(await storage.undoAbove(1)).toEqual([3, 2]);
    expect(names(await storage.abandonedTransactions(checkpoint))).toEqual(['out/0/2', 'out/0/3']);
    const next = await storageOn(files, { generation: 2 });
    expect((await next.load('latest')).checkpoint!.metadata.checkpoint).toBe(1);
    expect(names(await next.abandonedTransactions(checkpoint))).toEqual(['out/0/2', 'out/0/3']);
    expect(await take(next)).toBe(4);
    await next.subsume(1);
    expect(await filesBelow(files, path)).toEqual(['chk-4/_metadata', 'numbers']);
  });

  test('of complete checkpoints are not abandoned when a job starts without restoring', async () => {
    const storage = await storageOn(memoryFiles());
    await take(storage);
    await storage.begin(storage.nextNumber());
    await storage.announce(2, note(0, 'out/0/1', 'out/0/2'));
    expect(names(await storage.abandonedTransactions(undefined))).toEqual(['out/0/2']);
  });

  test('are no longer noted once a checkpoint of their number or a higher one is complete', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    await storage.begin(storage.nextNumber());
    await storage.announce(1, note(0, 'out/0/1'));
    await storage.discard(1);
    expect(await filesBelow(files, path)).toEqual(['announced/1-0-0-0', 'numbers']);
    await take(storage);
    await storage.subsume(1);
    expect(await filesBelow(files, path)).toEqual(['chk-2/_metadata', 'numbers']);
  });

  test('cannot be noted for a checkpoint that is over', async () => {
    const storage = await storageOn(memoryFiles());
    await storage.begin(storage.nextNumber());
    await storage.discard(1);
    await expect(storage.announce(1, note(0, 'late'))).rejects.toMatchObject({ code: 'CHECKPOINT_GIVEN_UP' });
  });
});

describe('clean-up', () => {
  test('C12 restoring from a copy and cleaning up removes nothing of the original', async () => {
    const files = memoryFiles();
    const original = await storageOn(files);
    await take(original, large);
    const other = '/other/attempt-1';
    await files.createDirectoryTree(other);
    const storage = new CheckpointStorage({ files, path: other, job: 'job', generation: 1, backend: { kind: 'filesystem' } });
    await storage.open();
    const { checkpoint } = await storage.load({ path: `${path}/chk-1` });
    storage.continueAbove(checkpoint!.metadata.checkpoint);
    await take(storage);
    await storage.subsume(1);
    await storage.retain([]);
    expect(await filesBelow(files, other)).toEqual(['numbers']);
    expect((await original.load('latest')).checkpoint!.metadata.checkpoint).toBe(1);
  });

  test('removes the metadata of a checkpoint before its state', async () => {
    const faulty = faultyFiles(memoryFiles(), [{ method: 'removeTree', path: /chk-1/ }]);
    const storage = await storageOn(faulty.files);
    await take(storage, large);
    await take(storage, large);
    await expect(storage.subsume(1)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await storage.completed()).toEqual([2]);
    expect((await storage.load('latest')).notices).toEqual([]);
  });

  test('leaves alone what is under way', async () => {
    const files = memoryFiles();
    const storage = await storageOn(files);
    const slow = storage.nextNumber();
    await storage.begin(slow);
    await take(storage);
    await storage.subsume(1);
    await storage.storeSubtask(slow, sampleSnapshot(0, large));
    expect(await filesBelow(files, path)).toContain('chk-1/state-0-0-1');
  });
});

describe('going on from a checkpoint', () => {
  test('C04 of the same directory takes back the newer ones', async () => {
    const storage = await storageOn(memoryFiles());
    for (let i = 0; i < 3; i++) await take(storage);
    const { checkpoint } = await storage.load({ checkpoint: 2 });
    expect(await storage.adopt(checkpoint!)).toEqual([3]);
    expect((await storage.load('latest')).checkpoint!.metadata.checkpoint).toBe(2);
    expect(await take(storage)).toBe(4);
  });

  test('from elsewhere: until the first of our own is complete, latest means that one', async () => {
    const files = memoryFiles();
    const elsewhere = await storageOn(files);
    for (let i = 0; i < 9; i++) await take(elsewhere);
    await files.rename(path, '/elsewhere');
    const storage = await storageOn(files);
    await take(storage);
    const { checkpoint } = await storage.load({ path: '/elsewhere/chk-5' });
    expect(await storage.adopt(checkpoint!)).toEqual([1]);
    const next = await storageOn(files, { generation: 2 });
    expect((await next.load('latest')).checkpoint).toMatchObject({ directory: '/elsewhere/chk-5', metadata: { checkpoint: 5 } });
    await next.adopt((await next.load('latest')).checkpoint!);
    expect(await take(next)).toBe(6);
    await next.subsume(1);
    expect((await next.load('latest')).checkpoint!.metadata.checkpoint).toBe(6);
    expect(await filesBelow(files, path)).toEqual(['chk-6/_metadata', 'numbers']);
    expect(await filesBelow(files, '/elsewhere')).toHaveLength(10);
  });

  test('from elsewhere: a run that ended before the first of our own leaves that one as the place to go on from', async () => {
    const files = memoryFiles();
    await take(await storageOn(files));
    await files.rename(path, '/elsewhere');
    const storage = await storageOn(files);
    await storage.adopt((await storage.load({ path: '/elsewhere/chk-1' })).checkpoint!);
    await storage.retain([]);
    const next = await storageOn(files, { generation: 2 });
    expect((await next.load('latest')).checkpoint).toMatchObject({ directory: '/elsewhere/chk-1' });
  });

  test('from elsewhere: what our own checkpoints promised and announced is abandoned, also where their numbers are lower', async () => {
    const files = memoryFiles();
    const elsewhere = await storageOn(files);
    for (let i = 0; i < 9; i++) await take(elsewhere);
    await files.rename(path, '/elsewhere');
    const storage = await storageOn(files);
    await take(storage);
    const open = storage.nextNumber();
    await storage.begin(open);
    await storage.announce(open, { stage: 0, subtask: 0, uid: 'out', transactions: [new TextEncoder().encode('open')] });
    const { checkpoint } = await storage.load({ path: '/elsewhere/chk-9' });
    await storage.adopt(checkpoint!);
    const abandoned = await storage.abandonedTransactions(checkpoint);
    expect(abandoned.map((t) => text(t.transaction)).sort()).toEqual(['open', 'out/0/1']);
  });

  test('from the beginning: latest means nothing before the new line, which begins above the old numbers, and then the new ones', async () => {
    const files = memoryFiles();
    const first = await storageOn(files);
    await take(first);
    await take(first);
    const storage = await storageOn(files, { generation: 2 });
    await storage.startOver();
    const next = await storageOn(files, { generation: 3 });
    expect(await next.load('latest')).toEqual({ checkpoint: undefined, notices: [] });
    expect((await next.load({ checkpoint: 2 })).checkpoint!.metadata.checkpoint).toBe(2);
    expect(await take(next, large)).toBe(3);
    await next.subsume(2);
    await flip(files, `${path}/chk-3/_metadata`, 20);
    await expect(next.load('latest'), 'no fall-back to another line').rejects.toMatchObject({ code: 'CHECKPOINT_DAMAGED' });
    await take(next);
    await next.subsume(1);
    expect(await filesBelow(files, path)).toEqual(['chk-4/_metadata', 'numbers']);
  });

  test('of the old line, by number, makes that the present one again', async () => {
    const storage = await storageOn(memoryFiles());
    await take(storage);
    await take(storage);
    await storage.startOver();
    await take(storage);
    expect(await storage.adopt((await storage.load({ checkpoint: 2 })).checkpoint!)).toEqual([3]);
    expect((await storage.load('latest')).checkpoint!.metadata.checkpoint).toBe(2);
  });

  test('from the beginning keeps what the old line promised last, and nothing of the new line', async () => {
    const storage = await storageOn(memoryFiles());
    expect(await storage.promisesOfOldLine()).toEqual([]);
    await take(storage);
    await take(storage);
    expect(await storage.promisesOfOldLine()).toEqual([]);
    await storage.startOver();
    await take(storage);
    expect((await storage.promisesOfOldLine()).map((t) => [t.uid, text(t.transaction)])).toEqual([['out', 'out/0/2']]);
  });
});

test('C54 a run whose directory went to another one is told so when it begins a checkpoint, and by no ENOENT', async () => {
  const files = memoryFiles();
  const storage = await storageOn(files);
  await take(storage);
  await files.rename(path, `${path}-taken`);
  await expect(storage.begin(storage.nextNumber())).rejects.toMatchObject({ code: 'OWNER_LOST' });
});
