// One worker of the simulation: a seed comes in, a verdict goes out.

import { parentPort } from 'node:worker_threads';
import { simulate } from './scenario.ts';

parentPort!.on('message', (seed: number) => {
  simulate(seed).then(
    ({ trace: _trace, told: _told, ...verdict }) => parentPort!.postMessage(verdict),
    (e: unknown) =>
      parentPort!.postMessage({
        seed,
        failures: [`the simulator itself failed: ${e instanceof Error ? e.stack : String(e)}`],
        traceHash: 0,
        steps: 0,
        planned: [],
        struck: [],
        runs: 0,
        completed: 0,
        ending: 'stuck',
        rewinds: 0,
        takeOvers: 0,
        rivals: 0,
        mode: '',
      }),
  );
});
