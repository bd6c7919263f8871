// Rules of lanes that no seed can notice to be gone, and what notices instead. A rule has a seed in mutation-seeds.json, or it is here.

import type { Reasons } from '../../simulation/mutation.ts';

export const reasons: Reasons = {
  'one chain': {
    caughtBy: {
      file: 'test/unit/invocation/lane/lane-memory.test.ts',
      title: 'M3: a segment of one’s own is forgotten when an entry names that of another writer',
    },
    why: 'Who stored a segment and lost its append has to catch up, in the same environment, with a rival that stored more, and to commit before it stores again.',
  },
};
