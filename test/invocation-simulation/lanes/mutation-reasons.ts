// Rules of lanes that no seed can notice to be gone, and what notices instead. A rule has a seed in mutation-seeds.json, or it is here.

import type { Reasons } from '../../simulation/mutation.ts';

export const reasons: Reasons = {};
