// Mutations name rules of the product by their text. Whoever moves a rule learns here, and not in a long scan, that its mutation has to follow.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutations as ofLanes } from '../invocation-simulation/lanes/mutation-list.ts';
import { mutations as ofInvocations } from '../invocation-simulation/mutation-list.ts';
import { patched } from './mutation.ts';
import { mutations as ofEmbedded } from './mutation-list.ts';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../../lib', file), 'utf8');

describe.each([
  ['the embedded simulation', ofEmbedded],
  ['the simulation of invocations', ofInvocations],
  ['the simulation of lanes', ofLanes],
])('mutations of %s', (_, mutations) => {
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
});
