// The counts of `npm run bench:calls` at a fiftieth of its records. What needs a ring that has gone round is only counted there.

import { describe, expect, test } from 'vitest';
import { Meter, meteredPorts, minus, noCounts, plus, requestsOf, SizeBook } from '../../bench/calls/meter.ts';
import { measureArrival, measureCheckpoint, measureRestore } from '../../bench/calls/moments.ts';
import { measureSteady, totalUnitsPerRecord } from '../../bench/calls/steady.ts';
import { arrivalTarget, checkpointTargets, restoreTarget, warmTargets } from '../../bench/calls/targets.ts';
import { FakeService, fakePorts } from '../../lib/testing/invocation/index.ts';

describe('the meter', () => {
  const ring = { generation: 0, subtask: '0-0' };
  const entry = (n: number, bytes: number) => ({ n, writer: 'w', bytes: new Uint8Array(bytes) });

  function metered(): { meter: Meter; ports: ReturnType<typeof fakePorts> } {
    const meter = new Meter();
    return { meter, ports: meteredPorts(fakePorts(new FakeService({ leave: () => [] })), meter, new SizeBook()) };
  }

  test('charges an append by begun KB, an overwritten entry by the larger one, and a refused one as well', async () => {
    const { meter, ports } = metered();
    await ports.changelog.put({ ring, slot: 0, entry: entry(0, 3_000), expects: 'absent' });
    expect(meter.counts.append).toMatchObject({ requests: 1, writeUnits: 3, refused: 0 });
    await ports.changelog.put({ ring, slot: 0, entry: entry(8, 10), expects: 0 });
    expect(meter.counts.append).toMatchObject({ requests: 2, writeUnits: 6, refused: 0 });
    await ports.changelog.put({ ring, slot: 0, entry: entry(9, 2_000), expects: 'absent' });
    expect(meter.counts.append).toMatchObject({ requests: 3, writeUnits: 8, refused: 1 });
  });

  test('charges strong reads by begun 4 KB, and what is not there as one', async () => {
    const { meter, ports } = metered();
    await ports.changelog.put({ ring, slot: 1, entry: entry(1, 5_000), expects: 'absent' });
    await ports.changelog.get({ ring, slot: 1 });
    await ports.changelog.get({ ring, slot: 2 });
    expect(meter.counts['slot read']).toMatchObject({ requests: 2, readUnits: 3 });
    await ports.table.readMany([
      { partition: 'a', sort: 'b' },
      { partition: 'a', sort: 'c' },
    ]);
    expect(meter.counts['table read']).toMatchObject({ requests: 1, items: 2, readUnits: 2 });
  });

  test('charges an item of the table by the larger one of old and new', async () => {
    const { meter, ports } = metered();
    const put = (tags: string, bytes: number, expects: string) => ({
      address: { partition: 'a', sort: 'b' },
      tags,
      bytes: new Uint8Array(bytes),
      expects,
    });
    await ports.table.putMany([put('1', 1_500, 'absent')]);
    await ports.table.putMany([put('2', 10, '1')]);
    await ports.table.putMany([put('3', 10, '1')]);
    expect(meter.counts['table write']).toMatchObject({ requests: 3, items: 3, writeUnits: 5, refused: 1 });
  });

  test('counts of two moments can be taken apart', async () => {
    const { meter, ports } = metered();
    const before = meter.counts;
    await ports.items.get('job');
    await ports.objects.putIfAbsent('x', new Uint8Array(3));
    const counts = minus(meter.counts, before);
    expect(requestsOf(counts)).toBe(2);
    expect(plus(before, counts)).toEqual(meter.counts);
    expect(requestsOf(noCounts)).toBe(0);
  });
});

describe('at 20,000 records', () => {
  test('a unit in the environment of the one before is one append, and reads nothing once its keys are known', async () => {
    const steady = await measureSteady({ stages: 1, batch: 100, placement: 'affinity', records: 20_000, keys: 100 });
    expect(steady.warm.units).toBeGreaterThan(100);
    expect(warmTargets(steady).filter(({ isMet }) => !isMet)).toEqual([]);
  });

  test('with random placement the same state comes out, no append is lost to a cache that is old, and a record costs no more', async () => {
    const [near, far] = await Promise.all(
      (['affinity', 'random'] as const).map((placement) =>
        measureSteady({ stages: 1, batch: 100, placement, records: 20_000, ringSlots: 64 }),
      ),
    );
    expect(far?.units.append.refused).toBe(0);
    expect(far && near && totalUnitsPerRecord(far.unitsPerRecord) / totalUnitsPerRecord(near.unitsPerRecord)).toBeLessThan(1.1);
  });

  test('two stages give the same state', async () => {
    const steady = await measureSteady({ stages: 2, batch: 100, placement: 'random', records: 20_000 });
    expect(steady.units.send.requests).toBeGreaterThan(0);
  });

  test('a new environment asks for the job item twice, the pages of the ring, and its keys in batches', async () => {
    expect(arrivalTarget(100, await measureArrival(100, { records: 20_000, ringSlots: 64 }))).toMatchObject({ isMet: true });
  });

  test('a checkpoint costs what is promised, whatever the number of keys and wherever it runs', async () => {
    const costs = [];
    for (const stages of [1, 2] as const) {
      for (const where of ['same environment', 'new environment'] as const) {
        for (const keys of [1_000, 20_000]) costs.push(await measureCheckpoint({ stages, keys, ringSlots: 64, where }));
      }
    }
    expect(checkpointTargets(costs).filter(({ isMet }) => !isMet)).toEqual([]);
  });

  test('a restore costs what is promised and reads no state', async () => {
    for (const stages of [1, 2] as const) {
      expect(restoreTarget(await measureRestore({ stages, keys: 20_000, ringSlots: 64 }))).toMatchObject({ isMet: true });
    }
  });
});
