// One worker of the sweep: the number of a pair comes in, a verdict goes out.

import { parentPort } from 'node:worker_threads';
import { allPairs, verdictOn } from './sweep-pairs.ts';
import { noOutcome } from './verdict.ts';

const pairs = allPairs();

parentPort!.on('message', (number: number) => {
  pairs
    .then(async (all) => ({ ...(await verdictOn(all[number]!)), seed: number }))
    .then(
      (verdict) => parentPort!.postMessage(verdict),
      (e: unknown) => parentPort!.postMessage(noOutcome(number, `the sweep itself failed: ${e instanceof Error ? e.stack : String(e)}`)),
    );
});
