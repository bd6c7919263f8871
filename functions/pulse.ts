// One pulse of the coordinator.
import * as module from 'sluice-job';
import { pulseHandler } from '../lib/aws/handlers.ts';

export const handler = pulseHandler(module);
