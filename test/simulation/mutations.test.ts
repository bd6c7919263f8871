// Mutations name rules of the product by their text. Whoever moves a rule learns here, and not in a long scan, that its mutation has to follow.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutations as ofLanes } from '../invocation-simulation/lanes/mutation-list.ts';
import { reasons as reasonsOfLanes } from '../invocation-simulation/lanes/mutation-reasons.ts';
import { mutations as ofInvocations } from '../invocation-simulation/mutation-list.ts';
import { reasons as reasonsOfInvocations } from '../invocation-simulation/mutation-reasons.ts';
import { type Catcher, patched, type Reasons } from './mutation.ts';
import { mutations as ofEmbedded } from './mutation-list.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, 'lib', file), 'utf8');
const lists = { embedded: ofEmbedded, invocations: ofInvocations, lanes: ofLanes };

/** Whether what a reason names is there at all; whether it notices is shown by `npm run sim:mutations`. */
function isThere(catcher: Catcher): boolean {
  if ('of' in catcher) return lists[catcher.of as keyof typeof lists].some(({ name }) => name === catcher.rule);
  return readFileSync(join(root, catcher.file), 'utf8').includes(catcher.title);
}

const none: Reasons = {};

describe.each([
  ['the embedded simulation', ofEmbedded, none],
  ['the simulation of invocations', ofInvocations, reasonsOfInvocations],
  ['the simulation of lanes', ofLanes, reasonsOfLanes],
])('mutations of %s', (_, mutations, reasons) => {
  test.each(mutations.map((mutation) => [mutation.name, mutation] as const))(
    '%s finds the text of its rule exactly once',
    (_name, mutation) => {
      const changed = [...patched(mutation, read)];
      expect(changed.length).toBeGreaterThan(0);
      for (const [file, text] of changed) expect(text).not.toBe(read(file));
    },
  );

  test('names are unique', () => {
    const names = mutations.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test('a reason is of a rule of the list, and what it names is there', () => {
    const names = new Set(mutations.map(({ name }) => name));
    expect(Object.keys(reasons).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.values(reasons).filter(({ caughtBy }) => !isThere(caughtBy))).toEqual([]);
  });
});
