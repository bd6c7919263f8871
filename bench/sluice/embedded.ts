// embedded.ts runs a job in this process on the real file system, with checkpoints in a directory that is gone afterwards.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { runJob } from '../../lib/adapters/embedded/run.ts';
import type { RunEvent, RunResult } from '../../lib/adapters/embedded/run-types.ts';
import { embeddedPorts } from '../../lib/cli/ports.ts';
import type { Job } from '../../lib/index.ts';

export interface EmbeddedRun {
  readonly result: RunResult;
  /** User and system time of the whole process, all threads, from the call of the runner to its return. */
  readonly cpuSeconds: number;
  readonly checkpoints: readonly { readonly durationMs: number; readonly bytes: number }[];
  readonly failedCheckpoints: number;
}

/** `params` get one more: `checkpoints`, the URI of the directory that is made for this run. */
export async function runEmbedded(job: Job, params: Readonly<Record<string, string>>): Promise<EmbeddedRun> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const checkpoints: { durationMs: number; bytes: number }[] = [];
  let failedCheckpoints = 0;
  const report = (event: RunEvent): void => {
    if (event.kind === 'checkpoint-completed') checkpoints.push({ durationMs: event.durationMs, bytes: event.bytes });
    if (event.kind === 'checkpoint-failed') failedCheckpoints++;
    if (event.kind === 'restarting') throw new Error('the job failed; a restarted run measures nothing', { cause: event.error });
  };
  try {
    globalThis.gc?.();
    const cpuBefore = process.cpuUsage();
    const result = await runJob(embeddedPorts(), {
      job,
      params: new Map(Object.entries({ ...params, checkpoints: pathToFileURL(directory).href })),
      global: { checkpointsDirectory: directory },
      workingDirectory: directory,
      print: () => {},
      report,
      owner: String(process.pid),
    });
    const { user, system } = process.cpuUsage(cpuBefore);
    return { result, cpuSeconds: (user + system) / 1e6, checkpoints, failedCheckpoints };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
