// The worker of a range of seeds: a seed comes in, a verdict goes out.

import { parentPort } from 'node:worker_threads';
import { noOutcome, type Verdict } from './verdict.ts';

/** @param verdictOn  what it gives besides the verdict is for readers of a single seed, and stays here */
export function answerSeeds(verdictOn: (seed: number) => Promise<Verdict>): void {
  parentPort!.on('message', (seed: number) => {
    verdictOn(seed).then(
      ({ failures, traceHash, steps, ending, counts }) => parentPort!.postMessage({ seed, failures, traceHash, steps, ending, counts }),
      (e: unknown) => parentPort!.postMessage(noOutcome(seed, `the simulator itself failed: ${e instanceof Error ? e.stack : String(e)}`)),
    );
  });
}
