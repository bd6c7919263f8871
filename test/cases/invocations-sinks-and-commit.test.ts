// Cases of sinks and the commit protocol, on the invocation runtime: each with the three kinds of sink where that makes sense, and with its fault at
// every call that any process makes.

import { describe, expect, test } from 'vitest';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { PendingTransaction } from '../../lib/invocation/entry.ts';
import { decodeHead } from '../../lib/invocation/entry-codec.ts';
import { decodeHandles } from '../../lib/invocation/job-item-codec.ts';
import { createContextOf } from '../../lib/invocation/sinks/planned-sinks.ts';
import { createSettler } from '../../lib/invocation/sinks/settler.ts';
import { encodeTransactionRows } from '../../lib/invocation/sinks/transaction-rows.ts';
import { clickJob, clicksOf, countsOf, scriptedSource } from '../support/case-jobs.ts';
import type { CaseProcess } from '../support/case-process.ts';
import { sweep } from '../support/case-sweep.ts';
import { IdempotentTarget, sinkKinds, TwoPhaseTarget } from '../support/case-targets.ts';
import { planOf } from '../support/case-world.ts';
import { ClickWorld, isCoordinator, unacknowledged } from '../support/click-world.ts';

const transactionalKinds = ['write-ahead', 'two-phase'] as const;
const oneKey = clicksOf(10, 1);

describe('C01: a commit is applied, its reply is lost and its process is gone', () => {
  test.each(sinkKinds)('%s: each output is in the target once, wherever the reply is lost', async (sink) => {
    for (const isPartitioned of [true, false]) {
      const fell = await sweep({
        world: () => new ClickWorld({ sink, isPartitioned, clicks: [oneKey] }),
        fault: 'kill-after',
        check: (world) => world.checkCounts(),
      });
      expect(fell).toBeGreaterThan(60);
    }
  });

  test.each(sinkKinds)('%s: the same when the caller lives on and sees a time-out', async (sink) => {
    const fell = await sweep({
      world: () => new ClickWorld({ sink, clicks: [oneKey] }),
      fault: 'lose-reply',
      check: (world) => world.checkCounts(),
    });
    expect(fell).toBeGreaterThan(60);
  });
});

/** The first deployment dies with its fault, and another one takes the job over. */
async function redeployed(world: ClickWorld, how: 'restore' | 'go-on'): Promise<void> {
  await world.create();
  await world.until(async () => world.hasFallen || (await world.item()).status === 'finished');
  if (world.hasFallen) {
    world.deployment = 'b';
    world.killAll();
    if (how === 'restore') await startRestore(world.ports, 'latest');
  }
  await world.finish();
}

const isCommitting = (name: string, world: ClickWorld): boolean => isCoordinator(name) && name.startsWith('a.') && world.completed > 0;

describe('C02: another deployment restores what the first one had committed', () => {
  test.each(sinkKinds)('%s: it finds the commit by names in which no deployment and no run occurs', async (sink) => {
    const committers = new Set<string>();
    const fell = await sweep({
      world: () => new ClickWorld({ sink }),
      fault: 'kill-after',
      at: ({ process }, world) => isCommitting(process.name, world),
      run: (world) => redeployed(world, 'restore'),
      check(world) {
        world.checkCounts();
        if (!(world.target instanceof TwoPhaseTarget)) return;
        for (const { name } of world.target.calls) expect(name).toMatch(/^clicks\/out\/\d+\/\d+\/\d+$/);
        const { calls } = world.target;
        const first = calls.filter(({ what, name }) => what === 'commit' && name === calls[0]?.name);
        committers.add(first.map(({ process }) => process.slice(0, 1)).join(''));
      },
    });
    expect(fell).toBeGreaterThan(15);
    if (sink === 'two-phase') expect([...committers].some((both) => both.includes('ab'))).toBe(true);
  });

  test('a committer whose plan has another parallelism commits the transaction under the name of the one that staged it', async () => {
    const target = new TwoPhaseTarget();
    const { source } = scriptedSource([[...clicksOf(4)]]);
    const world = new ClickWorld({ sink: 'two-phase', parallelism: 2 });
    await world.create();
    const plan = planOf(clickJob({ target, source, parallelism: 3 }));
    const process = world.newProcess('c');
    const contextOf = createContextOf({ plan, clock: process.clock, files: {} as never, report: () => undefined, print: () => undefined });
    const t: PendingTransaction = { sink: 'out', opened: 6, under: 7, generation: 4, subtask: '1-1', rows: 'rows/4/1-1/out/9' };
    target.completed = 7;
    await world.ports.objects.putIfAbsent(t.rows, encodeTransactionRows([]));
    await createSettler({ plan, ports: world.ports, contextOf }).commit(t);
    expect([...target.decided]).toEqual([['clicks/out/4/1/6', 'committed']]);
  });
});

