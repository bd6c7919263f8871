import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodeFileSystem } from '../../../../lib/adapters/embedded/node-file-system.ts';
import { liveOwnerOf, takeOwnership } from '../../../../lib/adapters/invocations/ownership.ts';
import type { JobItems } from '../../../../lib/invocation/ports.ts';
import { FakeService, fakePorts } from '../../../../lib/testing/index.ts';

let directory: string;
let database: string;
let items: JobItems;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-owner-'));
  database = join(directory, 'invocations.db');
  ({ items } = fakePorts(new FakeService()));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const take = (owner: string, takeOver = false) => takeOwnership({ files: nodeFileSystem, items, database, job: 'job', owner, takeOver });

describe('the owner of a job', () => {
  test('is told by name to whoever comes second, and to whoever asks', async () => {
    const first = await take('process 1');
    await expect(take('process 2')).rejects.toMatchObject({ code: 'OWNER_ALIVE', message: 'job is run by process 1' });
    expect(await liveOwnerOf(nodeFileSystem, items, database)).toBe('process 1');
    await first.release();
    expect(await liveOwnerOf(nodeFileSystem, items, database)).toBeUndefined();
    await (await take('process 2')).release();
  });

  test('loses the job to one that takes over, and finds out at its next look', async () => {
    const first = await take('process 1');
    await first.check();
    const second = await take('process 2', true);
    await expect(first.check()).rejects.toMatchObject({ code: 'OWNER_LOST' });
    await second.check();
    expect(await liveOwnerOf(nodeFileSystem, items, database)).toBe('process 2');
    await first.release();
    await expect(take('process 3')).rejects.toMatchObject({ code: 'OWNER_ALIVE', message: 'job is run by process 2' });
    await second.release();
  });

  test('takes over from nobody when nobody is there', async () => {
    const only = await take('process 1', true);
    await only.check();
    await only.release();
  });
});
