// Environments whose markers are watched: which invocation has put one, whether what it stood for was committed, and what became of it. Some die at
// the worst moments: in front of their append while they are marked, and behind it before they take the marker back.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Invocation } from '../../../lib/invocation/invocation.ts';
import type { InvocationPorts } from '../../../lib/invocation/ports.ts';
import type { Environment } from '../../../lib/invocation/unit/environment.ts';
import { type FakeService, fakePorts, type SimulatedProcess, type World } from '../../../lib/testing/index.ts';
import type { Chaos } from '../chaos.ts';
import type { UnderTest } from '../fleet.ts';
import type { Blame } from './blame.ts';
import type { LaneCounts } from './counts.ts';
import type { Drawn } from './draw.ts';

export interface WatchedOptions {
  readonly world: World;
  readonly service: FakeService;
  readonly chaos: Chaos;
  readonly blame: Blame;
  readonly happened: LaneCounts;
  readonly risk: Drawn['risk'];
  /** The platform ends an invocation that lasts so long, with its process. */
  readonly lifeMs: number;
  readonly tell: (invocation: Invocation) => string;
}

export class WatchedEnvironments {
  readonly #o: WatchedOptions;
  readonly #invocation = new AsyncLocalStorage<string>();
  readonly #underWay = new Map<string, SimulatedProcess>();
  #count = 0;

  constructor(options: WatchedOptions) {
    this.#o = options;
  }

  watch(environment: Environment, process: SimulatedProcess): UnderTest {
    const { blame, world, lifeMs, tell } = this.#o;
    void process.becomes('dead').then(() => {
      for (const [name, of] of this.#underWay) if (of === process) this.#end(name);
    });
    return {
      invoke: (invocation, o) => {
        const name = `invocation ${++this.#count}`;
        this.#underWay.set(name, process);
        world.alarm(lifeMs, () => {
          if (this.#underWay.has(name)) process.lose();
        });
        world.note(`  ${name}: ${tell(invocation)}`);
        return this.#invocation.run(name, async () => {
          try {
            const answer = await environment.invoke(invocation, o);
            if (answer.kind === 'partial' && answer.settled !== undefined) world.note(`  settled ${answer.settled.join(' ')}`);
            return answer;
          } finally {
            this.#underWay.delete(name);
            blame.ended(name);
          }
        });
      },
    };
  }

  ports(process: SimulatedProcess): InvocationPorts {
    const { service, blame, chaos, risk } = this.#o;
    return fakePorts(service, (method, place, effect) => {
      const name = this.#invocation.getStore() ?? 'nobody';
      return process.call(method, place, () => {
        // Behind the exchange an invocation commits several entries, and a marker may be of a later one.
        const isAtRisk = method === 'changelog.put' && blame.isGuarded(name) && isLane(place);
        if (isAtRisk && chaos.happens(risk.before)) return this.#lose(process, 'dies under its marker');
        const result = effect();
        if (place.startsWith('marker/')) this.#meetMarker(name, method, place, result);
        if (!isAtRisk || (result as { readonly kind: string }).kind !== 'stored') return result;
        blame.committed(name);
        if (chaos.happens(risk.after)) return this.#lose(process, 'dies behind its commit');
        return result;
      });
    });
  }

  #end(name: string): void {
    this.#underWay.delete(name);
    this.#o.blame.ended(name);
  }

  #lose(process: SimulatedProcess, how: 'dies under its marker' | 'dies behind its commit'): never {
    this.#o.happened.count(how);
    this.#o.chaos.kill(process, this.#o.world);
    throw new Error('no answer from whoever died');
  }

  #meetMarker(invocation: string, method: string, name: string, result: unknown): void {
    const { blame, happened, service } = this.#o;
    if (method === 'items.put' && (result as { readonly kind: string }).kind === 'stored') {
      happened.count('marker written');
      blame.marked(invocation, name, service.items.get(name)!.bytes, this.#underWay.has(invocation));
    }
    if (method === 'items.remove' && result === 'removed') blame.unmarked(invocation);
  }
}

/** @param place  `<generation>/<subtask> <n>` */
function isLane(place: string): boolean {
  return place.includes('/0-');
}
