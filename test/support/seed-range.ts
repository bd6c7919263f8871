// Plays a range of seeds on worker threads. A seed that gives no verdict for long is ended from outside and counts as failed.

import { Worker } from 'node:worker_threads';

export interface SeedVerdict {
  readonly seed: number;
  readonly failures: readonly string[];
}

export interface SeedRange<V extends SeedVerdict> {
  /** Gets a seed as a message and posts its verdict. */
  readonly worker: URL;
  readonly seeds: readonly number[];
  readonly workers: number;
  readonly isFirstFailureTheLast: boolean;
  /** Real time; the longest seed takes a few seconds. */
  readonly seedMsMax: number;
  /** The verdict on a seed of which nothing was heard. */
  readonly hung: (seed: number) => V;
  readonly onVerdict: (verdict: V, played: number) => void;
}

/** @returns in the order in which they came */
export async function playSeeds<V extends SeedVerdict>(range: SeedRange<V>): Promise<readonly V[]> {
  const verdicts: V[] = [];
  let next = 0;
  await new Promise<void>((resolve, reject) => {
    let busy = 0;
    for (let i = 0; i < range.workers; i++) {
      let worker = new Worker(range.worker);
      let watchdog: NodeJS.Timeout | undefined;
      const give = (): void => {
        clearTimeout(watchdog);
        const seed = range.seeds[next];
        if (seed === undefined) {
          void worker.terminate();
          if (--busy === 0) resolve();
          return;
        }
        next++;
        // Steps are counted by the world; an engine that never gives control back has to be ended from outside.
        watchdog = setTimeout(() => {
          void worker.terminate();
          worker = new Worker(range.worker);
          listen();
          hear(range.hung(seed));
        }, range.seedMsMax);
        worker.postMessage(seed);
      };
      const hear = (verdict: V): void => {
        verdicts.push(verdict);
        if (verdict.failures.length > 0 && range.isFirstFailureTheLast) next = range.seeds.length;
        range.onVerdict(verdict, verdicts.length);
        give();
      };
      const listen = (): void => {
        worker.on('message', hear);
        worker.on('error', reject);
      };
      listen();
      busy++;
      give();
    }
  });
  return verdicts;
}
