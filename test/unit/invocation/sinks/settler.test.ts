import { describe, expect, test } from 'vitest';
import type { DetachedTransaction, Sink } from '../../../../lib/api/sink.ts';
import { collect } from '../../../../lib/connectors/sinks/collect.ts';
import { print } from '../../../../lib/connectors/sinks/print.ts';
import { encodeValue } from '../../../../lib/core/value-codec.ts';
import { prepareTransaction } from '../../../../lib/invocation/sinks/prepare-transaction.ts';
import { createSettler } from '../../../../lib/invocation/sinks/settler.ts';
import { settledObjects } from '../../../../lib/invocation/sinks/transaction-names.ts';
import { type FakeCall, fakePorts, promptCall } from '../../../../lib/testing/index.ts';
import { createWorld, losing, planOf, processOf, transaction, turns, type World, waiting } from './support/target.ts';

async function deliver(world: World, call?: FakeCall, timestamp = 500): Promise<void> {
  const { sink, objects, contextOf } = processOf(world, call);
  await prepareTransaction({ transaction, sink, objects, context: contextOf(), timestamp });
}

const commit = (world: World, call?: FakeCall): Promise<void> => createSettler(processOf(world, call)).commit(transaction);
const abort = (world: World, call?: FakeCall): Promise<'aborted' | 'committed'> => createSettler(processOf(world, call)).abort(transaction);

async function confirm(world: World): Promise<void> {
  for (const name of settledObjects(transaction).atOnce) await processOf(world).objects.remove(name);
}

type Step = (world: World, call?: FakeCall) => Promise<unknown>;
const steps: Readonly<Record<string, Step>> = { deliver, commit, abort };

async function callsOf(step: Step, before: readonly Step[]): Promise<number> {
  const world = await createWorld();
  for (const b of before) await b(world);
  const counting = losing(-1);
  await step(world, counting.call);
  return counting.count();
}

describe('S1: what was prepared first is kept', () => {
  test('a later deliverer finds it and does not ask the target', async () => {
    const world = await createWorld();
    await deliver(world);
    await deliver(world);
    expect(world.target.calls).toEqual(['begin 1/0/2', 'prepare 1/0/2']);
  });

  test('of two deliverers at once one is kept, with the time of its barrier', async () => {
    const out = collect<unknown>();
    const names: unknown[] = [];
    const { detached } = out;
    if (detached?.kind !== 'transactional') throw new Error('collect commits');
    const sink = {
      ...out,
      detached: {
        ...detached,
        prepare: () => names.push('prepared'),
        commit: (...[, t, prepared]: readonly unknown[]) => void names.push(t, prepared),
      },
    };
    const world = await createWorld();
    const { objects, ports, contextOf } = processOf(world);
    const late = waiting(2, 'before');
    const zombie = processOf(world, late.call);
    const first = prepareTransaction({ transaction, sink: sink as never, objects: zombie.objects, context: contextOf(), timestamp: 1 });
    await turns();
    await prepareTransaction({ transaction, sink: sink as never, objects, context: contextOf(), timestamp: 2 });
    late.goOn();
    await first;
    await createSettler({ plan: planOf({ out: () => sink as never }), ports, contextOf }).commit(transaction);
    expect(names).toEqual(['prepared', 'prepared', expect.objectContaining({ timestamp: 2, rows: ['a', 'b'], checkpoint: 3 }), 1]);
  });

  test('a target that gives each call data of its own commits one of them and is told to abort the other', async () => {
    for (const how of ['commit', 'abort'] as const) {
      for (let at = 0; at < 5; at++) {
        const world = await createWorld();
        const held = new Map<number, readonly unknown[]>();
        const rows: unknown[] = [];
        const sinkOf = (call: FakeCall): Sink<never> =>
          ({
            kind: 'numbered',
            detached: {
              kind: 'transactional',
              prepare: (_ctx: unknown, t: DetachedTransaction<unknown>) =>
                call('prepare', '', () => {
                  const number = held.size + 1;
                  held.set(number, t.rows);
                  return number;
                }),
              commit: (_ctx: unknown, _t: unknown, number: number) => {
                rows.push(...(held.get(number) ?? []));
                held.set(number, []);
              },
              abort: (_ctx: unknown, _t: unknown, number: number | undefined) => number !== undefined && held.set(number, []),
            },
          }) as never;
        const slow = waiting(at, 'before');
        const { contextOf, ports, objects } = processOf(world);
        const settler = (call: FakeCall) =>
          createSettler({ plan: planOf({ out: () => sinkOf(call) }), ports: fakePorts(world.service, call), contextOf });
        const late =
          how === 'commit'
            ? settler(slow.call).commit(transaction)
            : prepareTransaction({
                transaction,
                sink: sinkOf(slow.call) as never,
                objects: fakePorts(world.service, slow.call).objects,
                context: contextOf(),
                timestamp: 1,
              });
        await turns();
        await prepareTransaction({ transaction, sink: sinkOf(promptCall) as never, objects, context: contextOf(), timestamp: 2 });
        await createSettler({ plan: planOf({ out: () => sinkOf(promptCall) }), ports, contextOf })[how](transaction);
        slow.goOn();
        await late;
        expect(rows, `call ${at}`).toEqual(how === 'commit' ? ['a', 'b'] : []);
        if (how === 'abort') expect([...held.values()].flat(), `call ${at}`).toEqual([]);
      }
    }
  });

  test('C07: a commit resumes from what is stored, in a process that has prepared nothing', async () => {
    const world = await createWorld();
    await deliver(world);
    await commit(world);
    expect(world.target.rows).toEqual(['a', 'b']);
    expect(world.target.prepared.size).toBe(0);
  });
});

