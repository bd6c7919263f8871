// Gives up what subtasks hold open: of an attempt that failed or was cancelled, and of one that did not even get together.

import type { OperatorHost } from '../../runtime/host.ts';
import type { SinkDriver } from './sink-driver.ts';
import type { SourceDriver } from './source-driver.ts';

export interface Discardable {
  readonly host: OperatorHost;
  readonly sinks: ReadonlyMap<number, SinkDriver>;
  readonly source: SourceDriver | undefined;
}

/** Never rejects: whoever calls it has an error already, and the first one is the one to tell. */
export async function discardAll(subtasks: Iterable<Discardable>): Promise<void> {
  for (const { host, sinks, source } of subtasks) {
    for (const sink of sinks.values()) await ignoreFailure(() => sink.discard());
    await ignoreFailure(() => source?.close());
    await ignoreFailure(() => host.close());
  }
}

async function ignoreFailure(f: () => unknown): Promise<void> {
  try {
    await f();
  } catch {
    // See above.
  }
}
