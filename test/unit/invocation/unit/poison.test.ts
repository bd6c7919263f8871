import { describe, expect, test } from 'vitest';
import { type Collector, collect, defineJob, type Env, keyedProcess, valueState, WatermarkStrategy } from '../../../../lib/index.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { Answer, EventRecord } from '../../../../lib/invocation/invocation.ts';
import { createEnvironment, createServices, type EnvironmentOptions } from '../../../../lib/invocation/unit/create-environment.ts';
import type { Environment } from '../../../../lib/invocation/unit/environment.ts';
import { type ListedLetter, listLetters } from '../../../../lib/invocation/unit/look.ts';
import { fakePorts } from '../../../../lib/testing/invocation/index.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

/** What a record does to whoever runs it: nothing, or as the test says. */
type Temper = (record: number) => 'fine' | 'throws' | 'kills';

/** A world whose environments can be killed by a record: from then on none of their requests gets an answer. */
class Poisoned {
  readonly out = collect<string>();
  readonly world: InvocationWorld;
  temper: Temper;
  /** Times that each record was run. */
  readonly runs = new Map<number, number>();
  deaths = 0;
  #died: (() => void) | undefined;

  constructor(p: {
    readonly temper: Temper;
    readonly stages?: 1 | 2;
    readonly records?: number;
    readonly batch?: number;
    readonly mode?: 'AT_MOST_ONCE';
  }) {
    this.temper = p.temper;
    const values = Array.from({ length: p.records ?? 10 }, (_, i) => i);
    const isPartitioned = p.stages !== 2;
    const count = keyedProcess({
      state: { seen: valueState({ default: () => 0 }) },
      processElement: (record: number, ctx, out: Collector<string>) => {
        const seen = ctx.state.seen.value() + 1;
        ctx.state.seen.update(seen);
        this.#run(record);
        out.collect(`${record} ${seen}`);
      },
    });
    const job = defineJob('poison', (env: Env) => {
      env.enableCheckpointing('5 s', p.mode === undefined ? {} : { mode: p.mode });
      env
        .fromCollection(values, { uid: 'in', ...(isPartitioned ? { partitionedBy: (n: number) => n % 2 } : {}) })
        .keyBy((n) => n % 2)
        .process(count)
        .uid('count')
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job, batch: p.batch ?? 4 });
  }

  #run(record: number): void {
    this.runs.set(record, (this.runs.get(record) ?? 0) + 1);
    const temper = this.temper(record);
    if (temper === 'kills') {
      this.deaths += 1;
      this.#died?.();
    }
    if (temper !== 'fine') throw new Error(`no to ${record}`);
  }

  /** Each invocation in a process of its own. */
  mortal(): Environment {
    let isDead = false;
    const ports = fakePorts(this.world.service, (_method, _place, effect) =>
      isDead ? new Promise(() => undefined) : Promise.resolve().then(effect),
    );
    const environment = createEnvironment({ ...optionsOf(this.world), ports });
    const invoke = environment.invoke.bind(environment);
    environment.invoke = (invocation, options) => {
      const death = new Promise<Answer>((_, reject) => {
        this.#died = () => {
          isDead = true;
          reject(new Error('the process died'));
        };
      });
      return Promise.race([invoke(invocation, options), death]);
    };
    return environment;
  }

  letters(): Promise<readonly ListedLetter[]> {
    return lettersOf(this.world);
  }

  get rows(): readonly string[] {
    return [...this.out.rows].sort((a, b) => Number(a.split(' ')[0]) - Number(b.split(' ')[0]));
  }
}

function optionsOf({ plan, ports, clock, random }: InvocationWorld): EnvironmentOptions {
  const files = undefined as unknown as EnvironmentOptions['files'];
  return { plan, ports, clock, random, files, report: () => undefined, print: () => undefined };
}

const lettersOf = (world: InvocationWorld): Promise<readonly ListedLetter[]> => listLetters(createServices(optionsOf(world)));

const event = (from: number, to: number): readonly EventRecord[] =>
  Array.from({ length: to - from }, (_, i) => ({ value: from + i, after: { index: from + i + 1, at: from + i + 1 } }));

