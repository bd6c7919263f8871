// The rules of the invocation runtime, each taken out by one patch of the product's text.

import type { Mutation } from '../simulation/mutation.ts';
import { cleanUpMutations } from './clean-up-mutations.ts';
import { exchangeMutations } from './exchange-mutations.ts';
import { outsideMutations } from './outside-mutations.ts';
import { ownerMutations } from './owner-mutations.ts';
import { poisonMutations } from './poison-mutations.ts';
import { productMutations } from './product-mutations.ts';
import { ringMutations } from './ring-mutations.ts';

export const mutations: readonly Mutation[] = [
  ...ringMutations,
  ...exchangeMutations,
  ...outsideMutations,
  ...cleanUpMutations,
  ...ownerMutations,
  ...poisonMutations,
  ...productMutations,
];
