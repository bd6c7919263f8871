// One worker of the simulation: a seed comes in, a verdict goes out.

import { parentPort } from 'node:worker_threads';
import { simulate } from './scenario.ts';
import { noOutcome } from './verdict.ts';

parentPort!.on('message', (seed: number) => {
  simulate(seed).then(
    ({ trace: _trace, told: _told, ...verdict }) => parentPort!.postMessage(verdict),
    (e: unknown) => parentPort!.postMessage(noOutcome(seed, `the simulator itself failed: ${e instanceof Error ? e.stack : String(e)}`)),
  );
});
