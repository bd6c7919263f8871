// C61: after many checkpoints nobody looks for the newest one. The job item names it, and neither a cold environment nor a restore lists anything to find it.
import { expect, test } from 'vitest';
import { StageAtHome } from '../../lib/aws/at-home.ts';
import type { Deployed } from '../../lib/aws/deployed.ts';
import { defineJob, type Env, idempotentSink } from '../../lib/index.ts';
import { metadataPrefix } from '../../lib/invocation/coordinator/checkpoint-objects.ts';
import type { PulseMemory } from '../../lib/invocation/coordinator/facts.ts';
import { pulse } from '../../lib/invocation/coordinator/pulse.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import { InvocationWorld } from '../support/invocation-world.ts';

const numRetained = 3;

/** Remembers which objects were listed, and how many of checkpoints lay there at most. */
class ListedWorld extends InvocationWorld {
  readonly listed: string[];
  mostStored = 0;
  memory: PulseMemory = { heads: new Map() };
  readonly #stored = new Set<string>();

  constructor(records: number) {
    const listed: string[] = [];
    const job = defineJob('many', (env: Env) => {
      env.enableCheckpointing('1 s', { numRetained });
      env.fromSequence(1, records, { uid: 'in' }).sinkTo(() => idempotentSink({ write: () => Promise.resolve() }), { uid: 'out' });
    });
    super({
      ...{ job, batch: 1 },
      wrap: ({ objects, ...ports }) => ({
        ...ports,
        objects: {
          putIfAbsent: (name, bytes) => objects.putIfAbsent(name, bytes),
          get: (name) => objects.get(name),
          remove: (name) => objects.remove(name),
          list: (prefix) => {
            listed.push(prefix);
            return objects.list(prefix);
          },
        },
      }),
    });
    this.listed = listed;
    this.service.observers.push((change) => {
      if (change.kind === 'object' && change.name.startsWith(metadataPrefix)) this.#stored.add(change.name);
      if (change.kind === 'object-removed') this.#stored.delete(change.name);
      this.mostStored = Math.max(this.mostStored, this.#stored.size);
    });
  }

  /** As a sandbox does, which remembers what it knew. */
  override async pulse(): Promise<void> {
    this.now += 1_000;
    const { ports, plan, clock, random, settler, memory } = this;
    await pulse({ ports, plan, control: { invoke: (i) => this.invoke(i) }, settler, clock, random, memory });
  }

  async newest(): Promise<number> {
    return (await this.item()).completed.at(-1)?.checkpoint ?? 0;
  }

  /** With a record each. */
  async takeCheckpoints(count: number): Promise<void> {
    for (const until = (await this.newest()) + count; (await this.newest()) < until; ) {
      for (let i = 0; i < Math.min(count, 50); i++) {
        await this.feed();
        await this.pulse();
      }
    }
  }

  takeListed(): readonly string[] {
    return this.listed.splice(0);
  }
}

const cycles = 10_000;

test(`C61: after ${cycles} checkpoints a cold environment and a restore list nothing to find the newest, and the bucket holds those that are retained`, async () => {
  const world = new ListedWorld(cycles * 2);
  await world.create();
  await world.takeCheckpoints(cycles);
  // One in sixteen looks for what others have left.
  expect(world.takeListed().length).toBeLessThan(cycles / 8);
  expect(world.mostStored).toBe(numRetained + 1);

  world.environments[0] = world.newEnvironment();
  await world.feed();
  expect(world.takeListed()).toEqual([]);

  // What a function looks for first is whether its table is the one that the bucket knows: a list of what is retained.
  const settings = { table: 'many', job: 'many' };
  await new StageAtHome().check({ ports: world.ports, settings } as Deployed);
  expect(world.takeListed()).toEqual([metadataPrefix]);

  const newest = await world.newest();
  expect(await startRestore(world.ports, 'latest')).toMatchObject({ kind: 'marked' });
  expect(world.takeListed()).toEqual([]);
  world.memory = { heads: new Map() };
  await world.pulse();
  expect((await world.item()).restores.at(-1)).toMatchObject({ checkpoint: newest });
  // All that is left is to clean up: checkpoints that ended, and what lies under the rings of the generation that is over.
  expect(new Set(world.takeListed().filter((prefix) => !/^[a-z-]+\/0\/0-0\/$/.test(prefix)))).toEqual(new Set([metadataPrefix]));
  await world.takeCheckpoints(3);
}, 180_000);
