// The simulation of the invocation runtime: `npm run sim:invocations`, with the options of `play.ts`; by default seeds.json and 3,000 seeds from 1.

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
