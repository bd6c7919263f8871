// stores.ts is what the job of bench:calls runs on: by default the strict fake, counted at its ports.

import type { Targets } from '../../lib/api/targets.ts';
import type { Clock, Random } from '../../lib/core/ports.ts';
import type { Plan } from '../../lib/graph/plan.ts';
import type { Control } from '../../lib/invocation/control.ts';
import { type InvocationPorts, putManyMax, type StateItem } from '../../lib/invocation/ports.ts';
import { FakeService, fakePorts } from '../../lib/testing/invocation/index.ts';
import { type Meter, meteredPorts, SizeBook } from './meter.ts';

export interface Stores {
  /** Every request of these goes into the meter. */
  ports(meter: Meter): InvocationPorts;
  /** The same, and what the sinks of a unit write to. */
  forUnits(meter: Meter): { readonly ports: InvocationPorts; readonly targets?: Targets | undefined };
  /** Puts items into the state table that nobody has put there, uncounted. */
  fill(items: readonly StateItem[]): Promise<void>;
  /** Every item of the state table. */
  items(): readonly StateItem[];
  /** Told of every put of the job item before it is counted: which change was under way, and which is. */
  onJobItem(listener: (was: string, is: string) => void): void;
  /** One pulse, where it is more than the runtime's own. */
  readonly pulse?: (p: { readonly meter: Meter; readonly control: Control }) => Promise<void>;
}

export interface World {
  readonly plan: Plan;
  readonly clock: Clock;
  readonly random: Random;
}

export type OpenStores = (world: World) => Stores;

export const fakeStores: OpenStores = ({ clock }) => {
  const service = new FakeService({ now: () => clock.now() });
  const book = new SizeBook();
  const ports = (meter: Meter): InvocationPorts => meteredPorts(fakePorts(service), meter, book);
  return {
    ports,
    forUnits: (meter) => ({ ports: ports(meter) }),
    fill: async (items) => {
      for (let from = 0; from < items.length; from += putManyMax)
        service.table.putMany(items.slice(from, from + putManyMax).map((item) => ({ ...item, expects: 'absent' })));
    },
    items: () => service.table.items(),
    onJobItem: (listener) => {
      service.observers.push((change) => {
        if (change.kind === 'item' && change.name === 'job') listener(change.was?.change ?? '', change.content.change);
      });
    },
  };
};
