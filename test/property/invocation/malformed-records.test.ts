// Every good and every malformed record of a stream or topic counts once, wherever events, slices of a replay and restores cut its messages.
import { describe, expect, test } from 'vitest';
import {
  type Collector,
  collect,
  defineJob,
  kafka,
  keyedProcess,
  kinesis,
  type MalformedRecord,
  ndjson,
  OutputTag,
  valueState,
} from '../../../lib/index.ts';
import { startRestore } from '../../../lib/invocation/coordinator/restore.ts';
import { type SeededRandom, seededRandom } from '../../../lib/testing/seeded-random.ts';
import { MessageWorld } from '../../support/message-world.ts';

const seeds = 100; // of each kind
const roundsMax = 120;

interface Line {
  readonly key: string;
  readonly n: number;
}

/** Tells of each record how many of its kind and shard there were with it: as many as its own number, if each counts once. */
const counting = keyedProcess({
  state: { seen: valueState({ default: () => 0 }) },
  processElement({ key, n }: Line, ctx, out: Collector<string>) {
    ctx.state.seen.update(ctx.state.seen.value() + 1);
    out.collect(`${key} ${n} ${ctx.state.seen.value()}`);
  },
});

/** `passed`: the format passes over what is malformed, so that some messages give nothing. */
type Malformed = 'aside' | 'passed';

function worldOf(kind: 'kinesis' | 'kafka', malformed: Malformed, replayRecordsMax: number) {
  const out = collect<string>();
  const tag = new OutputTag<MalformedRecord>('malformed');
  const format = ndjson<Line>({ onError: malformed === 'aside' ? tag : 'skip' });
  const job = defineJob('messages', (env) => {
    env.enableCheckpointing('1 s', { numRetained: 4 });
    const good = env.fromSource((kind === 'kafka' ? kafka : kinesis)<Line>('in', { format }), { uid: 'in' });
    const aside = good.getSideOutput(tag).map(({ text }): Line => ({ key: text.split(' ')[0]!, n: Number(text.split(' ')[1]) }));
    const all = malformed === 'aside' ? good.union(aside.uid('aside')) : good;
    all
      .keyBy(({ key }) => key)
      .process(counting)
      .uid('count')
      .setParallelism(1)
      .sinkTo(out, { uid: 'out' });
  });
  const world = new MessageWorld({ job, kind, ringSlots: 8 });
  world.replayRecordsMax = replayRecordsMax;
  return { world, out };
}

/** Makes messages, and knows what has to come of them. */
class Script {
  readonly rows = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #random: SeededRandom;
  readonly #malformed: Malformed;

  constructor(random: SeededRandom, malformed: Malformed) {
    this.#random = random;
    this.#malformed = malformed;
  }

  message(shard: number): string {
    const good = Array.from({ length: this.#random.between(0, 3) }, () => 'good');
    const bad = Array.from({ length: this.#random.between(0, 2) }, () => 'bad');
    return this.#random
      .shuffled([...good, ...bad])
      .map((kind) => this.#line(kind, shard))
      .join('\n');
  }

  #line(kind: string, shard: number): string {
    const key = `${kind}-${shard}`;
    const n = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, n);
    if (kind === 'good' || this.#malformed === 'aside') this.rows.add(`${key} ${n} ${n}`);
    return kind === 'good' ? JSON.stringify({ key, n }) : `${key} ${n}`;
  }
}

async function play(kind: 'kinesis' | 'kafka', seed: number): Promise<{ readonly found: unknown; readonly expected: unknown }> {
  const random = seededRandom(seed);
  const malformed = random.chance(0.8) ? 'aside' : 'passed';
  const { world, out } = worldOf(kind, malformed, random.between(1, 5));
  const script = new Script(random, malformed);
  await world.create();
  const last = (): number => world.messages.length - 1;
  const steps: readonly (() => Promise<unknown> | void)[] = [
    () => world.put(...Array.from({ length: random.between(1, 4) }, () => script.message(last()))),
    () => deliver(world, random),
    () => deliver(world, random),
    () => world.pulse(),
    () => (random.chance(0.5) ? restore(world, random) : undefined),
    () => (kind === 'kinesis' && last() < 2 && random.chance(0.3) ? world.reshard() : undefined),
  ];
  for (let step = 0; step < 24; step++) {
    await random.pick(steps)();
    while (await world.drain());
  }
  const isComplete = (): boolean => new Set(out.rows).size >= script.rows.size;
  // A few rounds more bring what comes too often.
  for (let round = 0, more = 4; round < roundsMax && more > 0; round++) {
    await world.feed();
    while (await world.drain());
    await world.pulse();
    if (isComplete()) more -= 1;
  }
  return { found: [...new Set(out.rows)].sort(), expected: [...script.rows].sort() };
}

/** Some messages of a shard, from one on that was taken before perhaps. */
async function deliver(world: MessageWorld, random: SeededRandom): Promise<void> {
  const shard = random.below(world.messages.length);
  const taken = world.taken[shard]!;
  const from = random.chance(0.6) ? taken : random.between(0, taken);
  await world.deliver(shard, from, Math.min(world.messages[shard]!.length, from + random.between(1, 5)));
}

async function restore(world: MessageWorld, random: SeededRandom): Promise<void> {
  const { completed, restoring } = await world.item();
  if (completed.length === 0 || restoring !== undefined) return;
  await startRestore(world.ports, random.pick(completed).checkpoint);
}

describe('good and malformed records count once', () => {
  for (const kind of ['kinesis', 'kafka'] as const) {
    test(`of ${kind}`, async () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const { found, expected } = await play(kind, seed);
        expect(found, `seed ${seed}`).toEqual(expected);
      }
    }, 120_000);
  }
});