/** What comes out when these records are left out. */
function rowsWithout(records: number, ...out: readonly number[]): readonly string[] {
  const seen = [0, 0];
  const rows: string[] = [];
  for (let record = 0; record < records; record++) {
    if (!out.includes(record)) rows.push(`${record} ${(seen[record % 2] = (seen[record % 2] as number) + 1)}`);
  }
  return rows;
}

describe('a record that throws', () => {
  test('is tried as often as the bound says, and then parked whole; everything else counts once', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'throws' : 'fine') });
    await p.world.run();
    expect(p.rows).toEqual(rowsWithout(10, 5));
    const letters = await p.letters();
    expect(letters).toMatchObject([
      {
        subtask: '0-0',
        id: 'in/all/5',
        letter: { operator: 'count', error: { code: 'USER_FUNCTION_FAILED' }, place: 'in/all', record: '5' },
      },
    ]);
    expect(letters[0]?.letter.batch.values).toEqual([5]);
    expect(letters[0]?.letter.error.message).toContain('no to 5');
  });

  test('holds back what follows it, not what came before: that is committed with the count', async () => {
    const p = new Poisoned({ temper: (record) => (record === 2 ? 'throws' : 'fine') });
    await p.world.create();
    const give = () => p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(0, 4), isLast: false });
    expect(await give()).toEqual({ kind: 'partial', count: 2, why: 'record-failed' });
    expect(await give()).toEqual({ kind: 'partial', count: 2, why: 'record-failed' });
    expect(await p.letters()).toEqual([]);
    expect(await give()).toEqual({ kind: 'done' });
    expect((await p.letters()).map(({ id }) => id)).toEqual(['in/all/2']);
  });

  test('at the beginning of an event refuses it until its tries are used up', async () => {
    const p = new Poisoned({ temper: (record) => (record === 0 ? 'throws' : 'fine') });
    await p.world.create();
    const give = () => p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(0, 4), isLast: false });
    expect(await give()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await give()).toEqual({ kind: 'refused', why: 'record-failed' });
    expect(await give()).toEqual({ kind: 'done' });
  });

  test('that gets through after all leaves no count behind', async () => {
    let fails = 2;
    const p = new Poisoned({ temper: (record) => (record === 5 && fails-- > 0 ? 'throws' : 'fine') });
    await p.world.run();
    expect(p.rows).toEqual(rowsWithout(10));
    expect(await p.letters()).toEqual([]);
  });

  test('is counted by whichever environment meets it', async () => {
    const p = new Poisoned({ temper: (record) => (record === 1 ? 'throws' : 'fine') });
    await p.world.create();
    const answers: Answer[] = [];
    for (let i = 0; i < 3; i++) {
      const environment = p.mortal();
      answers.push(await environment.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(0, 4), isLast: false }));
    }
    expect(answers.map(({ kind }) => kind)).toEqual(['partial', 'partial', 'done']);
  });

  test.each([1, 2] as const)('among many that throw: each has its own letter, in %d stage(s)', async (stages) => {
    const bad = [3, 4, 8];
    const p = new Poisoned({ temper: (record) => (bad.includes(record) ? 'throws' : 'fine'), stages });
    await p.world.run();
    expect(p.rows).toEqual(rowsWithout(10, ...bad));
    expect((await p.letters()).flatMap(({ letter }) => letter.batch.values).sort()).toEqual(bad);
  });

  test('behind an exchange is parked with its key, and the rest of its message counts once', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'throws' : 'fine'), stages: 2 });
    await p.world.run();
    expect(p.rows).toEqual(rowsWithout(10, 5));
    const [only, ...others] = await p.letters();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ subtask: '1-0', letter: { batch: { values: [5], keys: [1] }, operator: 'count' } });
  });
});

