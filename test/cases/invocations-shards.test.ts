// Cases of an exchange that is a stream: subtasks that share a shard, messages in the wrong order, and what nobody can take out of a shard.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { clicksOf } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { ShardWorld, type ShardWorldOptions } from '../support/shard-world.ts';

const twoSplits = [clicksOf(14, 5), clicksOf(9, 5)];

function worldOf(o: Partial<ShardWorldOptions> = {}): ShardWorld {
  return new ShardWorld({ sink: 'two-phase', clicks: twoSplits, parallelism: 3, shards: 1, ...o });
}

let errors: string[];
beforeEach(() => {
  errors = [];
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
});
afterEach(() => void vi.restoreAllMocks());

describe('subtasks that share a shard', () => {
  test.each([1, 2, 3])('of %i do not wait for each other, whatever barriers wait for', async (shards) => {
    const world = worldOf({ shards, batch: 1 });
    let calls = 0;
    // Barriers come on one channel long before the other.
    world.reaches = ({ kind, subtask }) => kind !== 'barrier' || subtask !== '0-1' || calls++ % 3 === 2;
    await world.run();
    world.checkCounts();
    expect(world.heldMost, 'messages waited for a barrier').toBeGreaterThan(0);
    expect([world.failed, errors]).toEqual([[], []]);
  });

  test('go on when one of them stands still: the shard waits, and what the others had is dropped when it comes again', async () => {
    const world = worldOf({ messages: 10 });
    let refusals = 0;
    world.fate = ({ method, place }) => {
      if (method !== 'changelog.put' || !place.includes('1-1') || refusals >= 12) return 'go';
      refusals++;
      return 'throttle';
    };
    await world.run();
    world.checkCounts();
    expect(refusals).toBe(12);
  });

  test.each(['kill-before', 'kill-after', 'lose-reply'] as const)(
    'count each click once with a fault at any call: %s',
    async (fault) => {
      const fell = await sweep({
        world: () => worldOf({ clicks: [clicksOf(5, 3), clicksOf(3, 3)], parallelism: 2, batch: 5, interval: '4 s' }),
        fault,
        every: 5,
        check: (world) => world.checkCounts(),
      });
      expect(fell).toBeGreaterThan(20);
    },
    180_000,
  );
});

describe('messages that lie in the wrong order', () => {
  test('are found, further on in their event or behind it, and requests that are accepted in parts change nothing', async () => {
    const all = { overtaken: 0, left: 0, ahead: 0 };
    for (let seed = 1; seed <= 15; seed++) {
      const random = seededRandom(seed);
      const world = worldOf({
        ...{ shards: random.between(1, 3), messages: random.between(1, 4), batch: random.between(1, 3) },
        overtakes: () => (random.chance(0.3) ? random.between(1, 6) : 0),
        isLeft: () => random.chance(0.2),
      });
      await world.run(150);
      world.checkCounts();
      for (const [what, count] of Object.entries(world.shards.counts)) all[what as keyof typeof all] += count;
    }
    expect(Math.min(...Object.values(all)), JSON.stringify(all)).toBeGreaterThan(5);
  });
});

describe('a shard that is split or merged', () => {
  test('goes on where its parents end, though its records are handed out before theirs', async () => {
    for (const [from, to] of [
      [1, 3],
      [3, 1],
      [2, 3],
    ] as const) {
      const world = worldOf({ shards: from, batch: 1 });
      await world.create();
      await world.rounds(2);
      for (let i = 0; i < 3; i++) await world.feed();
      world.shards.reshard(to);
      await world.finish();
      world.checkCounts();
    }
    expect(errors.filter((line) => line.includes('INPUT_NOT_TAKEN')).length, 'some came first').toBeGreaterThan(0);
  });
});

describe('a restore', () => {
  test('passes over what the generation before it has left in the shard', async () => {
    const world = worldOf({ isOpen: true, batch: 2 });
    await world.create();
    await world.until(() => world.completed >= 2);
    for (const [i, split] of world.input.splits.entries()) split.push(...clicksOf(6 + i, 5));
    await world.feed();
    await world.feed();
    const before = world.shards.all[0]!;
    expect(before.records.length, 'messages wait in the shard').toBeGreaterThan(before.position);
    expect(await startRestore(world.ports, 'latest')).toMatchObject({ kind: 'marked' });
    await world.end();
    world.checkCounts();
    expect(world.isRestored).toBe(true);
  });
});

describe('a message that the stream has dropped', () => {
  test('is missing until a restore sends it again: nothing behind it is taken, and the log says what waits', async () => {
    const world = worldOf({ isOpen: true, batch: 2, messages: 1, environments: 1 }); // another one would send it again
    await world.create();
    await world.until(() => world.completed >= 1);
    for (const split of world.input.splits) split.push(...clicksOf(12, 5));
    await world.feed();
    const [shard] = world.shards.all;
    shard!.records[shard!.position] = undefined;
    await world.rounds(8);
    const stuck = shard!.position;
    await world.rounds(2);
    expect(shard!.position).toBe(stuck);
    expect(errors.at(-1)).toMatch(/INPUT_NOT_TAKEN: subtask 1-\d was given message \d+ before the one that it follows/);
    expect(await startRestore(world.ports, 'latest')).toMatchObject({ kind: 'marked' });
    await world.end();
    world.checkCounts();
  });
});

describe('a record that is no message of the job', () => {
  test('is passed over, and the log says so', async () => {
    const world = worldOf();
    world.shards.put({ key: 'somebody', data: Buffer.from('{}') });
    await world.run();
    world.checkCounts();
    expect(errors[0]).toMatch(/SUBTASK_UNKNOWN: record shardId-000000000000:\d+ of arn:\S+ has the partition key 'somebody'/);
  });
});
