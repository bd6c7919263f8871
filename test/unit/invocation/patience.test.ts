import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../lib/core/errors.ts';
import { type Patience, patient, putAll, readAll, sendAll } from '../../../lib/invocation/patience.ts';
import type { ItemAddress, OutgoingMessage, StatePut } from '../../../lib/invocation/ports.ts';
import { type FakeCall, FakeService, fakePorts, promptCall, seededRandom } from '../../../lib/testing/index.ts';

interface Waits {
  readonly patience: Patience;
  readonly waits: readonly number[];
}

/** Patience whose waits take no time and are written down. */
function waiting(o: Partial<Patience> = {}): Waits {
  const waits: number[] = [];
  const sleep = (ms: number) => {
    waits.push(ms);
    return { done: Promise.resolve(), cancel: () => undefined };
  };
  return { patience: { clock: { now: () => 0, sleep }, random: seededRandom(1), ...o }, waits };
}

const throttled = (): Error => new SluiceError('STORE_THROTTLED', { message: 'slow down', next: 'try-again' });
const bytes = new Uint8Array([1]);
const ring = { generation: 0, subtask: '1-0' };
const addresses = (count: number): readonly ItemAddress[] =>
  Array.from({ length: count }, (_, i) => ({ partition: `p${i % 3}`, sort: `s${i}` }));
const puts = (count: number): readonly StatePut[] =>
  addresses(count).map((address) => ({ address, tags: 't', bytes, expects: 'absent' as const }));
const messages = (count: number): readonly OutgoingMessage[] =>
  Array.from({ length: count }, (_, i) => ({ group: `g${i % 3}`, id: `m${i}`, bytes: new Uint8Array([i]) }));

/** Fails the first requests, one for each fault: before it happens, or after, so that its reply is lost. */
function faulty(service: FakeService, faults: ('throttled' | 'lost' | Error)[]): FakeCall {
  return async (method, place, effect) => {
    const fault = faults.shift();
    if (fault === 'throttled') throw throttled();
    if (fault instanceof Error) throw fault;
    const answer = await promptCall(method, place, effect);
    if (fault === 'lost') throw new Error('socket hang up');
    return answer;
  };
}

