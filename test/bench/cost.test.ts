// The counts of `npm run bench:cost` on few records, over what answers in the place of AWS. What needs a million of them is only counted there.

import { describe, expect, test } from 'vitest';
import { plus } from '../../bench/calls/meter.ts';
import { measureArrival, measureCheckpoint, measureRestore } from '../../bench/calls/moments.ts';
import { restoreTarget } from '../../bench/calls/targets.ts';
import { zipfWorkload } from '../../bench/calls/workload.ts';
import { awsStores, inMemory } from '../../bench/cost/aws-stores.ts';
import { billOf, noUsage } from '../../bench/cost/bill.ts';
import { runByHand, type Way } from '../../bench/cost/by-hand.ts';
import { putUnits, queueUnits, readUnits, sizeOf, writeUnits } from '../../bench/cost/cloud/sizes.ts';
import { measureIdle } from '../../bench/cost/idle.ts';
import { runJob } from '../../bench/cost/job-run.ts';
import { arrivalLine, checkpointLines, idleLines, streamLine, totalLines, warmLine } from '../../bench/cost/lines.ts';
import type { TargetLine } from '../../bench/report.ts';

const stores = awsStores(inMemory);
const missed = (lines: readonly TargetLine[]): readonly TargetLine[] => lines.filter(({ isMet }) => !isMet);
const size = { records: 8_000, keys: 100 };
const workload = zipfWorkload({ records: 3_000, keys: 100, shards: 4, valueBytes: 100 });

describe('units', () => {
  test('count names and values of an item', () => {
    expect(sizeOf({ p: { S: 'r0/0-0' }, n: { N: '1234' }, b: { B: new Uint8Array(100) } })).toBe(7 + 4 + 101);
    expect(sizeOf({ é: { BOOL: true }, l: { L: [{ S: 'ab' }] }, m: { M: { k: { NULL: true } } } })).toBe(3 + 7 + 7);
  });

  test('are begun KB of the larger of old and new, begun 4 KB of a read, begun 64 KB of a message, begun 25 KB of a record in a stream', () => {
    const item = (bytes: number) => ({ b: { B: new Uint8Array(bytes) } });
    expect([writeUnits(undefined, item(1_023)), writeUnits(item(1_024), item(1)), writeUnits(undefined, undefined)]).toEqual([1, 2, 1]);
    expect([readUnits(0), readUnits(4_096), readUnits(4_097)]).toEqual([1, 1, 2]);
    expect([queueUnits(0), queueUnits(65_537)]).toEqual([1, 2]);
    expect([putUnits(1), putUnits(25_600), putUnits(25_601)]).toEqual([1, 1, 2]);
  });
});

describe('by hand', () => {
  test('a record is one write, three with Powertools, and less than one when a batch is taken together', async () => {
    const units = async (way: Way) => {
      const { writeUnits: all, records } = await runByHand(way, 100, workload);
      return all / records;
    };
    expect(await units('a')).toBe(1);
    expect(await units('b')).toBe(3);
    expect(await units('c')).toBeLessThan(0.7);
  });
});

async function byHand(batch: number): Promise<Parameters<typeof totalLines>[1]> {
  const { records, writeUnits: units, use } = await runByHand('a', batch, workload);
  return { usdPerRecord: billOf({ ...noUsage, writeUnits: units, functions: use }).usd / records, unitsPerRecord: units / records };
}

describe.each([100, 1_000])('batches of %i records', (batch) => {
  test('without an exchange are one write where everything is warm, and cost what is promised', async () => {
    const run = await runJob({ stages: 1, batch, placement: 'affinity', ...size });
    expect(missed([warmLine(run), ...totalLines(run, await byHand(batch))])).toEqual([]);
  });

  test('placed at random ask a new environment for what is promised', async () => {
    const run = await runJob({ stages: 1, batch, placement: 'random', ...size });
    expect(missed([arrivalLine('random', run.arrivals), ...totalLines(run, await byHand(batch))])).toEqual([]);
  });

  test('with an exchange cost what is promised', async () => {
    const run = await runJob({ stages: 2, batch, placement: 'affinity', ...size });
    expect(missed(totalLines(run, await byHand(batch)))).toEqual([]);
    expect(run.steady.units.send.queueUnits).toBeGreaterThan(0);
  });

  test('with an exchange in a stream send the same messages, which are paid by 25 KB, and shards by the hour apart', async () => {
    const run = await runJob({ stages: 2, batch, placement: 'affinity', exchange: 'kinesis', ...size });
    const { send } = run.steady.units;
    expect(send.putUnits).toBeGreaterThanOrEqual(send.items);
    expect([send.queueUnits, run.steady.polls.receive.requests]).toEqual([0, 0]);
    expect(run.bill.lines.filter(({ service }) => service === 'SQS' || service === 'Kinesis').map(({ quantity }) => quantity)).toEqual([
      plus(run.steady.units, run.steady.coordinator).send.putUnits,
    ]);
    expect(run.shards.hours).toBeCloseTo((4 * run.steady.seconds) / 3_600);
    expect(streamLine(run, await byHand(batch)).target).toBe('no target');
  });

  test('with rows cost the same besides the writes of the rows', async () => {
    const run = await runJob({ stages: 1, batch, placement: 'affinity', writesRows: true, ...size });
    expect(missed(totalLines(run, await byHand(batch)))).toEqual([]);
    expect(run.rows.writeUnits).toBeGreaterThan(0);
  });
});

describe('at the boundary of the SDK', () => {
  test('an environment that knows nothing asks for the job item twice, the ring, and its keys', async () => {
    expect(missed([arrivalLine('half a ring', await measureArrival(100, { records: 12_000, ringSlots: 64, stores }))])).toEqual([]);
  });

  test.each([
    [1, 'same environment'],
    [1, 'new environment'],
    [2, 'same environment'],
    [2, 'new environment'],
  ] as const)('a checkpoint of %i stages in the %s costs what is promised, whatever the number of keys', async (stages, where) => {
    const costs = [];
    for (const keys of [1_000, 6_000]) costs.push(await measureCheckpoint({ stages, keys, ringSlots: 64, where, stores }));
    expect(missed(checkpointLines(costs))).toEqual([]);
  });

  test.each([1, 2] as const)('a restore of %i stages costs what is promised, and reads no state', async (stages) => {
    expect(missed([restoreTarget(await measureRestore({ stages, keys: 6_000, ringSlots: 64, stores }))])).toEqual([]);
  });

  test('a job that has nothing to do takes no checkpoint, writes nothing and calls nobody', async () => {
    for (const stages of [1, 2] as const) expect(missed(idleLines(await measureIdle({ stages, stores })))).toEqual([]);
  });
});
