import { describe, expect, test } from 'vitest';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import { listedOrigins } from '../../../../lib/core/origins.ts';
import {
  type DeadLetter,
  decodeLetter,
  encodeLetter,
  letterAddress,
  lettersAddress,
  parkingWrite,
  redrivenWrite,
} from '../../../../lib/invocation/poison/dead-letters.ts';

function letterOf(value: unknown): DeadLetter {
  const batch: RecordBatch = { values: [value], count: 1, keys: ['k'], timestamps: [5], origins: listedOrigins(['in/all/7']) };
  return {
    operator: 'count',
    error: { code: 'USER_FUNCTION_FAILED', message: 'no' },
    place: 'in/all',
    record: '7',
    input: 1,
    generation: 2,
    n: 40,
    atMs: 1_000,
    isExcerpt: false,
    batch,
  };
}

const letter = letterOf({ id: 7, big: 7n });

describe('a dead letter', () => {
  test('comes back as it was', () => {
    const { batch, ...facts } = decodeLetter(encodeLetter(letter));
    const { batch: original, ...originalFacts } = letter;
    expect(facts).toEqual(originalFacts);
    expect({ ...batch, origins: batch.origins?.at(0) }).toEqual({ ...original, origins: 'in/all/7' });
  });

  test('L1: lies where its record always lies, in the state of its subtask', () => {
    const { address } = parkingWrite('0-1', letter);
    expect(address).toEqual({ operator: '#dead-letters', state: '0-1', key: '', sub: 'in/all/7' });
    expect(address).toEqual(letterAddress('0-1', 'in/all/7'));
    expect(lettersAddress('0-1')).toEqual({ ...address, sub: '' });
  });

  test('of a value that cannot be stored shows it', () => {
    const stored = decodeLetter(encodeLetter(letterOf({ id: 7, secret: Symbol('s') })));
    expect(stored).toMatchObject({ isExcerpt: true, batch: { values: ['{"id":7}'] } });
  });

  test.each([
    ['a later version', 0xf0, /later|newer/i],
    ['something else', 0, /damaged|dead letter/i],
  ])('written by %s is refused', (_, format, message) => {
    const bytes = encodeLetter(letter);
    bytes[0] = format;
    expect(() => decodeLetter(bytes)).toThrow(message);
  });
});

describe('L2: a redrive', () => {
  test('takes the letter away', () => {
    expect(redrivenWrite('0-1', 'in/all/7')).toEqual({ address: letterAddress('0-1', 'in/all/7'), value: undefined });
  });
});
