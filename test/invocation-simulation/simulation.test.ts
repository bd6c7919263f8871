// The part of the simulation of the invocation runtime that every test run does: seeds that ever failed, a small range, and that a seed is one run for
// ever. The long range is `npm run sim:invocations`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Outcome, simulate } from './scenario.ts';

const known = JSON.parse(readFileSync(join(import.meta.dirname, 'seeds.json'), 'utf8')) as number[];
const replay = (o: Outcome): readonly string[] =>
  o.failures.length === 0 ? [] : [`npm run sim:invocations -- --seed ${o.seed}: ${o.failures.join('; ')}`];

describe('the invocation runtime in a world of faults', () => {
  test('holds for every seed that ever failed', { timeout: 300_000 }, async () => {
    for (const seed of known) expect(replay(await simulate(seed))).toEqual([]);
  });

  test('holds for forty seeds', { timeout: 300_000 }, async () => {
    const failures: string[] = [];
    for (let seed = 20_001; seed <= 20_040; seed++) failures.push(...replay(await simulate(seed)));
    expect(failures).toEqual([]);
  });

  test('does the same again for the same seed, step by step', { timeout: 120_000 }, async () => {
    for (const seed of [3, 8, 20_007]) {
      const first = await simulate(seed, { keepTrace: true });
      const second = await simulate(seed, { keepTrace: true });
      expect(second.trace).toEqual(first.trace);
      expect(second.traceHash).toBe(first.traceHash);
    }
  });
});
