// The part of the simulation that every test run does: seeds that ever failed, a small range, and that a seed is one run for ever. The long range
// is `npm run sim`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultKinds } from '../../lib/testing/index.ts';
import { type Outcome, simulate } from './scenario.ts';

const known = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
const replay = (o: Outcome): readonly string[] =>
  o.failures.length === 0 ? [] : [`npm run sim -- --seed ${o.seed}: ${o.failures.join('; ')}`];

describe('the engine in a world of faults', () => {
  test('holds for every seed that ever failed', async () => {
    for (const seed of known) expect(replay(await simulate(seed))).toEqual([]);
  });

  test('holds for two hundred seeds, in which every kind of fault strikes', { timeout: 300_000 }, async () => {
    const struck = new Set<string>();
    const failures: string[] = [];
    for (let seed = 10_001; seed <= 10_200; seed++) {
      const outcome = await simulate(seed);
      failures.push(...replay(outcome));
      for (const kind of outcome.struck) struck.add(kind);
    }
    expect(failures).toEqual([]);
    expect(faultKinds.filter((k) => !struck.has(k))).toEqual([]);
  });

  test('does the same again for the same seed, step by step', async () => {
    for (const seed of [3, 8, 10_007]) {
      const first = await simulate(seed, { keepTrace: true });
      const second = await simulate(seed, { keepTrace: true });
      expect(second.trace).toEqual(first.trace);
      expect(second.traceHash).toBe(first.traceHash);
    }
  });
});
