import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { liveOwner, newestGeneration, openAttempt } from '../../../../lib/adapters/embedded/attempt-directory.ts';
import { nodeFileSystem } from '../../../../lib/adapters/embedded/node-file-system.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { faultyFiles, memoryFiles } from '../../checkpoint/support/ports.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function rootOnDisk(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-attempt-'));
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  return join(directory, 'job');
}

/** An attempt in a process of its own. */
class Other {
  readonly process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor(root: string, takeOver = false) {
    const script = join(import.meta.dirname, 'support/attempt-process.ts');
    this.process = spawn(process.execPath, [script, root, ...(takeOver ? ['take-over'] : [])]);
    const lines: Interface = createInterface({ input: this.process.stdout });
    this.#lines = lines[Symbol.asyncIterator]();
    cleanUps.push(() => this.end('SIGKILL'));
  }

  async line(): Promise<string> {
    return (await this.#lines.next()).value as string;
  }

  ask(command: string): Promise<string> {
    this.process.stdin.write(`${command}\n`);
    return this.line();
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, 'exit');
    this.process.kill(signal);
    await exit;
  }
}

const open = (files: FileSystem, root: string, owner = 'me', takeOver = false) => openAttempt(files, root, { owner, takeOver });

describe('attempts', () => {
  test('of a checkpoint from elsewhere get a generation above its own', async () => {
    const files = memoryFiles();
    const first = await openAttempt(files, '/s/job', { owner: 'me', above: 7 });
    expect([first.generation, first.path]).toEqual([8, '/s/job/attempt-8']);
    expect((await files.list('/s/job')).map(({ name }) => name)).toEqual(['attempt-8']);
    await first.release();
    const second = await openAttempt(files, '/s/job', { owner: 'me', above: 7 });
    expect(second.generation).toBe(9);
    expect((await second.next()).generation).toBe(10);
  });

  test('each renames the directory of the one before, so the generation only grows and nothing is lost', async () => {
    const files = memoryFiles();
    const first = await open(files, '/s/job');
    expect([first.generation, first.before, first.path]).toEqual([1, 0, '/s/job/attempt-1']);
    await files.createDirectory(`${first.path}/chk-1`);
    await first.release();
    const second = await open(files, '/s/job');
    expect([second.generation, second.before, second.path]).toEqual([2, 1, '/s/job/attempt-2']);
    const third = await second.next();
    expect([third.generation, third.before]).toEqual([3, 2]);
    expect((await files.list('/s/job')).map((e) => e.name)).toEqual(['attempt-3']);
    expect((await files.list(third.path)).map((e) => e.name)).toEqual(['chk-1', 'owner-3.lock']);
  });

  test('a directory that cannot be made is told as that, with the cause', async () => {
    const root = await rootOnDisk();
    await nodeFileSystem.createFile(root).then((file) => file.close());
    await expect(open(nodeFileSystem, join(root, 'job'))).rejects.toMatchObject({
      code: 'CHECKPOINT_DIRECTORY_NOT_WRITABLE',
      message: expect.stringContaining(root),
      cause: { code: 'ENOTDIR' },
    });
  });

  test('a live owner is respected and named', async () => {
    const files = memoryFiles();
    await open(files, '/s/job', 'process 41');
    await expect(open(files, '/s/job', 'process 42')).rejects.toMatchObject({
      code: 'OWNER_ALIVE',
      message: expect.stringContaining('process 41'),
      details: { owner: 'process 41' },
    });
    expect(await liveOwner(files, '/s/job')).toBe('process 41');
    expect(await newestGeneration(files, '/s/job')).toBe(1);
  });

  test('nobody owns a root that was released, or where nothing ever ran', async () => {
    const files = memoryFiles();
    expect(await liveOwner(files, '/s/job')).toBeUndefined();
    await (await open(files, '/s/job')).release();
    expect(await liveOwner(files, '/s/job')).toBeUndefined();
    expect((await open(files, '/s/job')).generation).toBe(2);
  });

  test('of many that start at once exactly one owns the directory, on a fresh root and on a used one', async () => {
    const root = await rootOnDisk();
    for (let round = 0; round < 5; round++) {
      const starts = await Promise.allSettled(Array.from({ length: 6 }, (_, i) => open(nodeFileSystem, root, `starter ${i}`)));
      const owners = starts.filter((s) => s.status === 'fulfilled');
      expect(owners.length, `round ${round}`).toBeLessThanOrEqual(1);
      for (const s of starts) if (s.status === 'rejected') expect(s.reason).toMatchObject({ code: 'OWNER_ALIVE' });
      for (const o of owners) await o.value.release();
      const next = await open(nodeFileSystem, root);
      await next.release();
      expect((await readdir(root)).length).toBe(1);
    }
  });

  test('a start that looked before others came and went does not begin a second line of attempts', async () => {
    const inner = memoryFiles();
    let isFirstLook = true;
    const files: FileSystem = {
      ...inner,
      async list(path) {
        const seen = await inner.list(path);
        if (isFirstLook && path === '/s/job') {
          isFirstLook = false;
          await (await (await open(inner, '/s/job', 'quick')).next()).release();
        }
        return seen;
      },
    };
    await expect(open(files, '/s/job', 'slow')).rejects.toMatchObject({ code: 'OWNER_ALIVE' });
    expect((await inner.list('/s/job')).map((e) => e.name)).toEqual(['attempt-2']);
  });

  test('a take-over passes locks of starters that were stopped between lock and rename', async () => {
    const files = memoryFiles();
    const zombie = await open(files, '/s/job', 'zombie');
    await files.lock('/s/job/attempt-1/owner-2.lock', 'stopped starter');
    const mine = await open(files, '/s/job', 'me', true);
    expect(mine.generation).toBe(3);
    await expect(zombie.next()).rejects.toMatchObject({ code: 'OWNER_LOST' });
  });

  test.each(['lock', 'rename', 'syncDirectory', 'list'])(
    'a restart whose %s failed, with or without effect, can be tried again',
    async (method) => {
      for (const isLostReply of [false, true]) {
        const faulty = faultyFiles(memoryFiles());
        const first = await open(faulty.files, '/s/job');
        faulty.faults.push({ method, path: /./, times: 1, code: 'EIO', isLostReply });
        const next = await first.next().catch(() => first.next());
        expect((await faulty.files.list('/s/job')).map((e) => e.name)).toEqual([`attempt-${next.generation}`]);
        expect(next.path).toBe(`/s/job/attempt-${next.generation}`);
        await expect(open(faulty.files, '/s/job', 'you')).rejects.toMatchObject({ code: 'OWNER_ALIVE' });
      }
    },
  );

  test('C55 a hundred attempts of one owner, every tenth reply lost: nobody else gets in, and the generation only grows', async () => {
    const faulty = faultyFiles(memoryFiles());
    let attempt = await open(faulty.files, '/s/job');
    const methods = ['lock', 'rename', 'syncDirectory', 'list', 'removeFile'];
    for (let i = 0, tries = 0; i < 100; i++) {
      if (i % 10 === 0)
        faulty.faults.splice(0, 1, { method: methods[(i / 10) % methods.length]!, path: /./, times: 1, code: 'EIO', isLostReply: true });
      const before = attempt.generation;
      for (;;) {
        try {
          attempt = await attempt.next();
          break;
        } catch (e) {
          expect(e).toMatchObject({ code: 'EIO' });
          expect(++tries).toBeLessThanOrEqual(10);
        }
      }
      expect(attempt.generation).toBeGreaterThan(before);
      await expect(open(faulty.files, '/s/job', 'you')).rejects.toMatchObject({ code: 'OWNER_ALIVE' });
    }
  });

  test('the directories above the root that had to be made are durable before anything lies in them', async () => {
    const { files, calls } = faultyFiles(memoryFiles());
    await open(files, '/s/deep/er/job');
    expect(calls.filter((c) => c.startsWith('syncDirectory')).sort()).toEqual(
      ['/', '/s', '/s/deep', '/s/deep/er', '/s/deep/er/job'].map((p) => `syncDirectory ${p}`),
    );
  });
});

