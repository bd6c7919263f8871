// A list of parked records in the parts that a function can answer.
import { describe, expect, it } from 'vitest';
import { lettersAfter, lettersBytesMax } from '../../../lib/aws/letters-answer.ts';
import type { ListedLetter } from '../../../lib/invocation/unit/look.ts';

function letterOf(id: string, bytes: number): ListedLetter {
  const error = { code: 'MALFORMED_RECORD', message: 'no JSON' };
  const facts = { operator: 'clicks', error, place: 'lane-0', record: id, generation: 0, n: 1, atMs: 0, isExcerpt: false };
  return { subtask: '0-0', id, letter: { ...facts, batch: { values: ['x'.repeat(bytes)] } } as unknown as ListedLetter['letter'] };
}

const lengthOf = ({ value }: Readonly<Record<string, unknown>>): number => String(value).length;

/** Ids of each part, as whoever asks until there is no next one gets them. */
function partsOf(all: readonly ListedLetter[]): readonly (readonly unknown[])[] {
  const parts: (readonly unknown[])[] = [];
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const { letters, next } = lettersAfter(all, after);
    parts.push(letters.map(({ letter }) => letter));
    after = next;
  }
  return parts;
}

describe('letters', () => {
  it('are one part while they fit, also when there is none', () => {
    expect(partsOf([])).toEqual([[]]);
    expect(partsOf([letterOf('a', 10), letterOf('b', 10)])).toEqual([['a', 'b']]);
  });

  it('that are too many for an answer come in parts, each once', () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((id) => letterOf(id, 2_000_000));
    expect(partsOf(all)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('of which one alone is too large, are told with an excerpt of it', () => {
    const all = [letterOf('a', 10), letterOf('b', lettersBytesMax), letterOf('c', 10)];
    expect(partsOf(all)).toEqual([['a'], ['b'], ['c']]);
    const [large] = lettersAfter(all, 'a').letters;
    expect(large).toMatchObject({ isExcerpt: true });
    expect(lengthOf(large!)).toBeLessThan(1_000);
  });
});
