// What must not come, and does: each is told clearly, and nothing is lost by it. When what is wrong has been put right, the job goes on to the same
// results.

import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import { pulse } from '../../../../lib/invocation/coordinator/pulse.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import { packEntry, unpackEntry } from '../../../../lib/invocation/entry-codec.ts';
import { stateValueBytesMax } from '../../../../lib/invocation/limits.ts';
import { createEnvironment } from '../../../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../../../lib/invocation/unit/environment.ts';
import { fakePorts } from '../../../../lib/testing/index.ts';
import { clickJob, clicksOf, scriptedSource } from '../../../support/case-jobs.ts';
import { newTarget } from '../../../support/case-targets.ts';
import { CaseWorld } from '../../../support/case-world.ts';
import { ClickWorld, type ClickWorldOptions } from '../../../support/click-world.ts';

const code = (c: string): unknown => expect.objectContaining({ code: c });

async function begun(o: Partial<ClickWorldOptions> = {}): Promise<ClickWorld> {
  const world = new ClickWorld({ sink: 'two-phase', ...o });
  await world.create();
  return world;
}

/** One that has not seen anything yet. */
const coldEnvironment = (world: CaseWorld): Environment => createEnvironment(world.optionsOf(world.newProcess('e')));

async function finished(world: ClickWorld): Promise<void> {
  await world.end();
  world.checkCounts();
}

describe('work for a subtask that cannot do it', () => {
  test('an unknown one is not an owner', async () => {
    const world = await begun();
    const { records } = await world.read('0-0', 0, 0, 3);
    expect(await world.invoke({ kind: 'records', subtask: '7-7', split: 0, records, isLast: false })).toEqual({
      kind: 'refused',
      why: 'not-an-owner',
    });
    expect(await world.invoke({ kind: 'records', subtask: '0-0', split: 9, records, isLast: false })).toEqual({
      kind: 'refused',
      why: 'not-an-owner',
    });
    for (const kind of ['tick', 'barrier', 'replay'] as const) {
      const answer = await world.invoke({ kind, subtask: '7-7', generation: 0, checkpoint: 1, lastCompleted: 0, recordsMax: 1 });
      expect(answer).toEqual({ kind: 'refused', why: 'not-an-owner' });
    }
    await finished(world);
  });

  test('records for one that reads no source', async () => {
    const world = await begun();
    const { records } = await world.read('0-0', 0, 0, 3);
    await expect(world.invoke({ kind: 'records', subtask: '1-0', split: 0, records, isLast: false })).rejects.toEqual(
      code('SUBTASK_UNKNOWN'),
    );
    await finished(world);
  });

  test('a message that another subtask is to get is not taken for the next one of the same sender', async () => {
    const world = await begun({ parallelism: 2, clicks: [clicksOf(9, 9)] });
    await world.feed();
    const queued = world.service.exchange.queued();
    const foreign = queued.find(({ group }) => group === '1-0')!;
    const refusal = world.invoke({ kind: 'messages', subtask: '1-1', messages: [foreign.bytes] });
    await expect(refusal).rejects.toMatchObject({
      code: 'SUBTASK_UNKNOWN',
      message: expect.stringContaining('is for 1-0 and was given to 1-1'),
    });
    await finished(world);
  });

  test('a redrive of a letter that nobody has parked changes nothing', async () => {
    const world = await begun();
    await world.feed();
    const { length } = world.entries;
    expect(await world.invoke({ kind: 'redrive', subtask: '0-0', letter: 'in/s0/99' })).toEqual({ kind: 'done' });
    expect(world.entries.length).toBe(length);
    await finished(world);
  });
});

