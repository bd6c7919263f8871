// What needs the code of the job: state by key, dead letters, transactions.
import * as module from 'sluice-job';
import { queryHandler } from '../lib/aws/handlers.ts';

export const handler = queryHandler(module);
