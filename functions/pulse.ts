// One pulse of the coordinator.

import { pulseHandler } from 'sluice/aws';
import * as module from 'sluice-job';

export const handler = pulseHandler(module);
