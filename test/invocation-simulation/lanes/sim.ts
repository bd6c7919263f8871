// The simulation of lanes of a queue: `npm run sim:lanes`, with the options of `../play.ts`; by default seeds.json and 2,000 seeds from 1.

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