describe('an event of another generation or job', () => {
  /** A message of generation 0 that the restored job, in generation 1, gets. */
  async function restored(): Promise<{ readonly world: ClickWorld; readonly old: Uint8Array }> {
    const world = await begun({ isOpen: true });
    await world.until(() => world.completed >= 1);
    const old = world.service.exchange.past()[0]!.bytes;
    await startRestore(world.ports, 'latest');
    await world.until(async () => (await world.item()).generation === 1);
    return { world, old };
  }

  test('a message of an older generation is dropped', async () => {
    const { world, old } = await restored();
    const { length } = world.entries;
    expect(await coldEnvironment(world).invoke({ kind: 'messages', subtask: '1-0', messages: [old] })).toEqual({ kind: 'done' });
    expect(world.entries.length).toBe(length);
    await finished(world);
  });

  test('a message, a barrier or a replay of a generation that has not begun is refused', async () => {
    const { world: later } = await restored();
    const future = later.service.exchange.past().at(-1)!.bytes;
    const world = await begun();
    expect(await world.invoke({ kind: 'messages', subtask: '1-0', messages: [future] })).toEqual({
      kind: 'refused',
      why: 'other-generation',
    });
    const barrier = { kind: 'barrier', subtask: '0-0', checkpoint: 9, lastCompleted: 0 } as const;
    expect((await world.invoke({ ...barrier, generation: 5 })).kind).toBe('refused');
    const replay = { kind: 'replay', subtask: '0-0', recordsMax: 5, generation: 5 } as const;
    expect(await world.invoke(replay)).toEqual({ kind: 'refused', why: 'other-generation' });
    await finished(world);
  });

  test('a barrier of a generation that has passed is refused', async () => {
    const { world } = await restored();
    const barrier = { kind: 'barrier', subtask: '0-0', generation: 0, checkpoint: 99, lastCompleted: 0 } as const;
    expect(await world.invoke(barrier)).toEqual({ kind: 'refused', why: 'other-generation' });
    await finished(world);
  });

  test('a handler or a pulse with another plan, of this job or another one, says so and touches nothing', async () => {
    const world = await begun();
    const { source } = scriptedSource([[...clicksOf(8)]]);
    for (const o of [{ name: 'other' }, { parallelism: 2 }]) {
      const other = new CaseWorld({ job: clickJob({ target: newTarget('two-phase'), source, ...o }) });
      const { plan } = other;
      const process = world.newProcess('x');
      const environment = createEnvironment({ ...world.optionsOf(process), plan });
      const { records } = await world.read('0-0', 0, 0, 3);
      const changes = world.entries.length;
      const { revision } = world.service.items.get('job')!;
      await expect(environment.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false })).rejects.toEqual(
        code('PLAN_CHANGED'),
      );
      await expect(environment.invoke({ kind: 'tick', subtask: '1-0' })).rejects.toEqual(code('PLAN_CHANGED'));
      const ports = fakePorts(world.service, process.call);
      const never = (): never => {
        throw new Error('nobody is to be asked');
      };
      const options = {
        ports,
        plan,
        control: { invoke: never },
        settler: { commit: never, abort: never },
        clock: process.clock,
        random: { bits: () => 0 },
      };
      await expect(pulse(options)).rejects.toEqual(code('PLAN_CHANGED'));
      expect(world.entries.length).toBe(changes);
      expect(world.service.items.get('job')!.revision).toBe(revision);
    }
    await finished(world);
  });
});

describe('a position beyond the source', () => {
  test('records that do not follow the position stay where they are', async () => {
    const world = await begun();
    const { records } = await world.read('0-0', 0, 4, 3);
    expect(await world.invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: true })).toEqual({
      kind: 'refused',
      why: 'gap',
    });
    expect((await world.head('0-0')).splits[0]).toMatchObject({ position: undefined, hasEnded: false });
    await finished(world);
  });

  test('a source that has become shorter than what was read before a restore: the replay says so, and goes on when the input is back', async () => {
    const world = await begun({ isOpen: true, sink: 'idempotent', interval: '1 s' });
    await world.until(() => world.completed >= 1);
    await world.until(async () => (await world.head('0-0')).splits[0]!.position?.index === 8);
    const gone = world.input.splits[0]!.splice(6);
    world.input.end();
    await startRestore(world.ports, world.everCompleted[0]!);
    await world.rounds(5);
    expect(world.events).toContainEqual({
      kind: 'notice',
      message: expect.stringMatching(
        /replay of subtask 0-0 .* ends behind record 6 now, and had been read up to record 8 before the restore/,
      ),
    });
    expect((await world.head('0-0')).splits[0]!.hasEnded).toBe(false);
    world.input.splits[0]!.push(...gone);
    await finished(world);
  });
});