describe('a request that is asked again', () => {
  test('a throttled request is asked until it is answered, each wait about twice the one before and drawn from its upper half', async () => {
    const service = new FakeService();
    const { patience, waits } = waiting({ firstDelayMs: 100, delayMsMax: 250 });
    const ports = patient(fakePorts(service, faulty(service, ['throttled', 'throttled', 'throttled', 'throttled'])), patience);
    expect(await ports.objects.putIfAbsent('a', bytes)).toBe('stored');
    expect(waits.length).toBe(4);
    for (const [i, longest] of [100, 200, 250, 250].entries()) {
      expect(waits[i]).toBeGreaterThanOrEqual(longest / 2);
      expect(waits[i]).toBeLessThanOrEqual(longest);
    }
  });

  test('tries are bounded: throttled each time stays throttled, and says what was asked', async () => {
    const service = new FakeService();
    const { patience, waits } = waiting({ triesMax: 3 });
    const ports = patient(
      fakePorts(service, async () => {
        throw throttled();
      }),
      patience,
    );
    const asked = ports.changelog.put({ ring, slot: 7, entry: { n: 7, writer: 'w', bytes }, expects: 'absent' });
    await expect(asked).rejects.toMatchObject({ code: 'STORE_THROTTLED', message: expect.stringContaining('entry 7 of ring 0/1-0') });
    expect(waits.length).toBe(2);
    expect(service.changelog.rings()).toEqual([]);
  });

  test('once one try was uncertain, the last word is uncertain, whatever the later ones said', async () => {
    const service = new FakeService();
    const { patience } = waiting({ triesMax: 3 });
    const ports = patient(fakePorts(service, faulty(service, ['throttled', 'lost', 'throttled'])), patience);
    await expect(ports.objects.putIfAbsent('a', bytes)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
    expect(service.objects.peek('a')).toBeDefined();
  });

  test('what is neither throttled nor uncertain is told at once', async () => {
    const service = new FakeService();
    const { patience, waits } = waiting();
    const full = new SluiceError('STORE_FULL', { message: 'the disk is full', next: 'try-again' });
    const ports = patient(fakePorts(service, faulty(service, [full])), patience);
    await expect(ports.objects.putIfAbsent('a', bytes)).rejects.toBe(full);
    await expect(ports.table.readMany(addresses(101))).rejects.toMatchObject({ code: 'STORE_REQUEST_INVALID' });
    expect(waits).toEqual([]);
  });

  test('C36: an append whose reply was lost is answered with the caller’s own writer', async () => {
    const service = new FakeService();
    const ports = patient(fakePorts(service, faulty(service, ['lost'])), waiting().patience);
    const put = await ports.changelog.put({ ring, slot: 0, entry: { n: 0, writer: 'mine', bytes }, expects: 'absent' });
    expect(put).toEqual({ kind: 'conflict', held: { n: 0, writer: 'mine' } });
  });

  test('C36: put-if-absent, create, a swap and a send whose replies were lost have happened once', async () => {
    const service = new FakeService();
    service.items.put({ name: 'job', content: { bytes, change: 'restore' }, expects: 'absent' });
    const lost = (): ReturnType<typeof fakePorts> => patient(fakePorts(service, faulty(service, ['lost'])), waiting().patience);
    expect(await lost().objects.putIfAbsent('a', bytes)).toBe('exists');
    expect(await lost().changelog.create({ ring, slot: 0, entry: { n: 0, writer: 'w', bytes }, change: 'restore' })).toBe('exists');
    expect(await lost().items.put({ name: 'job', content: { bytes, change: '' }, expects: 1 })).toEqual({ kind: 'conflict' });
    expect(await lost().items.remove({ name: 'job', expects: 2 })).toBe('conflict');
    expect(await lost().table.putMany(puts(2))).toEqual(['conflict', 'conflict']);
    expect(await lost().exchange.send(messages(3))).toEqual({ left: [] });
    expect(service.exchange.queued().length).toBe(3);
  });
});

describe('a batch that is asked until nothing of it is left', () => {
  /** Leaves `count` of a call undone, other ones each time. */
  function leaving(service: FakeService, left: number): void {
    let call = 0;
    service.hooks.leave = (count) => {
      call++;
      return Array.from({ length: Math.min(left, count - 1) }, (_, i) => (i * 3 + call) % count);
    };
  }

  test('C35: 100 puts of which each call of 25 leaves 7 are all stored before the caller goes on', async () => {
    const service = new FakeService();
    leaving(service, 7);
    const { patience, waits } = waiting();
    const outcomes = await putAll(fakePorts(service).table, puts(100), patience);
    expect(outcomes).toEqual(Array(100).fill('stored'));
    expect(service.table.items().length).toBe(100);
    expect(waits.length).toBeGreaterThan(0);
    expect(waits.length).toBeLessThan(100);
  });

  test('C35: calls that leave everything are borne a few times in a row, with growing waits', async () => {
    const service = new FakeService();
    let calls = 0;
    service.hooks.leave = (count) => (++calls <= 5 ? Array.from({ length: count }, (_, i) => i) : []);
    const { patience, waits } = waiting();
    expect(await putAll(fakePorts(service).table, puts(30), patience)).toEqual(Array(30).fill('stored'));
    expect(waits.length).toBe(5);
    expect(waits[4]).toBeGreaterThan(waits[0]! * 4);
  });

  test('C35: when the rest never drains, it is given up by name, and bounded', async () => {
    const service = new FakeService();
    service.hooks.leave = (count) => Array.from({ length: count }, (_, i) => i).filter((i) => i >= 5 || service.table.items().length >= 5);
    const { patience, waits } = waiting();
    const putting = putAll(fakePorts(service).table, puts(30), patience);
    await expect(putting).rejects.toMatchObject({ code: 'STORE_THROTTLED', message: expect.stringContaining('5 of 30 puts are done') });
    expect(waits.length).toBeLessThan(10);
    expect(service.table.items().length).toBe(5);
  });

  test('outcomes stand at the place of their put, though the service took them in another order', async () => {
    const service = new FakeService();
    service.table.putMany(puts(60).slice(40, 42));
    leaving(service, 9);
    const outcomes = await putAll(fakePorts(service).table, puts(60), waiting().patience);
    expect(outcomes.flatMap((o, i) => (o === 'conflict' ? [i] : []))).toEqual([40, 41]);
  });

  test('all addresses are read, also those named twice, past pages and left-overs', async () => {
    const service = new FakeService();
    const table = fakePorts(service).table;
    await putAll(table, puts(250), waiting().patience);
    service.hooks.pageBytes = 60;
    leaving(service, 30);
    const asked = [...addresses(250), ...addresses(20), { partition: 'none', sort: 's' }];
    const read = await readAll(table, asked, waiting().patience);
    expect(read.map((i) => i.address.sort).sort()).toEqual(
      addresses(250)
        .map((a) => a.sort)
        .sort(),
    );
  });

  test('reads that are never answered are given up', async () => {
    const service = new FakeService();
    service.hooks.leave = (count) => Array.from({ length: count }, (_, i) => i);
    await expect(readAll(fakePorts(service).table, addresses(3), waiting().patience)).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
  });

  test('messages that were left go before what comes after them in their group', async () => {
    const service = new FakeService();
    const random = seededRandom(3);
    service.hooks.leave = (count) => Array.from({ length: count }, (_, i) => i).filter(() => random.chance(0.4));
    await sendAll(fakePorts(service).exchange, messages(100), waiting({ idleCallsMax: 50 }).patience);
    for (const group of ['g0', 'g1', 'g2']) {
      const got = service.exchange.queued().filter((m) => m.group === group);
      expect(got.map((m) => m.id)).toEqual(messages(100).flatMap((m) => (m.group === group ? [m.id] : [])));
    }
  });

  test('messages are sent in as many calls as their bytes ask for', async () => {
    const service = new FakeService();
    let calls = 0;
    const ports = fakePorts(service, (method, place, effect) => {
      calls++;
      return promptCall(method, place, effect);
    });
    const large = Array.from({ length: 9 }, (_, i) => ({ group: 'g', id: `${i}`, bytes: new Uint8Array(200 * 1024) }));
    await sendAll(ports.exchange, large, waiting().patience);
    expect(calls).toBe(3);
    expect(service.exchange.queued().map((m) => m.id)).toEqual(large.map((m) => m.id));
  });

  test('nothing to do asks nothing', async () => {
    const { exchange, table } = fakePorts(new FakeService(), () => Promise.reject(new Error('asked')));
    const { patience } = waiting();
    expect(await readAll(table, [], patience)).toEqual([]);
    expect(await putAll(table, [], patience)).toEqual([]);
    await sendAll(exchange, [], patience);
  });
});