describe('S2: a transaction that is decided is never prepared', () => {
  test.each([
    ['commit', ['a', 'b']],
    ['abort', []],
  ])('by a delivery behind the %s', async (how, rows) => {
    const world = await createWorld();
    await deliver(world);
    await steps[how]!(world);
    await confirm(world);
    world.target.calls.length = 0;
    await deliver(world);
    expect(world.target.calls).toEqual([]);
    expect(world.target.rows).toEqual(rows);
  });

  test.each(
    (['commit', 'abort'] as const).flatMap((how) =>
      ([true, false] as const).flatMap((isConfirmed) => (['before', 'behind'] as const).map((where) => [how, where, isConfirmed] as const)),
    ),
  )(
    'C03: by a deliverer that was left behind at any of its calls and goes on after the %s (stopped %s it, rows removed: %s)',
    async (how, where, isConfirmed) => {
      const calls = await callsOf(deliver, []);
      expect(calls).toBe(7);
      for (let at = 0; at < calls; at++) {
        const world = await createWorld();
        const zombie = waiting(at, where);
        const late = deliver(world, zombie.call);
        await turns();
        await deliver(world);
        await steps[how]!(world);
        if (isConfirmed) await confirm(world);
        zombie.goOn();
        await late;
        await steps[how]!(world);
        expect(world.target.rows, `call ${at}`).toEqual(how === 'commit' ? ['a', 'b'] : []);
        expect([...world.target.prepared], `call ${at}`).toEqual([]);
      }
    },
  );

  test.each([['before'], ['behind']] as const)(
    'what a deliverer prepared while the transaction was aborted it takes back, also at a target that forgets names (stopped %s)',
    async (where) => {
      const calls = await callsOf(deliver, []);
      for (let at = 0; at < calls; at++) {
        const world = await createWorld();
        const zombie = waiting(at, where);
        const late = deliver(world, zombie.call);
        await turns();
        await abort(world);
        world.target.decided.clear();
        zombie.goOn();
        await late;
        expect([...world.target.prepared], `call ${at}`).toEqual([]);
      }
    },
  );
});

