// The contract of `KeyedStateBackend` as tests: every backend passes them. The test functions are arguments, so that the suite runs under any
// runner; it brings its own assertions. B1 … B4 are the invariants of lib/state/backend.ts.

import type { KeyedStateFactory } from '../../state/backend.ts';
import type { SuiteRunner } from './file-system-suite.ts';
import type { Rule } from './keyed-state-bench.ts';
import { keys, maps } from './keyed-state-keys.ts';
import { concurrentSnapshots, evolution, restores, snapshots, timers } from './keyed-state-snapshots.ts';
import { kindsOfState, ownership } from './keyed-state-values.ts';

export interface StateBackendUnderTest {
  readonly create: KeyedStateFactory;
  /** Removes what the test left. */
  cleanUp?(): Promise<void>;
}

/**
 * Registers the tests of a keyed state backend.
 * @param make  called for each test; `create` may be called several times, and the backends that it gives share nothing
 */
export function stateBackendSuite(name: string, runner: SuiteRunner, make: () => Promise<StateBackendUnderTest>): void {
  const rule: Rule = (title, body) =>
    runner.test(title, async () => {
      const { create, cleanUp } = await make();
      try {
        body(create);
      } finally {
        await cleanUp?.();
      }
    });
  runner.describe(`keyed state: ${name}`, () => {
    kindsOfState(rule);
    ownership(rule);
    maps(rule);
    keys(rule);
    snapshots(rule);
    concurrentSnapshots(rule);
    restores(rule);
    evolution(rule);
    timers(rule);
  });
}
