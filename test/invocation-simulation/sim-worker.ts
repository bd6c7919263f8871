// One worker of the simulation.

import { simulate } from './scenario.ts';
import { answerSeeds } from './seed-worker.ts';

answerSeeds(simulate);