async function newest(world: CaseWorld, subtask: string) {
  const { n } = await world.head(subtask);
  const ring = { generation: 0, subtask };
  const { ringSlots } = await world.item();
  return { ring, slot: n % ringSlots, entry: world.service.changelog.get({ ring, slot: n % ringSlots })! };
}

const damages = [
  {
    what: 'of a newer format',
    of: (bytes: Uint8Array): Uint8Array => new Uint8Array([bytes[0]! + 1, ...bytes.slice(1)]),
    says: 'FORMAT_NEWER',
  },
  { what: 'cut short', of: (bytes: Uint8Array): Uint8Array => bytes.slice(0, Math.floor(bytes.length / 2)), says: 'DATA_DAMAGED' },
];

describe.each(damages)('what is stored is $what', ({ of, says }) => {
  test('an entry: nobody works on it, and everything goes on when it is whole again', async () => {
    const world = await begun();
    await world.feed();
    const at = await newest(world, '0-0');
    world.service.changelog.overwrite({ ...at, entry: { ...at.entry, bytes: of(at.entry.bytes) } });
    for (const kind of ['tick', 'replay'] as const) {
      const invocation = { kind, subtask: '0-0', generation: 0, recordsMax: 1 } as const;
      await expect(coldEnvironment(world).invoke(invocation)).rejects.toMatchObject({
        code: says,
        message: expect.stringMatching(/entry/),
      });
    }
    world.service.changelog.overwrite(at);
    await finished(world);
  });

  test('a state item: the unit that needs it fails and its input stays', async () => {
    const world = await begun({
      clicks: [clicksOf(12, 8)],
      environments: 1,
      isPartitioned: true,
      batch: 4,
      limits: { flushBelowSlots: 100, flushKeepSlots: 0 },
    });
    for (let i = 0; i < 2; i++) await world.feed();
    const { table } = world.service;
    const items = [...table.items()];
    const put = (change: (bytes: Uint8Array) => Uint8Array): void => {
      table.putMany(items.map((item) => ({ ...item, bytes: change(item.bytes), expects: item.tags })));
    };
    put(of);
    const { position } = (await world.head('0-0')).splits[0]!;
    const { records } = await world.read('0-0', 0, 8, 4);
    const work = coldEnvironment(world).invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false });
    await expect(work).rejects.toMatchObject({ code: says, message: expect.stringMatching(/item/) });
    expect((await world.head('0-0')).splits[0]!.position).toEqual(position);
    put((bytes) => bytes);
    await finished(world);
  });

  test('a message: it stays in the queue', async () => {
    const world = await begun();
    await world.feed();
    const { bytes, group } = world.service.exchange.queued()[0]!;
    await expect(world.invoke({ kind: 'messages', subtask: group, messages: [of(bytes)] })).rejects.toMatchObject({ code: says });
    await finished(world);
  });

  test('the job item: neither a unit nor a pulse goes on', async () => {
    const world = await begun();
    const { bytes, change } = world.service.items.get('job')!;
    const put = (b: Uint8Array): void => void world.service.items.put({ name: 'job', content: { bytes: b, change }, expects: 'any' });
    const observers = world.service.observers.splice(0);
    put(of(bytes));
    await expect(coldEnvironment(world).invoke({ kind: 'tick', subtask: '0-0' })).rejects.toEqual(code(says));
    await expect(world.pulse()).rejects.toEqual(code(says));
    put(bytes);
    world.service.observers.push(...observers);
    await finished(world);
  });

  test('the handles of a checkpoint: the restore waits, and goes on when they are whole again', async () => {
    const world = await begun({ isOpen: true });
    await world.until(() => world.completed >= 1);
    const { metadata } = (await world.item()).completed.at(-1)!;
    const { objects } = world.service;
    const bytes = objects.get(metadata)!;
    objects.remove(metadata);
    objects.putIfAbsent(metadata, of(bytes));
    await startRestore(world.ports, 'latest');
    await expect(world.pulse()).rejects.toEqual(code(says));
    expect((await world.item()).generation).toBe(0);
    objects.remove(metadata);
    objects.putIfAbsent(metadata, bytes);
    await finished(world);
  });
});

