// Cases of queues, on the exchange of the invocation runtime: what is delivered twice, late, or by somebody who was thought to be gone.

import { describe, expect, test } from 'vitest';
import { type Collector, keyedProcess, valueState } from '../../lib/index.ts';
import type { Answer } from '../../lib/invocation/invocation.ts';
import type { Delivery } from '../../lib/invocation/ports.ts';
import { createEnvironment } from '../../lib/invocation/unit/create-environment.ts';
import { seededRandom } from '../../lib/testing/seeded-random.ts';
import { type Click, clicksOf } from '../support/case-jobs.ts';
import { sweep } from '../support/case-sweep.ts';
import { sinkKinds } from '../support/case-targets.ts';
import { ClickWorld } from '../support/click-world.ts';

describe('C49: a handler is slower than the visibility of its message', () => {
  test.each(sinkKinds)(
    '%s: the second delivery overlaps with the first, which goes on and writes later; the counter is 1',
    async (sink) => {
      for (const fault of ['freeze', 'freeze-after'] as const) {
        let isDraining = false;
        const fell = await sweep({
          world: () => new ClickWorld({ sink, clicks: [[{ user: 'once', at: 0 }]] }),
          fault,
          at: ({ process }) => isDraining && process.name.includes('.e'),
          async run(world) {
            await world.create();
            await world.feed();
            isDraining = true;
            await world.drain();
            isDraining = false;
            world.time.now += 40_000;
            await world.finish();
          },
          check: (world) => world.check(['once 1']),
        });
        expect(fell).toBeGreaterThan(4);
      }
    },
  );
});

/** Throws the first time that it sees a record of `at`, after it has written state. */
function failingOnce(at: number): { readonly counter: ReturnType<typeof counterOf>; readonly failures: () => number } {
  let failures = 0;
  const counter = counterOf((click) => {
    if (click.at === at && failures++ === 0) throw new Error('not this time');
  });
  return { counter, failures: () => failures };
}

function counterOf(before: (click: Click) => void) {
  return keyedProcess({
    state: { seen: valueState({ default: () => 0 }) },
    processElement(click: Click, ctx, out: Collector<string>) {
      const seen = ctx.state.seen.value() + 1;
      ctx.state.seen.update(seen);
      out.collect(`${click.user} ${seen}`);
      before(click);
    },
  });
}

describe('C50: a message fails once and comes again to the same environment', () => {
  test.each([true, false])('it is processed, and nothing of the failed run is left; one stage: %s', async (isPartitioned) => {
    for (const { at } of clicksOf(8)) {
      const { counter, failures } = failingOnce(at);
      const world = new ClickWorld({ sink: 'two-phase', isPartitioned, environments: 1, counter });
      await world.run();
      world.checkCounts();
      expect(failures()).toBeGreaterThan(1);
      expect(await world.letters()).toEqual([]);
    }
  });
});

describe('C51: a burst, of which two fifths of the deliveries are throttled', () => {
  test.each(sinkKinds)('%s: all effects happen once', async (sink) => {
    const random = seededRandom(51);
    const world = new ClickWorld({ sink, clicks: [clicksOf(50, 7)], batch: 1, parallelism: 2 });
    let refused = 0;
    world.drains = () => {
      const isTaken = random.chance(0.6);
      if (!isTaken) refused += 1;
      return isTaken;
    };
    await world.run(300);
    world.checkCounts();
    expect(refused).toBeGreaterThan(10);
  });

  test('a redrive asked for twice, at once, and with its process lost anywhere, has one effect', async () => {
    let isBroken = true;
    const counter = counterOf((click) => {
      if (isBroken && click.at === 4) throw new Error('a field is missing');
    });
    const fell = await sweep({
      world: () => new ClickWorld({ sink: 'two-phase', isOpen: true, isPartitioned: true, counter }),
      fault: 'kill-after',
      at: () => !isBroken,
      async run(world) {
        isBroken = true;
        await world.create();
        await world.until(async () => (await world.head('0-0')).splits[0]!.position?.index === world.clicks.length);
        const [letter, ...others] = await world.letters();
        expect(others).toEqual([]);
        isBroken = false;
        const redrive = { kind: 'redrive', subtask: letter!.subtask, letter: letter!.id } as const;
        await Promise.allSettled([world.invokeAt(0, redrive), world.invokeAt(1, redrive)]);
        for (let isDone = false; !isDone; ) isDone = (await world.invoke(redrive).catch(() => undefined))?.kind === 'done';
        await world.invoke(redrive).catch(() => undefined);
        expect(await world.letters()).toEqual([]);
        await world.end();
      },
      check(world) {
        expect(world.target.violations).toEqual([]);
        // The parked click counts last among those of its user that came before the redrive; each number is there once.
        world.checkCounts();
      },
    });
    expect(fell).toBeGreaterThan(10);
  });
});

describe('C52: a message is processed and its removal is lost', () => {
  class Forgetful extends ClickWorld {
    /** Removals of a message that get lost. */
    readonly losses = new Map<string, number>();
    lost = 0;

    override async handOver(mine: readonly Delivery[]): Promise<Answer | undefined> {
      const subtask = mine[0]!.group;
      const answer = await this.invoke({ kind: 'messages', subtask, messages: mine.map(({ bytes }) => bytes), isAgain: true });
      for (const { bytes, receipt } of mine) {
        const name = Buffer.from(bytes).toString('hex');
        const losses = this.losses.get(name) ?? 0;
        this.losses.set(name, losses + 1);
        if (answer.kind !== 'done') continue;
        if (losses < 3) this.lost += 1;
        else await this.ports.exchange.settle([receipt]);
      }
      await this.ports.exchange.release({ receipts: mine.map(({ receipt }) => receipt), delayMs: 100 });
      return answer;
    }
  }

  test.each(sinkKinds)('%s: no delivery after the first has an effect, also three days later and in another environment', async (sink) => {
    const world = new Forgetful({ sink, isOpen: true, batch: 2 });
    await world.create();
    const { length } = world.clicks;
    await world.until(
      async () => (await world.head('0-0')).splits[0]!.position?.index === length && world.service.exchange.queued().length === 0,
    );
    expect(world.lost).toBeGreaterThan(6);
    world.time.now += 3 * 24 * 3_600_000;
    world.killAll();
    const past = world.service.exchange.past().length;
    let next = 0;
    world.service.hooks.lateDuplicate = () => (next < past ? next++ : undefined);
    await world.rounds(6);
    expect(next).toBe(past);
    world.service.hooks.lateDuplicate = () => undefined;
    await world.end();
    world.checkCounts();
  });

  test('there is no horizon: a channel knows its numbers for as long as its generation lives', async () => {
    const world = new ClickWorld({ sink: 'idempotent', isOpen: true });
    await world.create();
    await world.rounds(4);
    world.time.now += 3 * 365 * 24 * 3_600_000;
    const old = world.service.exchange.past()[0]!;
    const environment = createEnvironment(world.optionsOf(world.newProcess('e')));
    expect(await environment.invoke({ kind: 'messages', subtask: old.group, messages: [old.bytes] })).toEqual({ kind: 'done' });
    await world.end();
    world.checkCounts();
  });
});