describe('S3: the first decision holds', () => {
  test('what is aborted is never committed', async () => {
    const world = await createWorld();
    await deliver(world);
    await abort(world);
    await expect(commit(world)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_ABORTED', details: { operator: 'out', checkpoint: 3 } });
    await confirm(world);
    await expect(commit(world)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_ABORTED' });
    expect(world.target.rows).toEqual([]);
  });

  test('what is committed is never aborted', async () => {
    const world = await createWorld();
    await deliver(world);
    await commit(world);
    world.target.decided.clear();
    expect(await abort(world)).toBe('committed');
    expect(world.target.calls.some((c) => c.startsWith('abort'))).toBe(false);
  });

  test.each(['deliver', 'commit', 'abort'].map((how) => [how]))(
    'C01: %s whose call had its effect and lost its reply, any of them, is made again and ends the same',
    async (how) => {
      const before = how === 'deliver' ? [] : [deliver];
      const calls = await callsOf(steps[how]!, before);
      for (let at = 0; at < calls; at++) {
        const world = await createWorld();
        for (const b of before) await b(world);
        await expect(steps[how]!(world, losing(at).call), `call ${at}`).rejects.toThrow('no answer');
        await steps[how]!(world);
        await (how === 'abort' ? abort(world) : commit(world));
        expect(world.target.rows, `call ${at}`).toEqual(how === 'abort' ? [] : ['a', 'b']);
        expect(world.target.prepared.size, `call ${at}`).toBe(0);
      }
    },
  );

  test.each([
    ['commit', 'commit'],
    ['commit', 'abort'],
    ['abort', 'commit'],
    ['abort', 'abort'],
  ])('C03: %s that was left behind at any of its calls and goes on after %s', async (first, second) => {
    const calls = await callsOf(steps[first]!, [deliver]);
    for (const where of ['before', 'behind'] as const) {
      for (let at = 0; at < calls; at++) {
        const world = await createWorld();
        await deliver(world);
        const zombie = waiting(at, where);
        const late = steps[first]!(world, zombie.call).catch((e: unknown) => e);
        await turns();
        const outcome = await steps[second]!(world).catch((e: unknown) => e);
        zombie.goOn();
        const lateOutcome = await late;
        const isCommitted = world.target.rows.length > 0;
        expect([[], ['a', 'b']], `call ${at}`).toContainEqual(world.target.rows);
        expect(world.target.prepared.size, `call ${at}`).toBe(0);
        for (const [how, said] of [
          [first, lateOutcome],
          [second, outcome],
        ]) {
          if (how === 'abort') expect(said, `call ${at}`).toBe(isCommitted ? 'committed' : 'aborted');
          else if (isCommitted) expect(said, `call ${at}`).toBeUndefined();
          else expect(said, `call ${at}`).toMatchObject({ code: 'SINK_TRANSACTION_ABORTED' });
        }
      }
    }
  });

  test('a transaction of which nobody knows whether it was prepared is aborted at the target too', async () => {
    const world = await createWorld();
    await expect(deliver(world, losing(4).call)).rejects.toThrow('no answer');
    expect(world.target.prepared.size).toBe(1);
    await abort(world);
    expect(world.target.prepared.size).toBe(0);
  });
});

describe('S4: rows are ours until the commit is confirmed', () => {
  test('C08: a target that forgot what was prepared gets it again from our copy, once', async () => {
    const world = await createWorld();
    await deliver(world);
    world.target.forget();
    await commit(world);
    await commit(world);
    expect(world.target.rows).toEqual(['a', 'b']);
  });

  test('C08: a kill at any call of such a commit changes nothing', async () => {
    for (let at = 0; at < 9; at++) {
      const world = await createWorld();
      await deliver(world);
      world.target.forget();
      await commit(world, losing(at).call).catch(() => undefined);
      await commit(world);
      expect(world.target.rows, `call ${at}`).toEqual(['a', 'b']);
    }
  });

  test('a record that is gone is made again from the rows', async () => {
    const world = await createWorld();
    await commit(world);
    expect(world.target.rows).toEqual(['a', 'b']);
  });

  test('C08: rows that are gone before their transaction was decided are an error in every call', async () => {
    const world = await createWorld();
    await deliver(world);
    await processOf(world).objects.remove(transaction.rows);
    for (let i = 0; i < 3; i++)
      await expect(commit(world)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_LOST', details: { operator: 'out', checkpoint: 3 } });
    const unprepared = await createWorld();
    await processOf(unprepared).objects.remove(transaction.rows);
    await expect(deliver(unprepared)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_LOST' });
  });

  test('rows that went because their commit was confirmed are not missed', async () => {
    const world = await createWorld();
    await deliver(world);
    await commit(world);
    await confirm(world);
    await commit(world);
    await abort(world);
    expect(world.target.rows).toEqual(['a', 'b']);
  });

  test('rows that whoever delivers the tail again puts back are not prepared again by the next commit', async () => {
    const world = await createWorld();
    const { objects } = processOf(world);
    await deliver(world);
    await commit(world);
    const rows = await objects.get(transaction.rows);
    await confirm(world);
    await objects.putIfAbsent(transaction.rows, rows!);
    await deliver(world);
    await commit(world);
    expect(world.target.calls.filter((call) => call.startsWith('prepare'))).toHaveLength(1);
    expect(world.target.rows).toEqual(['a', 'b']);
  });

  test('what a target says against a commit is passed on, and the commit is made again', async () => {
    const world = await createWorld();
    await deliver(world);
    const refusing: FakeCall = async (method, _place, effect) => {
      if (method === 'commit') throw new Error('the target is down');
      return effect();
    };
    await expect(commit(world, refusing)).rejects.toThrow('the target is down');
    await commit(world);
    expect(world.target.rows).toEqual(['a', 'b']);
  });
});

describe('what does not fit', () => {
  test.each([
    ['is gone', {}, /which the job does not have/],
    ['writes at once now', { out: () => print() as never }, /is now print/],
  ])('a transaction whose sink %s is an error that names it', async (_what, sinks, message) => {
    const { ports, contextOf } = processOf(await createWorld());
    const settler = createSettler({ plan: planOf(sinks), ports, contextOf });
    await expect(settler.commit(transaction)).rejects.toThrow(message);
    await expect(settler.abort(transaction)).rejects.toMatchObject({ code: 'STATE_WITHOUT_OPERATOR' });
  });

  test.each([
    ['damaged', encodeValue('perhaps'), 'DATA_DAMAGED'],
    ['newer', Uint8Array.of(99), 'FORMAT_NEWER'],
  ])('a %s decision decides nothing', async (_what, bytes, code) => {
    const world = await createWorld();
    await processOf(world).objects.putIfAbsent('decided/1/1-0/out/2', bytes);
    await expect(commit(world)).rejects.toMatchObject({ code });
    expect(world.target.calls).toEqual([]);
  });
});
