import { describe, expect, test } from 'vitest';
import type { CheckpointSettings } from '../../../lib/api/options.ts';
import { CheckpointCoordinator, type CoordinatorEvent, type CoordinatorMemory } from '../../../lib/checkpoint/coordinator.ts';
import { settingsWhenOff } from '../../../lib/checkpoint/coordinator-options.ts';
import { CheckpointStorage } from '../../../lib/checkpoint/storage.ts';
import type { SluiceError } from '../../../lib/core/errors.ts';
import { type Fault, faultyFiles, filesBelow, ManualClock, memoryFiles, settle } from './support/ports.ts';
import { sampleInfo, sampleSnapshot } from './support/samples.ts';

const path = '/root/attempt-1';
const large = { groupBytes: 30_000, parallelism: 2 };

/** A coordinator over files in memory, with two subtasks that do nothing by themselves. */
async function setUp(settings: Partial<CheckpointSettings> | 'off' = {}, faults: Fault[] = [], memory?: CoordinatorMemory) {
  const inner = memoryFiles();
  await inner.createDirectoryTree(path);
  const faulty = faultyFiles(inner, faults);
  const storage = new CheckpointStorage({ files: faulty.files, path, job: 'job', generation: 1, backend: { kind: 'filesystem' } });
  await storage.open();
  const clock = new ManualClock();
  const log: string[] = [];
  const events: CoordinatorEvent[] = [];
  const failures: SluiceError[] = [];
  const world = { news: 0, notify: async (_n: number): Promise<void> => {} };
  const coordinator = new CheckpointCoordinator({
    clock,
    storage,
    job: 'job',
    settings: settings === 'off' ? undefined : { ...settingsWhenOff, intervalMs: 1_000, timeoutMs: 10_000, ...settings },
    planHash: 'plan',
    operators: sampleInfo(large).operators,
    participants: {
      subtasks: [
        { stage: 0, subtask: 0 },
        { stage: 0, subtask: 1 },
      ],
      injectBarrier: (n, trigger) => log.push(`barrier ${n}${trigger === 'interval' ? '' : ` ${trigger}`}`),
      notifyCompleted: async (n) => {
        log.push(`commit ${n}`);
        await world.notify(n);
        log.push(`committed ${n}`);
      },
      notifyAborted: (n) => log.push(`aborted ${n}`),
      news: () => world.news,
    },
    ...(memory === undefined ? {} : { memory }),
    onEvent: (event) => events.push(event),
    failJob: (error) => failures.push(error),
  });
  const tick = async (): Promise<number | undefined> => {
    world.news++;
    const ms = coordinator.tick();
    await settle();
    return ms;
  };
  const wait = async (ms: number): Promise<number | undefined> => {
    clock.advance(ms);
    return tick();
  };
  const acknowledge = async (n: number, ...subtasks: number[]): Promise<void> => {
    for (const subtask of subtasks) await coordinator.store(n, sampleSnapshot(subtask, { ...large, checkpoint: n }));
    await settle();
  };
  const take = async (n: number): Promise<void> => {
    await wait(1_000);
    await acknowledge(n, 0, 1);
  };
  return {
    coordinator,
    storage,
    clock,
    log,
    events,
    failures,
    world,
    faults: faulty.faults,
    files: inner,
    calls: faulty.calls,
    tick,
    wait,
    acknowledge,
    take,
  };
}

