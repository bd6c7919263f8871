import { describe, expect, test } from 'vitest';
import { SnapshotBase } from '../../../../lib/invocation/state/snapshot-base.ts';
import { TableBase } from '../../../../lib/invocation/state/table-base.ts';
import { seededRandom } from '../../../../lib/testing/index.ts';
import { History, type MakeBase } from './history.ts';

const patience = {
  clock: { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => {} }) },
  random: seededRandom(1),
};
const onTable: MakeBase = ({ ports, view }) => new TableBase({ table: ports.table, objects: ports.objects, view, patience });
const onSnapshot: MakeBase = ({ ports, snapshot }) =>
  new SnapshotBase({ objects: ports.objects, snapshot, limitBytes: undefined, subtask: '1-0' });

const seeds = 60;
const steps = 120;

describe('a subtask reads what was committed, whoever flushed, crashed or slept', () => {
  for (const [name, makeBase] of [
    ['the table', onTable],
    ['snapshots', onSnapshot],
  ] as const) {
    test(`over ${name}`, { timeout: 120_000 }, async () => {
      const all: Record<string, number> = {};
      let versions = 0;
      for (let seed = 1; seed <= seeds; seed++) {
        const history = new History(seed, makeBase, makeBase === onSnapshot);
        try {
          for (let i = 0; i < steps; i++) await history.step();
          await history.audit();
        } catch (error) {
          throw new Error(`seed ${seed} over ${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        }
        for (const [what, count] of Object.entries(history.counts)) all[what] = (all[what] ?? 0) + count;
        versions = Math.max(versions, history.versionsMax());
      }
      for (const [what, count] of Object.entries(all)) expect(count, what).toBeGreaterThan(0);
      expect(versions).toBeLessThanOrEqual(12);
    });
  }
});
