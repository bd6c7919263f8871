// Every good and every malformed record of a source counts once, wherever events, slices of a replay and restores cut its messages.
import { describe, expect, test } from 'vitest';
import type { Source } from '../../../lib/api/source.ts';
import {
  type Collector,
  collect,
  defineJob,
  type Job,
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
import type { InvocationWorld } from '../../support/invocation-world.ts';
import { LinesWorld, linesSource } from '../../support/lines-world.ts';
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

const tag = new OutputTag<MalformedRecord>('malformed');

function jobOf(source: Source<Line>, malformed: Malformed, out: ReturnType<typeof collect<string>>): Job {
  return defineJob('messages', (env) => {
    env.enableCheckpointing('1 s', { numRetained: 4 });
    const good = env.fromSource(source, { uid: 'in' });
    const aside = good.getSideOutput(tag).map(({ text }): Line => ({ key: text.split(' ')[0]!, n: Number(text.split(' ')[1]) }));
    const all = malformed === 'aside' ? good.union(aside.uid('aside')) : good;
    all
      .keyBy(({ key }) => key)
      .process(counting)
      .uid('count')
      .setParallelism(1)
      .sinkTo(out, { uid: 'out' });
  });
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

interface Outcome {
  readonly found: unknown;
  readonly expected: unknown;
}

async function play(kind: 'kinesis' | 'kafka', seed: number): Promise<Outcome> {
  const random = seededRandom(seed);
  const malformed = random.chance(0.8) ? 'aside' : 'passed';
  const format = ndjson<Line>({ onError: malformed === 'aside' ? tag : 'skip' });
  const source = (kind === 'kafka' ? kafka : kinesis)<Line>('in', { format });
  const out = collect<string>();
  const world = new MessageWorld({ job: jobOf(source, malformed, out), kind, ringSlots: 8 });
  world.replayRecordsMax = random.between(1, 5);
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
  return finish({ world, out, random, steps, script });
}

async function playLines(seed: number): Promise<Outcome> {
  const random = seededRandom(seed);
  const script = new Script(random, 'aside');
  const lines: string[] = [];
  const out = collect<string>();
  const world = new LinesWorld({ job: jobOf(linesSource<Line>(lines, tag), 'aside', out), lines, ringSlots: 8 });
  world.replayRecordsMax = random.between(1, 5);
  await world.create();
  const again = async (): Promise<unknown> => {
    const last = world.marks.length - 1;
    return await world.deliver(random.chance(0.6) ? last : random.between(0, last), random.between(1, 5));
  };
  const put = (): void => {
    lines.push(
      ...script
        .message(0)
        .split('\n')
        .filter((line) => line !== ''),
    );
  };
  return finish({ world, out, random, script, steps: [put, put, again, again, () => world.pulse(), () => restore(world, random)] });
}

/** Takes steps at random, and then everything that is left. */
async function finish(p: {
  readonly world: InvocationWorld;
  readonly out: { readonly rows: readonly string[] };
  readonly random: SeededRandom;
  readonly steps: readonly (() => Promise<unknown> | void)[];
  readonly script: Script;
}): Promise<Outcome> {
  const { world, out, random, steps, script } = p;
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

async function restore(world: InvocationWorld, random: SeededRandom): Promise<void> {
  const { completed, restoring } = await world.item();
  if (completed.length === 0 || restoring !== undefined) return;
  await startRestore(world.ports, random.pick(completed).checkpoint);
}

describe('good and malformed records count once', () => {
  for (const kind of ['kinesis', 'kafka', 'lines that are counted'] as const) {
    test(`of ${kind}`, async () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const { found, expected } = await (kind === 'kinesis' || kind === 'kafka' ? play(kind, seed) : playLines(seed));
        expect(found, `seed ${seed}`).toEqual(expected);
      }
    }, 120_000);
  }
});