describe('an object that is gone', () => {
  test('behind a claim-check: the message stays in the queue and its input is whole when the object is back', async () => {
    const world = await begun({ limits: { messageBytesMax: 1 } });
    await world.feed();
    const { objects, exchange } = world.service;
    const [name] = objects.list('message/');
    const bytes = objects.get(name!)!;
    objects.remove(name!);
    await world.drain();
    expect(world.errors).toContainEqual(expect.objectContaining({ code: 'CLAIM_EXPIRED', message: expect.stringContaining(name!) }));
    expect(exchange.queued().length).toBeGreaterThan(0);
    expect((await world.head('1-0')).channels[0]!.sequence).toBe(0);
    objects.putIfAbsent(name!, bytes);
    await finished(world);
  });

  test('a repeat needs no object', async () => {
    const world = await begun({ limits: { messageBytesMax: 1 } });
    await world.feed();
    const claim = world.service.exchange.past()[0]!;
    while (await world.drain());
    for (const name of world.service.objects.list('message/')) world.service.objects.remove(name);
    expect(await coldEnvironment(world).invoke({ kind: 'messages', subtask: claim.group, messages: [claim.bytes] })).toEqual({
      kind: 'done',
    });
    await finished(world);
  });

  test('the body of an entry', async () => {
    const world = await begun({ limits: { inlineBytesMax: 0 } });
    await world.feed();
    const at = await newest(world, '0-0');
    const { head } = await unpackEntry(at.entry.bytes, world.ports.objects);
    const { objects } = world.service;
    const name = objects.list('entry/0/0-0/').at(-1)!;
    const bytes = objects.get(name)!;
    objects.remove(name);
    const work = coldEnvironment(world).invoke({ kind: 'tick', subtask: '0-0' });
    await expect(work).rejects.toMatchObject({
      code: 'OBJECT_MISSING',
      message: expect.stringContaining(`entry ${head.n} of subtask 0-0`),
    });
    objects.putIfAbsent(name, bytes);
    await finished(world);
    expect(
      packEntry({ head, body: { delta: { writes: [], timers: [] }, messages: [], rows: [] } }, { inlineBytesMax: 0, objectName: 'x' })
        .object,
    ).toBeUndefined();
  });
});

