// SQLite passes the suites of its ports, one file with two connections.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlitePorts } from '../../../lib/adapters/sqlite/sqlite-ports.ts';
import type { Clock } from '../../../lib/core/ports.ts';
import { allSuites } from './all-suites.ts';

const visibilityMs = 2_000;
const dedupMs = 20_000;

allSuites('SQLite, two connections to one file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-ports-'));
  let now = 1_000_000;
  const clock: Clock = { now: () => now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  const options = { path: join(directory, 'store.db'), job: 'job', clock, visibilityMs, dedupMs, synchronous: 'NORMAL' } as const;
  const ports = openSqlitePorts(options);
  const elsewhere = openSqlitePorts(options);
  return {
    ports,
    elsewhere,
    visibilityMs,
    dedupMs,
    async elapse(ms) {
      now += ms;
    },
    async cleanUp() {
      ports.close();
      elsewhere.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});
