// Parked records are large by nature, and Lambda takes 6 MB of an answer: a list of them comes in parts.
import { jsonText } from '../cli/json-text.ts';
import { type ListedLetter, letterFields } from '../invocation/unit/look.ts';
import { excerpt } from '../operators/operator.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Bytes of one part. */
export const lettersBytesMax = 5_000_000;

/**
 * Pure.
 * @param after  id of the letter that the part before ended with; `undefined`: the first part. One that is gone since begins anew.
 * @returns as many as a part holds, one at least, and in `next` the id to go on behind where some are left
 */
export function lettersAfter(
  all: readonly ListedLetter[],
  after: string | undefined,
): { readonly letters: readonly Fields[]; readonly next?: string } {
  const letters: Fields[] = [];
  let bytes = 0;
  let last = '';
  for (const letter of all.slice(all.findIndex(({ id }) => id === after) + 1)) {
    const fields = letterFields(letter);
    const size = Buffer.byteLength(jsonText(fields));
    if (letters.length > 0 && bytes + size > lettersBytesMax) return { letters, next: last };
    letters.push(size > lettersBytesMax ? { ...fields, isExcerpt: true, value: excerpt(fields.value) } : fields);
    bytes += size;
    last = letter.id;
  }
  return { letters };
}