describe('a value over a limit', () => {
  /** Keeps a text of the wanted length for each record. */
  async function keeping(sizes: readonly number[], key: (size: number) => string) {
    const out = collect<string>();
    const keep = keyedProcess({
      state: { text: valueState<string>() },
      processElement(size: number, ctx, out: Collector<string>) {
        ctx.state.text.update('x'.repeat(size));
        out.collect(`kept ${size}`);
      },
    });
    const input = scriptedSource([[...sizes]]);
    input.end();
    const job = defineJob('large', (env: Env) => {
      env.enableCheckpointing('1 s', { tolerableFailures: 100 });
      env.fromSource(input.source, { uid: 'in', partitionedBy: key }).keyBy(key).process(keep).uid('keep').sinkTo(out, { uid: 'out' });
    });
    const world = new CaseWorld({ job, batch: 1, patience: { triesMax: 2 } });
    await world.create();
    return { world, out };
  }

  test('one value of state: the error names operator, state and limit, and what came before is committed', async () => {
    const { world } = await keeping([10, stateValueBytesMax + 1, 20], () => 'one');
    await world.rounds(3);
    expect(world.errors).toContainEqual(
      expect.objectContaining({ code: 'STATE_TOO_LARGE', message: expect.stringMatching(/text.*keep|keep.*text/) }),
    );
    expect((await world.head('0-0')).splits[0]!.position?.index).toBe(1);
  });

  test('a key that no store can name', async () => {
    const { world } = await keeping([1, 5_000, 2], (size) => 'k'.repeat(size));
    await world.rounds(3);
    expect(world.errors).toContainEqual(code('STATE_TOO_LARGE'));
    expect((await world.head('0-0')).splits[0]!.position?.index).toBe(1);
  });

  test('what is large and within the limits goes through objects, and comes back whole', async () => {
    const { world, out } = await keeping([400_000, 2_000_000, 5_000_000], () => 'one');
    await world.finish();
    expect(out.rows).toEqual(['kept 400000', 'kept 2000000', 'kept 5000000']);
  });

  test('a record whose value cannot be sent becomes a dead letter, and the others go on', async () => {
    const out = collect<string>();
    const values = [1, 2, 3];
    const job = defineJob('unsendable', (env: Env) => {
      env.enableCheckpointing('1 s');
      env
        .fromCollection(values, { uid: 'in' })
        .map((n) => (n === 2 ? { n, no: Symbol('no') } : { n }))
        .keyBy(({ n }) => n % 2)
        .process({ state: {}, processElement: ({ n }: { n: number }, _ctx, o: Collector<string>) => o.collect(`${n}`) })
        .uid('pass')
        .sinkTo(out, { uid: 'out' });
    });
    const world = new CaseWorld({ job });
    await world.run();
    expect([...out.rows].sort()).toEqual(['1', '3']);
    expect((await world.letters()).map(({ letter }) => letter.error.code)).toEqual(['VALUE_NOT_ENCODABLE']);
  });
});

describe('nobody there', () => {
  test('an answer that cannot be given: the work is done once, and whoever asks again hears so', async () => {
    for (const kind of ['records', 'barrier', 'tick'] as const) {
      const world = await begun();
      let isMute = true;
      world.fate = ({ method }) => (isMute && method === (kind === 'barrier' ? 'items.put' : 'changelog.put') ? 'kill-after' : 'go');
      await world.round();
      await world.round();
      isMute = false;
      await finished(world);
    }
  });

  test('a coordinator whose calls are never answered notes it and asks again', async () => {
    const world = await begun();
    world.reaches = () => false;
    await world.rounds(4);
    expect(world.events.filter((e) => e.kind === 'notice').length).toBeGreaterThan(0);
    expect(world.completed).toBe(0);
    world.reaches = () => true;
    await finished(world);
  });

  test('a pulse for a job that is gone does nothing, and a unit of it is refused', async () => {
    const world = await begun();
    await world.feed();
    const { records } = await world.read('0-0', 0, 3, 3);
    world.service.observers.splice(0);
    world.service.items.remove({ name: 'job', expects: 'any' });
    const process = world.newProcess('c');
    const never = (): never => {
      throw new Error('nobody is to be asked');
    };
    const ports = fakePorts(world.service, process.call);
    const { plan } = world;
    const options = {
      ports,
      plan,
      control: { invoke: never },
      settler: { commit: never, abort: never },
      clock: process.clock,
      random: { bits: () => 0 },
    };
    expect(await pulse(options)).toEqual({ item: undefined, isBusy: false });
    expect(await coldEnvironment(world).invoke({ kind: 'records', subtask: '0-0', split: 0, records, isLast: false })).toEqual({
      kind: 'refused',
      why: 'not-running',
    });
    await expect(startRestore(world.ports, 'latest')).rejects.toEqual(code('JOB_UNKNOWN'));
  });
});
