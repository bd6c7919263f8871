// The simulation of lanes of a queue from the command line:
//   npm run sim:lanes                            seeds.json and 2,000 seeds from 1
//   npm run sim:lanes -- --seed N [--trace]      one seed; its trace on request
//   npm run sim:lanes -- --from A --seeds K      a range; `--first-failure` ends it with the first seed that fails
//   … --workers N                                threads, one for each core by default
// A failure prints one line that replays it. Over a range of at least 500 seeds everything in `counts.ts` must have happened, else the range fails.

import { playFromCommandLine } from '../play.ts';
import { LaneCounts, laneHappenings } from './counts.ts';
import { simulate } from './scenario.ts';

await playFromCommandLine({
  script: 'sim:lanes',
  seedsByDefault: 2_000,
  seedsThatShowAll: 500,
  directory: new URL('.', import.meta.url),
  simulate,
  happenings: laneHappenings,
  newCounts: () => new LaneCounts(),
});
