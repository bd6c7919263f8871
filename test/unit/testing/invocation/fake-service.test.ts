import { describe, expect, test } from 'vitest';
import { FakeService, fakePorts, type ServiceChange } from '../../../../lib/testing/index.ts';

const bytes = (...b: number[]): Uint8Array => new Uint8Array(b);
const ring = { generation: 0, subtask: '1-0' };

describe('the durable world of the invocation runtime', () => {
  test('observers hear of every durable change, with what was there before', async () => {
    const service = new FakeService();
    const heard: ServiceChange[] = [];
    service.observers.push((change) => heard.push(change));
    const ports = fakePorts(service);
    await ports.items.put({ name: 'job', content: { bytes: bytes(1), change: 'c' }, expects: 'absent' });
    await ports.changelog.create({ ring, slot: 0, entry: { n: 0, writer: 'a', bytes: bytes(1) }, change: 'c' });
    await ports.changelog.put({ ring, slot: 0, entry: { n: 8, writer: 'b', bytes: bytes(2) }, expects: 0 });
    await ports.changelog.put({ ring, slot: 0, entry: { n: 8, writer: 'c', bytes: bytes(2) }, expects: 0 });
    await ports.changelog.overwrite({ ring, slot: 0, entry: { n: 9, writer: 'd', bytes: bytes(3) } });
    await ports.changelog.remove(ring);
    const address = { partition: 'p', sort: 's' };
    await ports.table.putMany([{ address, tags: 't', bytes: bytes(1), expects: 'absent', expiresAtMs: 0 }]);
    service.table.expire();
    await ports.objects.putIfAbsent('o', bytes(1));
    await ports.objects.putIfAbsent('o', bytes(2));
    await ports.objects.remove('o');
    await ports.items.remove({ name: 'job', expects: 'any' });
    await ports.exchange.send([{ group: 'g', id: 'i', bytes: bytes(1) }]);
    await ports.exchange.send([{ group: 'g', id: 'i', bytes: bytes(1) }]);
    const [delivery] = await ports.exchange.receive({ max: 1 });
    await ports.exchange.release({ receipts: [delivery!.receipt], delayMs: 0 });
    await ports.exchange.settle([delivery!.receipt]);
    expect(heard.map((c) => ('how' in c ? `${c.kind} ${c.how}` : c.kind))).toEqual([
      'item',
      'entry create',
      'entry put',
      'entry overwrite',
      'ring-removed',
      'state-item',
      'state-item-expired',
      'object',
      'object-removed',
      'item-removed',
      'sent accepted',
      'sent repeat',
      'received',
      'released',
      'settled in-time',
    ]);
    expect(heard[2]).toMatchObject({ entry: { n: 8, writer: 'b' }, was: { n: 0, writer: 'a' } });
    expect(heard[3]).toMatchObject({ was: { n: 8, writer: 'b' } });
  });

  test('each method is one call; what it asks is what it was asked with, however late it happens', async () => {
    const service = new FakeService();
    const late: (() => unknown)[] = [];
    const named: string[] = [];
    const ports = fakePorts(service, (method, place, effect) => {
      named.push(`${method} ${place}`);
      late.push(effect);
      return Promise.reject(new Error('timed out'));
    });
    const buffer = bytes(1, 2, 3);
    await expect(ports.changelog.put({ ring, slot: 4, entry: { n: 4, writer: 'w', bytes: buffer }, expects: 'absent' })).rejects.toThrow();
    expect(service.changelog.slotsOf(ring).size).toBe(0);
    buffer.fill(9);
    for (const effect of late) effect();
    expect(service.changelog.slotsOf(ring).get(4)?.bytes).toEqual(bytes(1, 2, 3));
    expect(named).toEqual(['changelog.put 0/1-0 4']);
  });

  test('what the store may remove goes when it is asked for, not before its time, and never when a later put took that back', () => {
    let now = 1_000;
    const service = new FakeService({ now: () => now });
    const put = (sort: string, tags: string, expects: string, expiresAtMs?: number): void => {
      const item = { address: { partition: 'p', sort }, tags, bytes: bytes(1), expects };
      service.table.putMany([expiresAtMs === undefined ? item : { ...item, expiresAtMs }]);
    };
    put('goes', 't', 'absent', 2_000);
    put('kept', 't', 'absent', 2_000);
    put('kept', 'u', 't');
    service.table.expire();
    expect(service.table.items().length).toBe(2);
    now = 2_000;
    expect(service.table.items().length).toBe(2);
    service.table.expire();
    expect(service.table.items().map((i) => i.address.sort)).toEqual(['kept']);
  });

  test('pages may end early, so that the last one is empty', () => {
    const service = new FakeService({ pageBytes: 1 });
    for (const slot of [0, 1]) service.changelog.overwrite({ ring, slot, entry: { n: slot, writer: 'w', bytes: bytes(1) } });
    expect(service.changelog.readPage({ ring, from: 0, to: 9 })).toMatchObject({ entries: [{ n: 0 }], next: 1 });
    expect(service.changelog.readPage({ ring, from: 1, to: 9 })).toMatchObject({ entries: [{ n: 1 }], next: 2 });
    expect(service.changelog.readPage({ ring, from: 2, to: 9 })).toEqual({ entries: [], next: undefined });
    service.table.putMany([{ address: { partition: 'p', sort: 's' }, tags: 't', bytes: bytes(1), expects: 'absent' }]);
    expect(service.table.readPartition({ partition: 'p', after: undefined }).next).toBe('s');
    expect(service.table.readPartition({ partition: 'p', after: 's' })).toEqual({ items: [], next: undefined });
  });
});

