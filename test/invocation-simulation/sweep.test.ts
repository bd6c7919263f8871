// The part of the sweep that every test run does. All of it is `npm run sim:sweep`.

import { describe, expect, test } from 'vitest';
import { sweepFaults } from './sweep-fault.ts';
import { sweepJobs } from './sweep-jobs.ts';
import { allPairs, pointsOf, replayOf, verdictOn } from './sweep-pairs.ts';

const every = 101;
const methods = [
  ...['create', 'get', 'overwrite', 'put', 'putDuring', 'readPage'].map((name) => `changelog.${name}`),
  ...['get', 'list', 'put', 'remove'].map((name) => `items.${name}`),
  ...['get', 'list', 'putIfAbsent', 'remove'].map((name) => `objects.${name}`),
  ...['putMany', 'readMany', 'readPartition'].map((name) => `table.${name}`),
  ...['abort', 'commit', 'log', 'prepare', 'upsert'].map((name) => `target.${name}`),
  'exchange.send',
  'control.invoke',
  'source.read',
];

describe('one fault at one request', () => {
  test.each(sweepJobs.map(({ title }, i) => ({ title, job: i + 1 })))('has the points of an undisturbed run: $title', async ({ job }) => {
    const { points, failures } = await pointsOf(job);
    expect(failures).toEqual([]);
    expect(points.length).toBeGreaterThanOrEqual(sweepJobs[job - 1]!.pointsMin);
  });

  test('strikes in a few thousand pairs, at every method of the ports that a job comes to', async () => {
    const pairs = await allPairs();
    expect(pairs.length).toBeGreaterThan(4_000);
    const all = (await Promise.all(sweepJobs.map((_, i) => pointsOf(i + 1)))).flatMap(({ points }) => points);
    expect([...new Set(all.map(({ method }) => method))]).toEqual(expect.arrayContaining(methods));
  });

  test.each(sweepFaults)('%s: harms nothing wherever it strikes', async (fault) => {
    const pairs = (await allPairs()).filter((pair) => pair.fault === fault);
    const chosen = pairs.filter((_, i) => i % every === sweepFaults.indexOf(fault));
    expect(chosen.length).toBeGreaterThan(0);
    for (const pair of chosen)
      expect({ replay: replayOf(pair), failures: (await verdictOn(pair)).failures }).toEqual({ replay: replayOf(pair), failures: [] });
  });

  test('is the same run each time', async () => {
    const pair = { job: 3, point: 100, fault: 'freeze' } as const;
    expect(await verdictOn(pair)).toEqual(await verdictOn(pair));
  });
});
