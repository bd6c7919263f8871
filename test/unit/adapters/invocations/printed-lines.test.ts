import { describe, expect, test } from 'vitest';
import { PrintedLines } from '../../../../lib/adapters/invocations/printed-lines.ts';

const at = (n: number, index: number, more: { readonly subtask?: string; readonly generation?: number } = {}) => ({
  sink: 'out',
  subtask: '1-0',
  generation: 0,
  n,
  index,
  ...more,
});

describe('what is printed', () => {
  test('is printed once, however often its entry is delivered', () => {
    const lines = new PrintedLines();
    const places = [at(1, 0), at(1, 1), at(1, 0), at(1, 1), at(1, 2), at(2, 0), at(1, 2), at(2, 0), at(2, 1)];
    expect(places.map((place) => lines.isNews(place))).toEqual([true, true, false, false, true, true, false, false, true]);
  });

  test('of other subtasks is other news', () => {
    const lines = new PrintedLines();
    expect([lines.isNews(at(5, 0)), lines.isNews(at(1, 0, { subtask: '1-1' }))]).toEqual([true, true]);
  });

  test('comes again when a restore has worked it out again, and not from who slept through it', () => {
    const lines = new PrintedLines();
    const places = [at(5, 0), at(1, 0, { generation: 1 }), at(6, 0)];
    expect(places.map((place) => lines.isNews(place))).toEqual([true, true, false]);
  });

  test('is always news when nobody can place it', () => {
    const lines = new PrintedLines();
    expect([lines.isNews(undefined), lines.isNews(undefined)]).toEqual([true, true]);
  });
});
