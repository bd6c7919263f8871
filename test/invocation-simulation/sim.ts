// The simulation of the invocation runtime from the command line:
//   npm run sim:invocations                            seeds.json and 3,000 seeds from 1
//   npm run sim:invocations -- --seed N [--trace]      one seed; its trace on request
//   npm run sim:invocations -- --from A --seeds K      a range; `--first-failure` ends it with the first seed that fails
//   … --workers N                                      threads, one for each core by default
// A failure prints one line that replays it. Over a range of at least 3,000 seeds everything in `counts.ts` must have happened, else the range fails.

import { Counts, happenings } from './counts.ts';
import { playFromCommandLine } from './play.ts';
import { simulate } from './scenario.ts';

await playFromCommandLine({
  script: 'sim:invocations',
  seedsByDefault: 3_000,
  // Ambushes lie behind the first thousand, twists behind the second one.
  seedsThatShowAll: 3_000,
  directory: new URL('.', import.meta.url),
  simulate,
  happenings,
  newCounts: () => new Counts(),
});
