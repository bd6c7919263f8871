// What needs the code of the job: state by key, dead letters, transactions.

import { queryHandler } from 'sluice/aws';
import * as module from 'sluice-job';

export const handler = queryHandler(module);
