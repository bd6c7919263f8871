import { expect, test } from 'vitest';
import { nearest } from '../../../lib/core/suggest.ts';

const flags = ['parallelism', 'from', 'take-over', 'runtime', 'json'];

test('the nearest candidate wins: a typing error, a swap of neighbours, another case', () => {
  expect([nearest('paralelism', flags), nearest('form', flags), nearest('TakeOver', flags), nearest('jsno', flags)]).toEqual([
    'parallelism',
    'from',
    'take-over',
    'json',
  ]);
});

test('a word that is far from every candidate suggests nothing', () => {
  expect([nearest('verbose', flags), nearest('x', flags), nearest('', flags), nearest('a', [])]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('the first of two equally near candidates wins, so that the text does not change from run to run', () => {
  expect(nearest('cat', ['bat', 'hat'])).toBe('bat');
});
