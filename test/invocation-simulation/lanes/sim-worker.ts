// One worker of the simulation of lanes.

import { answerSeeds } from '../seed-worker.ts';
import { simulate } from './scenario.ts';

answerSeeds(simulate);
