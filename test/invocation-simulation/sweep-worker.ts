// One worker of the sweep: a seed is the number of a pair.

import { answerSeeds } from './seed-worker.ts';
import { allPairs, verdictOn } from './sweep-pairs.ts';

const pairs = allPairs();

answerSeeds(async (number) => verdictOn((await pairs)[number]!));