describe('a record that kills its process', () => {
  async function deliver(p: Poisoned, records: readonly EventRecord[]): Promise<number> {
    let left = records;
    for (let round = 0; round < 60; round++) {
      const environment = p.mortal();
      const before = p.deaths;
      try {
        const answer = await environment.invoke({
          kind: 'records',
          subtask: '0-0',
          split: 0,
          records: left,
          isLast: false,
          isAgain: round > 0,
        });
        if (answer.kind === 'done') return p.deaths;
        if (answer.kind === 'partial') left = left.slice(answer.count);
      } catch (error) {
        if (p.deaths === before) throw error;
      }
    }
    throw new Error('never done');
  }

  test('is found by halving and parked after three deaths alone; everything else counts once', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'kills' : 'fine'), records: 16 });
    await p.world.create();
    expect(await deliver(p, event(0, 16))).toBeLessThanOrEqual(15);
    const letters = await p.letters();
    expect(letters).toMatchObject([{ id: 'in/all/5', letter: { error: { code: 'RECORD_KILLS' }, batch: { values: [5] } } }]);
    expect(await p.world.ports.items.list('marker/')).toEqual([]);
  });

  test('is not confused with one that throws', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'kills' : record === 4 ? 'throws' : 'fine'), records: 16 });
    await p.world.create();
    await deliver(p, event(0, 16));
    expect((await p.letters()).map(({ letter }) => [letter.record, letter.error.code])).toEqual([
      ['4', 'USER_FUNCTION_FAILED'],
      ['5', 'RECORD_KILLS'],
    ]);
  });

  test('is not seen in a healthy one that several deliveries run at once, whoever of them commits', async () => {
    const p = new Poisoned({ temper: () => 'fine' });
    await p.world.create();
    const deadlineMs = p.world.now + 30_000;
    const give = (invoke: Environment['invoke']) =>
      invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(0, 1), isLast: false, isAgain: true }, { deadlineMs });
    // Five are at work when the sixth comes: each has marked the record, run it, and is about to append.
    const gate = Promise.withResolvers<void>();
    const held: Promise<Answer>[] = [];
    for (let i = 0; i < 5; i++) {
      const arrived = Promise.withResolvers<void>();
      const ports = fakePorts(p.world.service, async (method, _place, effect) => {
        if (method === 'changelog.put') {
          arrived.resolve();
          await gate.promise;
        }
        return effect();
      });
      const environment = createEnvironment({ ...optionsOf(p.world), ports });
      held.push(give(environment.invoke.bind(environment)));
      await arrived.promise;
    }
    const last = p.world.newEnvironment();
    expect(await give(last.invoke.bind(last))).toEqual({ kind: 'done' });
    gate.resolve();
    expect(await Promise.all(held)).toEqual(Array(5).fill({ kind: 'done' }));
    expect(await p.letters()).toEqual([]);
  });

  test('is guarded against only where something was handed out before', async () => {
    const p = new Poisoned({ temper: () => 'fine' });
    await p.world.create();
    const puts: string[] = [];
    p.world.service.observers.push((change) => {
      if (change.kind === 'item' && change.name.startsWith('marker/')) puts.push(change.name);
    });
    const give = (from: number, isAgain: boolean | undefined) =>
      p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(from, from + 2), isLast: false, isAgain });
    await give(0, false);
    await give(2, undefined);
    expect(puts).toEqual([]);
    await give(4, true);
    expect(puts).toEqual(['marker/0-0/0']);
  });
});

describe('a record behind an exchange that kills', () => {
  test('is found among the records of its messages, and nothing else is parked', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'kills' : 'fine'), stages: 2, batch: 3 });
    await p.world.create();
    while (await p.world.feed());
    for (let round = 0; round < 80 && (await isWaiting(p)); round++) {
      const deliveries = await p.world.ports.exchange.receive({ max: 10 });
      const environment = p.mortal();
      const before = p.deaths;
      let count = 0;
      try {
        const messages = deliveries.map(({ bytes }) => bytes);
        const answer = await environment.invoke({ kind: 'messages', subtask: '1-0', messages, isAgain: round > 0 });
        count = answer.kind === 'done' ? deliveries.length : answer.kind === 'partial' ? answer.count : 0;
      } catch (error) {
        if (p.deaths === before) throw error;
      }
      await p.world.ports.exchange.settle(deliveries.slice(0, count).map(({ receipt }) => receipt));
      await p.world.ports.exchange.release({ receipts: deliveries.slice(count).map(({ receipt }) => receipt), delayMs: 0 });
    }
    expect(await isWaiting(p)).toBe(false);
    const letters = await p.letters();
    expect(letters.map(({ letter }) => [letter.error.code, letter.batch.values[0], letter.batch.keys?.[0]])).toEqual([
      ['RECORD_KILLS', 5, 1],
    ]);
    expect(await p.world.ports.items.list('marker/')).toEqual([]);
    p.temper = () => 'fine';
    expect(await p.world.invoke({ kind: 'redrive', subtask: '1-0', letter: (letters[0] as ListedLetter).id })).toEqual({ kind: 'done' });
    expect(await p.letters()).toEqual([]);
    for (let i = 0; i < 20; i++) await p.world.pulse();
    expect(p.rows.map((row) => row.split(' ')[0])).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });

  async function isWaiting(p: Poisoned): Promise<boolean> {
    const deliveries = await p.world.ports.exchange.receive({ max: 10 });
    await p.world.ports.exchange.release({ receipts: deliveries.map(({ receipt }) => receipt), delayMs: 0 });
    return deliveries.length > 0;
  }
});