describe('C03: a commit is held on its way while the job restarts', () => {
  /** The held request is released when the new committer makes its call number `released`. */
  async function twoCommitters(world: ClickWorld, held: number, released: number): Promise<'both' | 'one' | 'none'> {
    let seen = 0;
    let others = 0;
    let first: CaseProcess | undefined;
    let done: Promise<void> | undefined;
    world.fate = ({ process }) => {
      if (first === undefined) {
        if (!isCommitting(process.name, world) || seen++ !== held) return 'go';
        first = process;
        return 'freeze';
      }
      if (isCoordinator(process.name) && process !== first && others++ === released) done = first.thaw();
      return 'go';
    };
    await world.create();
    await world.until(async () => first !== undefined || (await world.item()).status === 'finished');
    if (first === undefined) return 'none';
    await startRestore(world.ports, 'latest');
    await world.finish();
    await done;
    world.checkCounts();
    return done === undefined ? 'one' : 'both';
  }

  test.each(transactionalKinds)('%s: one of the two commits, the other finds it, at every pair of moments', async (sink) => {
    let pairs = 0;
    for (let held = 0, isOver = false; !isOver; held++) {
      for (let released = held % 5; ; released += 5) {
        const outcome = await twoCommitters(new ClickWorld({ sink, sleepsRounds: 1_000 }), held, released);
        isOver = outcome === 'none';
        if (outcome !== 'both') break;
        pairs += 1;
        if (released > 40) break;
      }
    }
    expect(pairs).toBeGreaterThan(40);
  });
});

