import { describe, expect, test } from 'vitest';
import { OutputTag } from '../../../lib/api/functions.ts';
import {
  aggregatingState,
  foldingState,
  isStateDescriptor,
  listState,
  mapState,
  reducingState,
  valueState,
} from '../../../lib/api/state.ts';
import { average } from '../../../lib/operators/aggregates.ts';
import { refusal } from './building.ts';

describe('a state descriptor', () => {
  test('says all that the state layer needs, and cannot be changed', () => {
    const migrate = (old: unknown): number => Number(old);
    const value = valueState<number>({ default: () => 1, name: 'n', version: 2, migrate });
    expect(value).toMatchObject({ kind: 'value', name: 'n', version: 2, ttl: undefined, migrate });
    expect(value.kind === 'value' && value.default?.()).toBe(1);
    expect(() => Object.assign(value, { version: 3 })).toThrow(TypeError);
    expect(
      [listState(), mapState(), reducingState(Math.max), aggregatingState(average()), foldingState(0, (n: number) => n)].map(
        ({ kind, version }) => [kind, version],
      ),
    ).toEqual(['list', 'map', 'reducing', 'aggregating', 'folding'].map((kind) => [kind, 0]));
  });

  test('takes a time-to-live apart', () => {
    expect(valueState({ ttl: { duration: '30 d' } }).ttl).toEqual({
      durationMs: 2_592_000_000,
      updateType: 'OnCreateAndWrite',
      visibility: 'NeverReturnExpired',
    });
  });

  test('is recognised by what it says, not by who made it', () => {
    expect([
      isStateDescriptor({ ...valueState() }),
      isStateDescriptor({ kind: 'value' }),
      isStateDescriptor(null),
      isStateDescriptor({ kind: 'x', version: 0 }),
    ]).toEqual([true, false, false, false]);
  });

  test.each([
    ['an unknown option', () => listState({ nme: 'x' } as never), 'OPTION_UNKNOWN', "'name'"],
    ['a default where there is none', () => listState({ default: () => [] } as never), 'OPTION_UNKNOWN', 'default'],
    ['a default that is a value', () => valueState({ default: 1 } as never), 'OPTION_INVALID', 'function'],
    ['an empty name', () => mapState({ name: '' }), 'OPTION_INVALID', 'name'],
    ['half a version', () => mapState({ version: 0.5 }), 'OPTION_INVALID', 'version'],
    ['a time-to-live of 0', () => valueState({ ttl: { duration: 0 } }), 'OPTION_INVALID', 'ttl.duration'],
    [
      'a misspelled part of a time-to-live',
      () => valueState({ ttl: { duration: '1 s', updatetype: 'OnReadAndWrite' } as never }),
      'OPTION_UNKNOWN',
      "'updateType'",
    ],
    ['another update type', () => valueState({ ttl: { duration: '1 s', updateType: 'Never' as never } }), 'OPTION_INVALID', 'updateType'],
    ['no function to reduce by', () => reducingState(undefined as never), 'OPTION_INVALID', 'reduce'],
    ['an aggregate that cannot merge', () => aggregatingState({ ...average(), merge: undefined } as never), 'OPTION_INVALID', 'merge'],
    ['no function to fold by', () => foldingState(0, undefined as never), 'OPTION_INVALID', 'fold'],
  ])('refuses %s', (_what, call, code, words) => {
    const error = refusal(call);
    expect(error.code).toBe(code);
    expect(error.message).toContain(words);
  });
});

test('an output tag has a name', () => {
  expect(new OutputTag('late').id).toBe('late');
  expect(refusal(() => new OutputTag('')).code).toBe('OPTION_INVALID');
});