describe('a checkpoint', () => {
  test('begins after the interval, and completes when all have acknowledged: metadata first, then the sinks', async () => {
    const t = await setUp();
    expect(await t.tick()).toBe(1_000);
    expect(await t.wait(999)).toBe(1);
    expect(t.log).toEqual([]);
    await t.wait(1);
    expect(t.log).toEqual(['barrier 1']);
    await t.acknowledge(1, 0);
    expect(await t.storage.completed()).toEqual([]);
    t.world.notify = async () => {
      expect(await t.storage.completed()).toEqual([1]);
    };
    t.clock.advance(7);
    await t.acknowledge(1, 1);
    expect(t.log).toEqual(['barrier 1', 'commit 1', 'committed 1']);
    expect(t.events).toEqual([{ kind: 'checkpoint-completed', checkpoint: 1, durationMs: 7, bytes: expect.any(Number) }]);
    expect(t.coordinator.lastCompleted).toBe(1);
    expect((await t.storage.load('latest')).checkpoint!.metadata).toMatchObject({ trigger: 'interval', durationMs: 7, isFinished: false });
  });

  test('barriers go out only when the number is durable, in order of numbers', async () => {
    const t = await setUp({ maxConcurrent: 3 });
    await t.wait(1_000);
    await t.wait(1_000);
    expect(t.log).toEqual(['barrier 1', 'barrier 2']);
    expect(t.calls.filter((c) => c.startsWith('rename') && c.endsWith('numbers'))).toHaveLength(2);
  });

  test('is not taken when nothing is new since the last complete one', async () => {
    const t = await setUp();
    await t.take(1);
    t.world.news = 0;
    await t.wait(1_000);
    expect(t.log.filter((l) => l.startsWith('barrier'))).toEqual(['barrier 1']);
    await t.wait(1_000);
    expect(t.log.filter((l) => l.startsWith('barrier'))).toEqual(['barrier 1', 'barrier 2']);
  });

  test('keeps the newest numRetained, and removes older ones only after a completion', async () => {
    const t = await setUp({ numRetained: 2 });
    for (const n of [1, 2, 3]) await t.take(n);
    expect(await t.storage.completed()).toEqual([3, 2]);
    await t.wait(1_000);
    expect(await t.storage.completed()).toEqual([3, 2]);
  });

  test('never begins when checkpointing is off', async () => {
    const t = await setUp('off');
    expect(await t.wait(1_000_000)).toBeUndefined();
    expect(t.log).toEqual([]);
  });
});

