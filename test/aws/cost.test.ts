// What answers in the place of AWS in `npm run bench:cost` answers like the emulator, to every command of a small job.
import { expect, inject, test } from 'vitest';
import { besideEmulator } from '../../bench/cost/beside-emulator.ts';

test('the stand-in of the cost bench gives the answers and the counts of an emulator', async () => {
  const { endpoint, variables } = inject('emulator');
  Object.assign(process.env, variables);
  const { requests, differences, unequal } = await besideEmulator(endpoint);
  expect({ differences, unequal }).toEqual({ differences: [], unequal: [] });
  expect(requests).toBeGreaterThan(1_000);
});
