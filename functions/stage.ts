// A stage of the job: what its event source mappings deliver. The control function of the stage runs the same code.

import { stageHandler } from 'sluice/aws';
import * as module from 'sluice-job';

export const handler = stageHandler(module);