describe('what is over stays over', () => {
  test('C10 6 times out, its abort is told once, 7 completes, and nothing of 6 can be reached', async () => {
    const t = await setUp({ tolerableFailures: 1 });
    await t.wait(1_000);
    await t.acknowledge(1, 0);
    await t.wait(10_000);
    expect(t.log).toEqual(['barrier 1', 'aborted 1', 'barrier 2']);
    t.coordinator.decline(1, { stage: 0, subtask: 1 }, new Error('late'));
    t.coordinator.decline(1, { stage: 0, subtask: 1 }, new Error('late again'));
    await t.acknowledge(2, 0, 1);
    expect(t.log).toEqual(['barrier 1', 'aborted 1', 'barrier 2', 'commit 2', 'committed 2']);
    expect(t.failures).toEqual([]);
    await expect(t.storage.load({ checkpoint: 1 })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-1'))).toEqual([]);
  });

  test('C11 the late acknowledgement and upload of 1 neither complete 2 nor revive 1', async () => {
    const t = await setUp({ tolerableFailures: 1, maxConcurrent: 2 });
    await t.wait(1_000);
    await t.acknowledge(1, 0);
    t.coordinator.decline(1, { stage: 0, subtask: 1 }, new Error('no room'));
    await t.wait(1_000);
    await t.acknowledge(2, 0);
    await t.acknowledge(1, 1);
    t.coordinator.acknowledge(1, { stage: 0, subtask: 1, operators: [], bytes: 0 });
    await settle();
    expect(await t.storage.completed()).toEqual([]);
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-1'))).toEqual([]);
    await t.acknowledge(2, 1);
    expect(await t.storage.completed()).toEqual([2]);
  });

  test('an acknowledgement that comes twice counts once', async () => {
    const t = await setUp();
    await t.wait(1_000);
    await t.acknowledge(1, 0);
    t.coordinator.acknowledge(1, { stage: 0, subtask: 0, operators: [], bytes: 0 });
    await settle();
    expect(await t.storage.completed()).toEqual([]);
  });

  test('completing 2 gives up 1, which never completes after it', async () => {
    const t = await setUp({ maxConcurrent: 2 });
    await t.wait(1_000);
    await t.wait(1_000);
    await t.acknowledge(1, 0);
    await t.acknowledge(2, 0, 1);
    expect(t.log).toEqual(['barrier 1', 'barrier 2', 'aborted 1', 'commit 2', 'committed 2']);
    await t.acknowledge(1, 1);
    expect(await t.storage.completed()).toEqual([2]);
    expect(t.failures).toEqual([]);
  });

  test('two that are acknowledged at once complete in order', async () => {
    const t = await setUp({ maxConcurrent: 2, numRetained: 2 });
    await t.wait(1_000);
    await t.wait(1_000);
    await Promise.all([t.acknowledge(1, 0, 1), t.acknowledge(2, 0, 1)]);
    expect(t.log.slice(2)).toEqual(['commit 1', 'committed 1', 'commit 2', 'committed 2']);
    expect(await t.storage.completed()).toEqual([2, 1]);
  });
});

describe('time-outs', () => {
  test('double with each checkpoint in a row that expired, also across attempts, and begin again after a complete one', async () => {
    const memory = { expiredInARow: 0 };
    const t = await setUp({ tolerableFailures: 9, timeoutMs: 100 }, [], memory);
    await t.wait(1_000);
    expect(await t.wait(99)).toBe(1);
    await t.wait(1);
    expect(memory.expiredInARow).toBe(1);
    const u = await setUp({ tolerableFailures: 9, timeoutMs: 100 }, [], memory);
    await u.wait(1_000);
    expect(await u.wait(199)).toBe(1);
    await u.acknowledge(1, 0, 1);
    expect(memory.expiredInARow).toBe(0);
  });

  test('C53 a clock that jumps costs a checkpoint at most, never a wrong one', async () => {
    const t = await setUp({ tolerableFailures: 1 });
    await t.wait(1_000);
    t.clock.jump(-600_000);
    expect(await t.tick()).toBe(1_000);
    await t.acknowledge(1, 0, 1);
    expect(t.events[0]).toMatchObject({ kind: 'checkpoint-completed', durationMs: 0 });
    t.clock.jump(1_200_000);
    await t.tick();
    t.clock.jump(600_000);
    await t.tick();
    expect(t.log.slice(3)).toEqual(['barrier 2', 'aborted 2', 'barrier 3']);
    await t.acknowledge(3, 0, 1);
    expect(await t.storage.completed()).toEqual([3]);
  });
});

describe('failures', () => {
  const faults: readonly (readonly [string, Fault])[] = [
    ['the number cannot be made durable', { method: 'append', path: /numbers~/, times: 1 }],
    ['its directory cannot be made', { method: 'createDirectory', path: /chk-1$/, times: 1 }],
    ['the disk is full while state is written', { method: 'append', path: /chk-1\/state/, times: 1 }],
    ['a state file cannot be synced', { method: 'sync', path: /chk-1\/state/, times: 1 }],
    ['a directory cannot be synced', { method: 'syncDirectory', path: /chk-1$/, times: 1 }],
    ['the metadata cannot be written', { method: 'append', path: /chk-1\/_metadata~/, times: 1 }],
    ['the metadata cannot be renamed', { method: 'rename', path: /_metadata/, times: 1 }],
    ['the reply to the rename of the metadata is lost', { method: 'rename', path: /_metadata/, times: 1, isLostReply: true }],
  ];
  test.each(faults)('%s: that checkpoint fails, leaves nothing, and the next one completes', async (_what, fault) => {
    const t = await setUp({ tolerableFailures: 1 }, [fault]);
    await t.take(1);
    expect(t.log.filter((l) => !l.startsWith('barrier'))).toEqual(['aborted 1']);
    expect(t.events).toEqual([{ kind: 'checkpoint-failed', checkpoint: 1, reason: expect.stringContaining('ENOSPC') }]);
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk'))).toEqual([]);
    await t.take(2);
    expect(await t.storage.completed()).toEqual([2]);
    expect(t.failures).toEqual([]);
  });

  test.each(faults)('%s: without tolerance the job fails, once', async (_what, fault) => {
    const t = await setUp({}, [{ ...fault, times: 5 }]);
    await t.take(1);
    await t.take(2);
    expect(t.failures).toHaveLength(1);
    expect(t.failures[0]).toMatchObject({ code: 'CHECKPOINT_FAILED', details: { job: 'job', checkpoint: 1 } });
    expect(t.failures[0]!.message).toContain('checkpoint 1 failed (1 in a row, 0 are tolerated): ENOSPC');
    expect(await t.storage.completed()).toEqual([]);
  });

  test('in a row are counted, and a complete checkpoint starts the count again', async () => {
    const t = await setUp({ tolerableFailures: 2 });
    let n = 0;
    const fail = async (): Promise<void> => {
      await t.wait(1_000);
      t.coordinator.decline(++n, { stage: 0, subtask: 1 }, new Error('refused'));
      await settle();
    };
    await fail();
    await fail();
    await t.take(++n);
    await fail();
    await fail();
    expect(t.failures).toEqual([]);
    await fail();
    expect(t.failures).toHaveLength(1);
  });

  test('the error of a state that is too large keeps its code and place', async () => {
    const t = await setUp();
    await t.wait(1_000);
    const { SluiceError } = await import('../../../lib/core/errors.ts');
    t.coordinator.decline(
      1,
      { stage: 0, subtask: 1 },
      new SluiceError('STATE_TOO_LARGE', { message: 'too large', next: 'fix-the-job', operator: 'counts', state: 'count' }),
    );
    expect(t.failures[0]).toMatchObject({
      code: 'STATE_TOO_LARGE',
      next: 'fix-the-job',
      details: { operator: 'counts', state: 'count', subtask: 1, checkpoint: 1 },
    });
  });

  test('C55 a hundred checkpoints, every tenth rename with a lost reply: each such checkpoint fails alone, and the next one completes', async () => {
    const t = await setUp({ tolerableFailures: 1 });
    let failed = 0;
    for (let n = 1; n <= 100; n++) {
      if (n % 10 === 0)
        t.faults.splice(0, 1, { method: 'rename', path: n % 20 === 0 ? /numbers/ : /_metadata/, times: 1, isLostReply: true });
      await t.take(n);
      if (t.coordinator.lastCompleted !== n) failed++;
    }
    expect(failed).toBe(10);
    expect(t.failures).toEqual([]);
    await t.take(101);
    expect(await t.storage.completed()).toEqual([101]);
    expect(t.log.filter((l) => l.startsWith('committed'))).toHaveLength(91);
  });

  test('C13 what cannot be removed now goes with a later sweep', async () => {
    const t = await setUp({ tolerableFailures: 1 }, [{ method: 'removeTree', path: /chk-1/, times: 1 }]);
    await t.wait(1_000);
    await t.acknowledge(1, 0);
    t.coordinator.decline(1, { stage: 0, subtask: 1 }, new Error('refused'));
    await settle();
    expect(t.events.at(-1)).toMatchObject({ kind: 'notice', message: expect.stringContaining('could not be removed yet') });
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-1'))).toHaveLength(1);
    await t.take(2);
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-1'))).toEqual([]);
  });
});

describe('sinks', () => {
  test('a failing commit is tried again and never forgotten; later ones wait behind it', async () => {
    const t = await setUp();
    let failures = 3;
    t.world.notify = async (n) => {
      if (n === 1 && failures-- > 0) throw new Error('target is down');
    };
    await t.take(1);
    await t.take(2);
    expect(t.log.filter((l) => l.startsWith('commit'))).not.toContain('commit 2');
    for (let i = 0; i < 10; i++) {
      t.clock.advance(1_000);
      await settle();
    }
    expect(t.log.filter((l) => l.startsWith('committed'))).toEqual(['committed 1', 'committed 2']);
    expect(t.events.filter((e) => e.kind === 'notice')).toHaveLength(3);
    expect(t.failures).toEqual([]);
  });

  test('checkpoints go on while a commit fails', async () => {
    const t = await setUp();
    t.world.notify = () => Promise.reject(new Error('target is down'));
    for (const n of [1, 2, 3]) await t.take(n);
    expect(await t.storage.completed()).toEqual([3]);
  });
});

describe('the end of input', () => {
  test('takes one last checkpoint at once, outside interval, pause and limit, and waits until the sinks have confirmed', async () => {
    const t = await setUp({ minPauseMs: 60_000 });
    await t.take(1);
    await t.wait(1_000);
    let finished: number | undefined;
    const gate = Promise.withResolvers<void>();
    t.world.notify = () => gate.promise;
    void t.coordinator.finish().then((n) => (finished = n));
    await settle();
    expect(t.log.at(-1)).toBe('barrier 2 end-of-input');
    await t.acknowledge(2, 0, 1);
    expect((await t.storage.load('latest')).checkpoint!.metadata).toMatchObject({
      checkpoint: 2,
      isFinished: true,
      trigger: 'end-of-input',
    });
    expect(finished).toBeUndefined();
    gate.resolve();
    await settle();
    expect(finished).toBe(2);
    expect(await t.wait(1_000_000)).toBeUndefined();
  });

  test('works without checkpointing, and while another checkpoint is under way, which it supersedes', async () => {
    const off = await setUp('off');
    const end = off.coordinator.finish();
    await settle();
    await off.acknowledge(1, 0, 1);
    expect(await end).toBe(1);
    const t = await setUp();
    await t.wait(1_000);
    const last = t.coordinator.finish();
    await settle();
    await t.acknowledge(2, 0, 1);
    expect(await last).toBe(2);
    expect(t.log).toEqual(['barrier 1', 'barrier 2 end-of-input', 'aborted 1', 'commit 2', 'committed 2']);
  });

  test('is asked for again, a little later, when it failed and that is tolerated', async () => {
    const t = await setUp({ tolerableFailures: 1 }, [{ method: 'append', path: /chk-1\/state/ }]);
    const end = t.coordinator.finish();
    await settle();
    await t.acknowledge(1, 0, 1);
    expect(await t.tick()).toBe(100);
    await t.wait(100);
    await t.acknowledge(2, 0, 1);
    expect(await end).toBe(2);
  });

  test('rejects when the job is to fail, and when it is stopped', async () => {
    const t = await setUp({}, [{ method: 'append', path: /numbers/ }]);
    await expect(t.coordinator.finish()).rejects.toMatchObject({ code: 'CHECKPOINT_FAILED' });
    expect(t.failures).toHaveLength(1);
    await expect(t.coordinator.finish()).rejects.toMatchObject({ code: 'JOB_STOPPED' });
    const u = await setUp();
    const end = u.coordinator.finish();
    const refused = expect(end).rejects.toMatchObject({ code: 'JOB_STOPPED' });
    await u.coordinator.cancel();
    await refused;
  });

  test.each(['RETAIN_ON_CANCELLATION', 'DELETE_ON_CANCELLATION', 'NO_EXTERNALIZED_CHECKPOINTS'] as const)(
    'a finished job keeps its last checkpoint under %s',
    async (externalizedCleanup) => {
      const t = await setUp({ externalizedCleanup });
      const last = t.coordinator.finish();
      await settle();
      await t.acknowledge(1, 0, 1);
      await last;
      await t.coordinator.end('finished');
      expect((await t.storage.load('latest')).checkpoint!.metadata.isFinished).toBe(true);
    },
  );
});

describe('the end of an attempt', () => {
  test('cancel gives up what is pending, and removes or keeps complete checkpoints as the retention says', async () => {
    for (const [externalizedCleanup, kept] of [
      ['RETAIN_ON_CANCELLATION', [1]],
      ['DELETE_ON_CANCELLATION', []],
    ] as const) {
      const t = await setUp({ externalizedCleanup });
      await t.take(1);
      await t.wait(1_000);
      await t.acknowledge(2, 0);
      await t.coordinator.cancel();
      expect(t.log.at(-1)).toBe('aborted 2');
      expect(await t.storage.completed()).toEqual(kept);
      expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-2'))).toEqual([]);
    }
  });

  test('a promise that a sink has not kept yet keeps its checkpoint, whatever the retention', async () => {
    const t = await setUp({ externalizedCleanup: 'DELETE_ON_CANCELLATION' });
    t.world.notify = () => Promise.reject(new Error('target is down'));
    await t.take(1);
    await t.coordinator.cancel();
    expect(await t.storage.completed()).toEqual([1]);
    expect(t.events.at(-1)).toMatchObject({
      kind: 'notice',
      message: expect.stringContaining('checkpoint 1 is kept although the job was cancelled'),
    });
  });

  test('abandon waits until nothing of the attempt touches the directory', async () => {
    const t = await setUp({ maxConcurrent: 2 });
    await t.wait(1_000);
    await t.wait(1_000);
    const upload = t.coordinator.store(1, sampleSnapshot(0, large));
    void t.acknowledge(2, 0, 1);
    await t.coordinator.abandon();
    const calls = t.calls.length;
    await settle();
    await upload;
    expect(t.calls.length).toBe(calls);
    expect(t.coordinator.tick()).toBeUndefined();
    expect((await filesBelow(t.files, path)).filter((f) => f.startsWith('chk-1'))).toEqual([]);
  });

  test('stopping while a sink fails for ever ends all the same, after one last try', async () => {
    const t = await setUp();
    let tries = 0;
    t.world.notify = () => {
      tries++;
      return Promise.reject(new Error('target is down'));
    };
    const end = t.coordinator.finish();
    const refused = expect(end).rejects.toMatchObject({ code: 'JOB_STOPPED' });
    await settle();
    await t.acknowledge(1, 0, 1);
    expect(tries).toBe(1);
    await t.coordinator.abandon();
    await refused;
    expect(tries).toBe(2);
    expect(await t.storage.completed()).toEqual([1]);
  });
});