describe('dead letters', () => {
  test('roll back with the state that they belong to, and come again with the replay', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'throws' : 'fine') });
    await p.world.create();
    const give = (from: number, to: number) =>
      p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(from, to), isLast: false });
    await give(0, 4);
    for (let i = 0; i < 20 && (await p.world.item()).completed.length === 0; i++) await p.world.pulse();
    for (let i = 0; i < 3; i++) await give(4, 8);
    expect(await p.letters()).toHaveLength(1);
    const [checkpoint] = (await p.world.item()).completed;
    await startRestore(p.world.ports, checkpoint?.checkpoint as number);
    p.temper = () => 'fine';
    for (let i = 0; i < 10 && (await p.world.item()).restoring !== undefined; i++) await p.world.pulse();
    expect(await p.letters()).toEqual([]);
    for (let i = 0; i < 10; i++) await p.world.pulse();
    expect(await give(8, 10)).toEqual({ kind: 'done' });
    await p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: [], isLast: true });
    for (let i = 0; i < 20; i++) await p.world.pulse();
    expect(p.rows).toEqual(rowsWithout(10));
  });

  test('of an earlier generation stay, though a record of this one came by the same number of its channel', async () => {
    const p = new Poisoned({ temper: (record) => (record === 0 || record === 4 ? 'throws' : 'fine'), stages: 2 });
    await p.world.create();
    const give = async (from: number, to: number): Promise<void> => {
      await p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(from, to), isLast: false });
      for (let i = 0; i < 4; i++) await p.world.drain();
    };
    await give(0, 4);
    for (let i = 0; i < 20 && (await p.world.item()).completed.length === 0; i++) {
      await p.world.pulse();
      while (await p.world.drain());
    }
    await startRestore(p.world.ports, 'latest');
    for (let i = 0; i < 10 && (await p.world.item()).generation === 0; i++) await p.world.pulse();
    await give(4, 8);
    expect((await p.letters()).map(({ letter }) => letter.batch.values[0])).toEqual([0, 4]);
  });

  test('have ids of their own, also where two subtasks park what one sender numbered alike', async () => {
    const job = defineJob('alike', (env: Env) => {
      env.enableCheckpointing('5 s');
      env
        .fromCollection([0, 1, 2, 3, 4, 5, 6, 7], { uid: 'in' })
        .keyBy((n) => n)
        .map((): number => {
          throw new Error('no');
        })
        .setParallelism(2)
        .sinkTo(collect<number>(), { uid: 'out' });
    });
    const world = new InvocationWorld({ job, batch: 8 });
    await world.run();
    const letters = await lettersOf(world);
    expect(letters.map(({ letter }) => letter.batch.values[0]).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(letters.map(({ subtask }) => subtask)).size).toBe(2);
    expect(new Set(letters.map(({ id }) => id)).size).toBe(8);
  });

  test('take the place of a record at once where the position is committed before anything runs', async () => {
    const p = new Poisoned({ temper: (record) => (record === 5 ? 'throws' : 'fine'), mode: 'AT_MOST_ONCE' });
    await p.world.run();
    expect(p.rows).toEqual(rowsWithout(10, 5));
    expect((await p.letters()).map(({ letter }) => letter.record)).toEqual(['5']);
  });

  test('take the place of a record whose time cannot be told there as well, and hold nothing up', async () => {
    const out = collect<string>();
    const watermarks = WatermarkStrategy.forMonotonousTimestamps<number>().withTimestamps((n) => (n === 3 ? Number.NaN : n));
    const job = defineJob('timeless', (env: Env) => {
      env.enableCheckpointing('5 s', { mode: 'AT_MOST_ONCE' });
      env
        .fromCollection([0, 1, 2, 3, 4, 5], { uid: 'in', watermarks })
        .map((n) => `${n}`)
        .sinkTo(out, { uid: 'out' });
    });
    const world = new InvocationWorld({ job, batch: 4 });
    await world.run();
    expect([...out.rows].sort()).toEqual(['0', '1', '2', '4', '5']);
    expect((await lettersOf(world)).map(({ letter }) => [letter.record, letter.error.code])).toEqual([['3', 'TIMESTAMP_INVALID']]);
  });

  test('take the place of what gives a result that cannot be sent, though the record itself ran well', async () => {
    const out = collect<number>();
    const job = defineJob('unsendable', (env: Env) => {
      env.enableCheckpointing('5 s');
      env
        .fromCollection([0, 1, 2, 3, 4, 5, 6], { uid: 'in' })
        .map((n) => (n === 3 ? { n, bad: Symbol('no') } : { n }))
        .keyBy(({ n }) => n % 2)
        .map(({ n }) => n)
        .sinkTo(out, { uid: 'out' });
    });
    const world = new InvocationWorld({ job, batch: 5 });
    await world.run();
    expect([...out.rows].sort()).toEqual([0, 1, 2, 4, 5, 6]);
    const letters = await lettersOf(world);
    expect(letters.map(({ letter }) => [letter.batch.values[0], letter.error.code])).toEqual([[3, 'VALUE_NOT_ENCODABLE']]);
  });
});

