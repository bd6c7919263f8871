// The part of the simulation of lanes that every test run does; see the one of the other scenario. The long range is `npm run sim:lanes`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Outcome, simulate } from './scenario.ts';

const known = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
const replay = (o: Outcome): readonly string[] =>
  o.failures.length === 0 ? [] : [`npm run sim:lanes -- --seed ${o.seed}: ${o.failures.join('; ')}`];

describe('lanes of a queue in a world of faults', () => {
  test('hold for every seed that ever failed', { timeout: 300_000 }, async () => {
    for (const seed of known) expect(replay(await simulate(seed))).toEqual([]);
  });

  test('hold for forty seeds, with order and without', { timeout: 300_000 }, async () => {
    const failures: string[] = [];
    for (let seed = 20_001; seed <= 20_040; seed++) failures.push(...replay(await simulate(seed)));
    expect(failures).toEqual([]);
  });

  test('do the same again for the same seed, step by step', { timeout: 120_000 }, async () => {
    for (const seed of [3, 8, 20_007]) {
      const first = await simulate(seed, { keepTrace: true });
      const second = await simulate(seed, { keepTrace: true });
      expect(second.trace).toEqual(first.trace);
      expect(second.traceHash).toBe(first.traceHash);
    }
  });
});
