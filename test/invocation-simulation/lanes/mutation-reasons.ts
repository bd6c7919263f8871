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
  'X thrown': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M2: nor one from before a try that was committed',
    },
    why: 'Runs alone count when their invocation must be over (M6), so that a record is parked too soon only after it has waited for that, and others have passed by then.',
  },
  'X old': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M2: nor does a marker of an older generation count',
    },
    why: 'Runs alone count when their invocation must be over (M6), so that a record is parked too soon only after it has waited for that, and others have passed by then.',
  },
  'X survived': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M4: a process that lives puts back what it found, and after its commit leaves nothing',
    },
    why: 'Runs alone count when their invocation must be over (M6), so that a record is parked too soon only after it has waited for that, and others have passed by then.',
  },
};
