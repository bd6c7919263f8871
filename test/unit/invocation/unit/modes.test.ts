import { describe, expect, test } from 'vitest';
import { type CheckpointMode, type Collector, collect, defineJob, type Env, keyedProcess, valueState } from '../../../../lib/index.ts';
import { pulse } from '../../../../lib/invocation/coordinator/pulse.ts';
import { startRestore } from '../../../../lib/invocation/coordinator/restore.ts';
import type { Answer, Invocation } from '../../../../lib/invocation/invocation.ts';
import { InvocationWorld } from '../../../support/invocation-world.ts';

const intervalMs = 60_000;

const source = {
  kind: 'script',
  isRereadable: false,
  isEager: true,
  isBounded: false,
  enumerate: async () => [{ id: 'a' }, { id: 'b' }],
  open: () => {
    throw new Error('records are handed to the job');
  },
};

/** Holds each value until the next one of its key comes. */
const previous = keyedProcess({
  state: { held: valueState({ default: () => 0 }) },
  processElement(value: number, ctx, out: Collector<number>) {
    const held = ctx.state.held.value();
    if (held > 0) out.collect(held);
    ctx.state.held.update(value);
  },
});

/** Two sources, each of which holds its last value, before a sink of one subtask. */
class Holding {
  readonly out = collect<number>();
  readonly world: InvocationWorld;
  #read = 0;

  constructor(mode: CheckpointMode) {
    const job = defineJob('holding', (env: Env) => {
      env.setParallelism(1);
      env.enableCheckpointing(`${intervalMs} ms`, { mode });
      env
        .fromSource<number>(source, { uid: 'in', partitionedBy: () => 'all' })
        .setParallelism(2)
        .keyBy(() => 'all')
        .process(previous)
        .uid('previous')
        .setParallelism(2)
        .sinkTo(this.out, { uid: 'out' });
    });
    this.world = new InvocationWorld({ job });
  }

  /** The first source reads one value more, and what it sends is taken. */
  async read(value: number): Promise<void> {
    const after = { index: ++this.#read, at: this.#read };
    const answer = await this.world.invoke({ kind: 'records', subtask: '0-0', split: 0, records: [{ value, after }], isLast: false });
    expect(answer).toEqual({ kind: 'done' });
    while (await this.world.drain());
  }

  /** A checkpoint begins, and only the first source is told of it. */
  async beginAtFirst(): Promise<void> {
    const { world } = this;
    const { ports, plan, clock, random, settler } = world;
    const invoke = async (i: Invocation): Promise<Answer> =>
      i.subtask === '0-1' ? { kind: 'refused', why: 'contended' } : world.invoke(i);
    world.now += intervalMs;
    await pulse({ ports, plan, control: { invoke }, settler, clock, random });
    while (await world.drain());
  }

  /** What was begun is completed and told, and nothing is begun. */
  async pass(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await this.world.pulse();
      while (await this.world.drain());
    }
  }
}

describe('a value held at the barrier of one input, and let go before that of the other', () => {
  test('is visible once behind a restore under AT_MOST_ONCE', async () => {
    const job = new Holding('AT_MOST_ONCE');
    const { world } = job;
    await world.create();
    await job.read(1);
    await job.beginAtFirst();
    await job.read(2);
    await job.pass();
    expect(await world.item()).toMatchObject({ completed: [{ checkpoint: 1 }], begun: 1 });
    await startRestore(world.ports, 'latest');
    await job.pass();
    expect(await world.item()).toMatchObject({ generation: 1 });
    await job.read(3);
    world.now += intervalMs;
    await job.pass();
    expect(await world.item()).toMatchObject({ completed: [{ checkpoint: 2 }] });
    // The second value was taken behind the barrier, and is the one that is lost.
    expect(job.out.rows).toEqual([1]);
  });
});
