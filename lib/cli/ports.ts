// The one place where the command line chooses adapters: the local disk, the system's clock and chance, and a fair scheduler.
import { nodeByteStreams } from '../adapters/embedded/node-byte-streams.ts';
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import type { EmbeddedPorts } from '../adapters/embedded/run-types.ts';
import { systemClock, systemRandom } from '../adapters/embedded/system-clock.ts';
import { systemScheduler } from '../adapters/embedded/system-scheduler.ts';
import { openKeyedStore } from './aws/services.ts';

export function embeddedPorts(): EmbeddedPorts {
  return {
    files: nodeFileSystem,
    clock: systemClock,
    scheduler: systemScheduler(),
    random: systemRandom,
    streams: nodeByteStreams,
    openKeyedStore,
  };
}

/** How a run names itself to whoever is refused because of it. */
export function ownerOfProcess(pid: number): string {
  return `process ${pid}`;
}

/** The process id in what `ownerOfProcess` gave. */
export function pidOfOwner(owner: string | undefined): number | undefined {
  const digits = /^process ([1-9][0-9]*)$/.exec(owner ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