describe('a redrive', () => {
  async function parked(): Promise<Poisoned> {
    const p = new Poisoned({ temper: (record) => (record === 1 ? 'throws' : 'fine') });
    await p.world.create();
    for (let i = 0; i < 3; i++) await p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(0, 4), isLast: false });
    return p;
  }

  test('of a record that works by now has its effect once, however often it is asked for', async () => {
    const p = await parked();
    p.temper = () => 'fine';
    const before = p.runs.get(1);
    const ask = () => p.world.invoke({ kind: 'redrive', subtask: '0-0', letter: 'in/all/1' });
    expect(await ask()).toEqual({ kind: 'done' });
    expect(await p.letters()).toEqual([]);
    expect(await ask()).toEqual({ kind: 'done' });
    expect(p.runs.get(1)).toBeLessThanOrEqual((before as number) + 2); // once, and once more when its state had to be loaded
    await p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(4, 10), isLast: true });
    for (let i = 0; i < 20; i++) await p.world.pulse();
    expect(p.rows).toEqual(
      ['0 1', '1 2', '2 2', '3 1', '4 3', '5 3', '6 4', '7 4', '8 5', '9 5'].sort((a, b) => Number(a[0]) - Number(b[0])),
    );
  });

  test('behind the last barrier is refused: nothing would make its rows visible any more', async () => {
    const p = await parked();
    const ask = () => p.world.invoke({ kind: 'redrive', subtask: '0-0', letter: 'in/all/1' });
    await p.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: event(4, 10), isLast: true });
    p.temper = () => 'fine';
    while ((await p.world.item()).open.length === 0) await p.world.pulse();
    const [{ checkpoint, generation } = { checkpoint: 0, generation: 0 }] = (await p.world.item()).open;
    await p.world.invoke({ kind: 'barrier', subtask: '0-0', checkpoint, generation, lastCompleted: 0 });
    expect(await ask()).toEqual({ kind: 'refused', why: 'ended' });
    for (let i = 0; i < 20; i++) await p.world.pulse();
    expect([(await p.world.item()).status, p.rows]).toEqual(['finished', rowsWithout(10, 1)]);
    expect(await p.letters()).toHaveLength(1);
  });

  test('of a record that still fails leaves it parked', async () => {
    const p = await parked();
    expect(await p.world.invoke({ kind: 'redrive', subtask: '0-0', letter: 'in/all/1' })).toEqual({
      kind: 'refused',
      why: 'record-failed',
    });
    expect(await p.letters()).toHaveLength(1);
  });
});
