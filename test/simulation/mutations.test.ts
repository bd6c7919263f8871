// Mutations name rules of the product by their text. Whoever moves a rule learns here, and not in a long scan, that its mutation has to follow.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { breakTable } from './break-table.ts';
import { listedBreaks, standIns } from './model-breaks.ts';
import { type Catcher, patched } from './mutation.ts';
import { hasNeither, root, simulations } from './mutation-lists.ts';

const read = (file: string): string => readFileSync(join(root, 'lib', file), 'utf8');

/** Whether what a reason names is there at all; whether it notices is shown by `npm run sim:mutations`. */
function isThere(catcher: Catcher): boolean {
  if ('of' in catcher)
    return simulations.some(({ of, mutations }) => of === catcher.of && mutations.some(({ name }) => name === catcher.rule));
  return readFileSync(join(root, catcher.file), 'utf8').includes(catcher.title);
}

describe.each(simulations)('mutations of the simulation called $of', (simulation) => {
  const { mutations, seeds, reasons } = simulation;

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

  test('each has a seed that noticed, or a reason', () => {
    // Of one process nothing is written down: its rules are looked for from seed 1 on, and the first few notice.
    if (Object.keys(seeds).length > 0)
      expect(mutations.filter(({ name }) => hasNeither(simulation, name)).map(({ name }) => name)).toEqual([]);
    expect(Object.keys(reasons).filter((name) => seeds[name] !== undefined)).toEqual([]);
  });
});

describe('what the models break', () => {
  const names = new Set(simulations.flatMap(({ mutations }) => mutations.map(({ name }) => name)));

  test('has a twin among the mutations, or a written reason', () => {
    expect(listedBreaks).toHaveLength(79);
    const twins = listedBreaks.map(({ name }) => standIns[name] ?? { mutation: name });
    expect(twins.filter(({ mutation }) => mutation !== undefined && !names.has(mutation))).toEqual([]);
    expect(Object.keys(standIns).filter((name) => names.has(name) || !listedBreaks.some((one) => one.name === name))).toEqual([]);
  });

  test('names every mutation of a model', () => {
    const listed = new Set(listedBreaks.map(({ name }) => name));
    expect([...names].filter((name) => /^[PERX] /.test(name) && !listed.has(name))).toEqual([]);
  });

  test('is in docs/mutations.md; `npm run sim:mutations -- --table` prints it anew', () => {
    // What notices may be found anew at any time: the page follows when the lists are closed.
    const rules = (lines: readonly string[]): readonly string[] => lines.map((line) => line.split(' | ').slice(0, 3).join(' | '));
    const page = readFileSync(join(root, 'docs/mutations.md'), 'utf8').split('\n');
    expect(rules(page.filter((line) => line.startsWith('|')))).toEqual(rules(breakTable()));
  });
});