describe('C04: an older checkpoint is restored and other input follows', () => {
  async function anotherPast(world: ClickWorld, p: { readonly newest: number; readonly restored: number }): Promise<readonly string[]> {
    await world.create();
    await world.until(async () => {
      const { length } = world.input.splits[0]!;
      if (world.completed < p.newest) world.input.splits[0]!.push({ user: `u${length % 3}`, at: length });
      const head = await world.head('0-0');
      return (
        world.completed >= p.newest && head.splits[0]!.position?.index === length && (await world.item()).confirmed === world.completed
      );
    });
    await world.rounds(3);
    const before = [...world.clicks];
    const begun = (await world.item()).begun;
    const position = await positionAt(world, p.restored);
    const other = clicksOf(before.length, 2).map(({ at }) => ({ user: `x${at % 2}`, at }));
    world.input.splits[0]!.splice(position, Number.POSITIVE_INFINITY, ...other);
    expect((await startRestore(world.ports, p.restored)).kind).toBe('marked');
    await world.end();
    expect((await world.item()).completed.at(-1)!.checkpoint).toBeGreaterThan(begun);
    const again = countsOf(world.clicks).slice(position);
    return world.isTransactional ? [...countsOf(before), ...again] : [...countsOf(before.slice(0, position)), ...again];
  }

  /** How far the input had been read when a checkpoint was taken. */
  async function positionAt(world: ClickWorld, checkpoint: number): Promise<number> {
    const completed = (await world.item()).completed.find((c) => c.checkpoint === checkpoint)!;
    const handles = decodeHandles(world.service.objects.peek(completed.metadata)!);
    return decodeHead(handles.find(({ subtask }) => subtask === '0-0')!.head).splits[0]!.position?.index ?? 0;
  }

  test.each(sinkKinds)('%s: numbers go on above the newest, and no new result is taken for one that is committed', async (sink) => {
    const world = new ClickWorld({ sink, isOpen: true, clicks: [[]], interval: '1 s', checkpoints: { numRetained: 15 } });
    if (world.target instanceof IdempotentTarget) world.target.mayReplace = true;
    const expected = await anotherPast(world, { newest: 20, restored: 10 });
    world.check(expected);
  });

  test.each(sinkKinds)('%s: the same with a process lost at every call of the restore and after', async (sink) => {
    let expected: readonly string[] = [];
    const fell = await sweep({
      world() {
        const world = new ClickWorld({ sink, isOpen: true, clicks: [[]], interval: '1 s', checkpoints: { numRetained: 5 } });
        if (world.target instanceof IdempotentTarget) world.target.mayReplace = true;
        return world;
      },
      fault: 'kill-after',
      at: (_, world) => world.isRestored,
      async run(world) {
        expected = await anotherPast(world, { newest: 5, restored: 3 });
      },
      check: (world) => world.check(expected),
    });
    expect(fell).toBeGreaterThan(60);
  });
});

const impatient = { timeout: '4 s' } as const;

describe('C05: a key is updated before a checkpoint that is given up, and again behind it', () => {
  const aborted = new Set<string>();

  test.each(sinkKinds)('%s: the updates become visible in their order, and the latest one stays, wherever a process dies', async (sink) => {
    const fell = await sweep({
      world: () => new ClickWorld({ sink, clicks: [oneKey], batch: 4, interval: '1 s', checkpoints: impatient }),
      fault: 'kill-after',
      every: 3,
      from: sinkKinds.indexOf(sink),
      always: unacknowledged(1),
      check(world) {
        world.checkCounts();
        expect(world.target.visible).toEqual(countsOf(oneKey));
        if (world.target instanceof IdempotentTarget) expect([...world.target.latest].map(([, { value }]) => value)).toEqual(['u0 10']);
        for (const e of world.events) if (e.kind === 'checkpoint-failed') aborted.add(`${sink} ${e.checkpoint}`);
      },
    });
    expect(fell).toBeGreaterThan(20);
    expect(aborted).toContain(`${sink} 1`);
  });
});

describe('C06: a checkpoint fails after the sink took part, while one channel is behind its barrier and the other is not', () => {
  const a = clicksOf(6);
  const b = clicksOf(6).map(({ user, at }) => ({ user: `other ${user}`.replace(' ', '-'), at }));

  /** Checkpoint 1 completes; checkpoint 2 reaches the first source only, then the second, and one of two sinks cannot acknowledge it. */
  async function failed(world: ClickWorld, how: 'goes on' | 'recovers'): Promise<void> {
    await world.create();
    await world.until(() => world.completed === 1);
    world.reaches = (i) => i.kind !== 'barrier' || i.subtask !== '0-1';
    await world.rounds(2);
    world.reaches = () => true;
    await world.rounds(2);
    if (how === 'recovers') await startRestore(world.ports, 'latest');
    await world.finish();
  }

  const hows = ['goes on', 'recovers'] as const;
  test.each(sinkKinds.flatMap((sink) => hows.map((how) => ({ sink, how }))))(
    '$sink, the job $how: every record is visible once',
    async (p) => {
      const { sink, how } = p;
      let held = 0;
      const fell = await sweep({
        world: () => new ClickWorld({ sink, clicks: [a, b], parallelism: 2, batch: 1, interval: '1 s', checkpoints: impatient }),
        fault: 'kill-after',
        at: (_, world) => world.completed >= 1,
        always: unacknowledged(2, '1-1'),
        every: 3,
        run: (world) => failed(world, how),
        async check(world) {
          world.check(countsOf([...a, ...b]));
          held += world.heldMost;
        },
      });
      expect(fell).toBeGreaterThan(20);
      expect(held).toBeGreaterThan(0);
    },
  );
});