describe('owners in other processes', () => {
  test('a second run is refused with the process id of the first; after kill -9 it is not', async () => {
    const root = await rootOnDisk();
    const first = new Other(root);
    expect(await first.line()).toBe('generation 1');
    const second = new Other(root);
    expect(await second.line()).toContain(
      `refused OWNER_ALIVE the checkpoint directory ${root} belongs to a run that is alive (process ${first.process.pid})`,
    );
    await first.end('SIGKILL');
    const third = new Other(root);
    expect(await third.line()).toBe('generation 2');
  });

  test('C54 an owner that is stopped stays the owner until it is taken over; awake again, nothing it does lands anywhere', async () => {
    const root = await rootOnDisk();
    const zombie = new Other(root);
    expect(await zombie.line()).toBe('generation 1');
    expect(await zombie.ask('write before')).toBe('done write in generation 1');
    zombie.process.kill('SIGSTOP');
    const refused = new Other(root);
    expect(await refused.line()).toContain(`(process ${zombie.process.pid})`);
    const heir = new Other(root, true);
    expect(await heir.line()).toBe('generation 2');
    zombie.process.kill('SIGCONT');
    expect(await zombie.ask('write after')).toBe('failed write ENOENT');
    expect(await zombie.ask('next')).toBe('failed next OWNER_LOST');
    expect(await heir.ask('write mine')).toBe('done write in generation 2');
    expect(await readdir(root)).toEqual(['attempt-2']);
    expect((await readdir(join(root, 'attempt-2'))).sort()).toEqual(['before', 'mine', 'owner-2.lock', 'owner-2.lock-owner']);
    expect(await liveOwner(nodeFileSystem, root)).toBe(`process ${heir.process.pid}`);
  });

  test('C53 of several processes that start at once exactly one owns the directory', async () => {
    const root = await rootOnDisk();
    const starters = Array.from({ length: 4 }, () => new Other(root));
    const answers = await Promise.all(starters.map((s) => s.line()));
    expect(answers.filter((a) => a.startsWith('generation')).length, answers.join('\n')).toBe(1);
    expect(answers.filter((a) => a.startsWith('refused OWNER_ALIVE')).length, answers.join('\n')).toBe(3);
  });
});
