// Rules that no seed of this simulation can notice to be gone, and what notices instead. A rule has a seed in mutation-seeds.json, or it is here.

import type { Reasons } from '../simulation/mutation.ts';

export const reasons: Reasons = {
  'X first': {
    caughtBy: { of: 'lanes', rule: 'X first' },
    why: 'A split comes again from where it stands, so a marker outlives its record only where a mapping that cannot tell repeats gives it to a warm environment. What follows is a smaller batch, which is right as well; a record parked too soon asks for all its deaths first.',
  },
  'X old': {
    caughtBy: { of: 'lanes', rule: 'X old' },
    why: 'A restore is followed by a replay, which writes no marker and moves the position; the record that was marked comes first again only where there is nothing to replay.',
  },
  'X thrown': {
    caughtBy: { of: 'lanes', rule: 'X thrown' },
    why: 'It takes a record that kills a few times, throws in a run without a marker, and then meets the marker of its last death: of one group after another, as a split has them, too few to park it too soon.',
  },
  'X lane': {
    caughtBy: { of: 'lanes', rule: 'X lane' },
    why: 'The messages of a subtask are one group; splits that share a subtask write over each other’s marker only while records of two of them kill by turns.',
  },
};