describe('C07: everybody dies between "complete" and the first commit', () => {
  const hows = ['go-on', 'restore'] as const;
  test.each(sinkKinds.flatMap((sink) => hows.map((how) => ({ sink, how }))))(
    '$sink, $how: a cold process commits all of it, once',
    async (p) => {
      const { sink, how } = p;
      const fell = await sweep({
        world: () => new ClickWorld({ sink, clicks: [clicksOf(5)], batch: 5 }),
        fault: 'kill-before',
        at: ({ process }, world) => isCommitting(process.name, world),
        run: (world) => redeployed(world, how),
        check: (world) => world.checkCounts(),
      });
      expect(fell).toBeGreaterThan(10);
    },
  );
});

describe('C08: the target forgets what was prepared', () => {
  test('two-phase: it gets the rows again from our copy, whenever it forgets', async () => {
    const fell = await sweep({
      world: () => new ClickWorld({ sink: 'two-phase' }),
      fault(world) {
        world.target.forget();
        return 'go';
      },
      check: (world) => world.checkCounts(),
    });
    expect(fell).toBeGreaterThan(60);
  });

  test.each(sinkKinds)('%s: the job is down for longer than the target remembers, between "complete" and the commit', async (sink) => {
    const fell = await sweep({
      world: () => new ClickWorld({ sink }),
      fault: 'kill-before',
      at: ({ process }, world) => isCommitting(process.name, world),
      async run(world) {
        await world.create();
        await world.until(async () => world.hasFallen || (await world.item()).status === 'finished');
        world.killAll();
        world.time.now += 61 * 60_000;
        world.target.forget();
        await world.finish();
      },
      check: (world) => world.checkCounts(),
    });
    expect(fell).toBeGreaterThan(10);
  });

  test('two-phase: a target that forgets for good stops the job, which says what is lost, and nothing goes on behind it', async () => {
    const world = new ClickWorld({ sink: 'two-phase', isOpen: true });
    (world.target as TwoPhaseTarget).isSpent = true;
    let hasForgotten = false;
    world.fate = ({ method }) => {
      if (method === 'target.commit' && !hasForgotten) {
        hasForgotten = true;
        world.target.forget();
      }
      return 'go';
    };
    await world.create();
    await world.until(async () => (await world.item()).status === 'failed');
    const { failure, completed } = await world.item();
    expect(failure).toMatch(/output of checkpoint 1 is lost \(SINK_TRANSACTION_FORGOTTEN\): .*clicks\/out\/0\/\d\/0/);
    expect(completed.map((c) => c.checkpoint)).toEqual([1]);
    expect((await world.head('0-0')).kind).toBe('seal');
  });

  test.each(['write-ahead', 'two-phase'] as const)(
    '%s: our own copy is gone before it was committed: the job stops and says so',
    async (sink) => {
      const world = new ClickWorld({ sink, isOpen: true });
      let rows = '';
      world.fate = ({ method, place, process }) => {
        if (!isCoordinator(process.name) || method !== 'objects.get' || !place.startsWith('rows/')) return 'go';
        rows ||= place;
        world.service.objects.remove(rows);
        return 'go';
      };
      await world.create();
      await world.until(async () => (await world.item()).status === 'failed');
      const { failure } = await world.item();
      expect(failure).toMatch(/output of checkpoint 1 is lost \(SINK_TRANSACTION_LOST\): /);
      expect(failure).toContain(rows);
    },
  );
});
