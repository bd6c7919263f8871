// One worker of the simulation of lanes: a seed comes in, a verdict goes out.

import { parentPort } from 'node:worker_threads';
import { noOutcome } from '../verdict.ts';
import { simulate } from './scenario.ts';

parentPort!.on('message', (seed: number) => {
  simulate(seed).then(
    ({ trace: _trace, ...verdict }) => parentPort!.postMessage(verdict),
    (e: unknown) => parentPort!.postMessage(noOutcome(seed, `the simulator itself failed: ${e instanceof Error ? e.stack : String(e)}`)),
  );
});
