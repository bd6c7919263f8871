// What the suites of the ports share: the world under test, and small words for what they write.

import assert from 'node:assert/strict';
import type { Clock } from '../../../core/ports.ts';
import type { Patience } from '../../../invocation/patience.ts';
import type { InvocationPorts, StoredEntry } from '../../../invocation/ports.ts';
import { seededRandom } from '../../seeded-random.ts';
import type { SuiteRunner } from '../../suites/file-system-suite.ts';

/** One durable world, empty, of its own for each test. */
export interface PortsUnderTest {
  readonly ports: InvocationPorts;
  /** The same world from elsewhere: another connection or process. The same object where there is no elsewhere. */
  readonly elsewhere: InvocationPorts;
  /** How long a message that was received is kept from others, and how long the queue remembers an id, ms. */
  readonly visibilityMs: number;
  readonly dedupMs: number;
  /** Comes back when the service has lived this much longer. */
  elapse(ms: number): Promise<void>;
  cleanUp?(): Promise<void>;
}

export type MakePorts = () => Promise<PortsUnderTest>;
export type Rule = (title: string, body: (world: PortsUnderTest) => Promise<void>) => void;

/** Registers the rules of one port, each in a world of its own. */
export function suiteOf(port: string, rules: (rule: Rule) => void): (name: string, runner: SuiteRunner, make: MakePorts) => void {
  return (name, runner, make) =>
    runner.describe(`${port}: ${name}`, () =>
      rules((title, body) =>
        runner.test(title, async () => {
          const world = await make();
          try {
            await body(world);
          } finally {
            await world.cleanUp?.();
          }
        }),
      ),
    );
}

export const text = (s: string): Uint8Array => new TextEncoder().encode(s);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

export function entry(n: number, writer = `w${n}`, bytes: Uint8Array = text(`entry ${n}`)): StoredEntry {
  return { n, writer, bytes };
}

/** What a suite asks again with: any number of times, at once. */
export const atOnce: Patience = {
  clock: { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) } satisfies Clock,
  random: seededRandom(1),
  idleCallsMax: 1_000,
};

/** The service refuses what is over its bounds, and says so by name. */
export async function isRefused(request: Promise<unknown>): Promise<void> {
  await assert.rejects(request, (e) => (e as { readonly code?: unknown }).code === 'STORE_REQUEST_INVALID');
}