describe('the queue of the fake', () => {
  function queue(hooks: ConstructorParameters<typeof FakeService>[0] = {}) {
    const time = { now: 0 };
    const service = new FakeService({ now: () => time.now, visibilityMs: () => 100, ...hooks });
    const send = (...ids: string[]): void => {
      service.exchange.send(ids.map((id) => ({ group: 'g', id, bytes: bytes(Number(id)) })));
    };
    const receive = (max = 10): readonly number[] => service.exchange.receive({ max }).map((d) => d.bytes[0]!);
    return { service, time, send, receive };
  }

  test('a message in flight may be skipped when the queue is loose, and then a group is out of order', () => {
    const { service, send, receive } = queue();
    send('1', '2');
    expect(receive(1)).toEqual([1]);
    expect(receive()).toEqual([]);
    service.hooks.loose = () => true;
    expect(receive()).toEqual([2]);
  });

  test('a message that was settled long ago may turn up once more, at the end of its group', () => {
    const { service, send, receive } = queue();
    send('1', '2', '3');
    const [first] = service.exchange.receive({ max: 1 });
    service.exchange.settle([first!.receipt]);
    service.hooks.lateDuplicate = () => 0;
    expect(receive()).toEqual([2, 3, 1]);
  });

  test('the receipt of an earlier delivery does nothing, or takes the message out from under the later one', () => {
    for (const works of [false, true]) {
      const { service, time, send } = queue({ staleReceiptWorks: () => works });
      send('1');
      const [early] = service.exchange.receive({ max: 1 });
      time.now = 100;
      const [later] = service.exchange.receive({ max: 1 });
      expect(later?.receives).toBe(2);
      service.exchange.settle([early!.receipt]);
      expect(service.exchange.queued().length).toBe(works ? 0 : 1);
      service.exchange.release({ receipts: [early!.receipt], delayMs: 0 });
      expect(service.exchange.receive({ max: 1 })).toEqual([]);
    }
  });

  test('a message that a batch leaves takes the later ones of its group with it', () => {
    const { service } = queue({ leave: () => [1] });
    const of = (group: string, id: string) => ({ group, id, bytes: bytes(0) });
    const sent = service.exchange.send([of('g', '0'), of('h', '1'), of('g', '2'), of('h', '3')]);
    expect(sent).toEqual({ left: [1, 3] });
    expect(service.exchange.queued().map((m) => m.id)).toEqual(['0', '2']);
  });
});
