// A stage of the job: what its event source mappings deliver. The control function of the stage runs the same code.
import * as module from 'sluice-job';
import { stageHandler } from '../lib/aws/handlers.ts';

export const handler = stageHandler(module);
