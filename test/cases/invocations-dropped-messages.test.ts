// What a queue of SQS drops by itself, when its retention is over, under the handlers of a deployed job: of a queue that is a source the job has kept what
// it took, and of an exchange the sender has.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SqsAnswer, SqsEvent } from '../../lib/aws/sqs-event.ts';
import { handleStage } from '../../lib/aws/stage-handler.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { Environment } from '../../lib/invocation/unit/environment.ts';
import type { QueueDelivered } from '../../lib/testing/index.ts';
import { type Click, clicksOf } from '../support/case-jobs.ts';
import { sinkKinds } from '../support/case-targets.ts';
import { ClickWorld } from '../support/click-world.ts';
import { LaneWorld, type Parcel } from '../support/lane-world.ts';

const hourMs = 3_600_000;
const retentionMs = 96 * hourMs;
const context = { getRemainingTimeInMillis: () => 30_000 };

let lines: string[];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => void vi.restoreAllMocks());

type SqsMessage = { readonly id: string; readonly body: string; readonly receipt: string; readonly attributes: Record<string, string> };

function eventOf(messages: readonly SqsMessage[]): SqsEvent {
  return {
    Records: messages.map(({ id, body, receipt, attributes }) => ({
      ...{ messageId: id, receiptHandle: receipt, body, attributes },
      ...{ eventSource: 'aws:sqs', eventSourceARN: 'arn:aws:sqs:us-east-1:123456789012:parcels' },
    })),
  };
}

/** A function of the job: its handler over an environment of a world. */
function functionOf(
  world: Pick<ClickWorld | LaneWorld['world'], 'plan' | 'ports'>,
  stage: number,
  environment: Pick<Environment, 'invoke'>,
  now: () => number,
): (event: SqsEvent) => Promise<SqsAnswer> {
  const own = { settings: { stage, bind: {} }, tally: { conflicts: 0 }, exchangeStream: () => undefined };
  const deployed = { plan: world.plan, ports: world.ports, environment, ...own };
  const clock = { now, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
  return async (event) => (await handleStage(deployed, event, context, clock)) as SqsAnswer;
}

describe.each(['fifo', 'standard'] as const)('a %s queue that is a source', (order) => {
  async function begun(lanes = 2): Promise<LaneWorld> {
    const world = new LaneWorld({ order, lanes, retentionMs, ringSlots: 16, read: (body) => JSON.parse(String(body)) as Parcel });
    await world.world.create();
    return world;
  }

  function send(w: LaneWorld, ...parcels: readonly Parcel[]): void {
    for (const parcel of parcels) w.queue.send({ group: parcel.group, body: JSON.stringify(parcel) });
  }

  /** One event to the handler; the queue deletes what the answer does not name, unless it never hears of it. @returns what is named */
  async function deliver(
    w: LaneWorld,
    given: readonly QueueDelivered[],
    p: { readonly isLost?: boolean } = {},
  ): Promise<readonly string[]> {
    const handle = functionOf(w.world, 0, w.world.newEnvironment(), () => w.world.now);
    const event = eventOf(
      given.map(({ message, receipt }) => ({
        ...{ id: message.id, body: String(message.body), receipt },
        attributes: {
          ...{ ApproximateReceiveCount: String(message.receives), SentTimestamp: String(message.sentMs) },
          ...(order === 'fifo' ? { MessageGroupId: message.group, SequenceNumber: message.sequence } : {}),
        },
      })),
    );
    const { batchItemFailures: failures } = await handle(event);
    const open = new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
    if (p.isLost !== true) w.queue.settle(given.filter(({ message }) => !open.has(message.id)).map(({ receipt }) => receipt));
    while (await w.world.drain());
    return [...open];
  }

  async function replayed(w: LaneWorld): Promise<void> {
    for (let pulses = 0; pulses < 20; pulses++) {
      await w.world.pulse();
      while (await w.world.drain());
    }
  }

  const parcels = (...ids: readonly number[]): readonly Parcel[] => ids.map((id) => ({ group: 'abc'[id % 3]!, id }));
  const idsOf = (w: LaneWorld): readonly number[] => w.rows.map((row) => Number(row.split(' ')[2])).sort((a, b) => a - b);

  test('forgets what the job has taken, whether it was told so or not: a restore to before that replays all of it from what was kept', async () => {
    const w = await begun();
    send(w, ...parcels(1, 2, 3));
    expect(await deliver(w, w.receive())).toEqual([]);
    const checkpoint = await w.checkpoint();
    send(w, ...parcels(4, 5, 6, 7, 8, 9));
    expect(await deliver(w, w.receive(3))).toEqual([]);
    expect(await deliver(w, w.receive(3), { isLost: true })).toEqual([]);

    w.world.now += retentionMs + hourMs;
    expect(w.queue.unsettled).toEqual([]);
    expect(w.lost.length, 'dropped without having been deleted').toBe(3);

    w.runs.clear();
    expect((await startRestore(w.world.ports, checkpoint)).kind).toBe('marked');
    await replayed(w);
    expect([...w.runs].sort(([a], [b]) => a - b)).toEqual([4, 5, 6, 7, 8, 9].map((id) => [id, 1]));
    send(w, ...parcels(10, 11, 12));
    expect(await deliver(w, w.receive())).toEqual([]);
    await w.checkpoint();
    expect(idsOf(w)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(w.rows.filter((row) => / 4 1\d$/.test(row)).length, 'every group has counted four').toBe(3);
    expect(await w.letters()).toEqual([]);
  });

  test('drops what the job could not take in time: it was never answered for, the log says why, and nothing else is lost or held up', async () => {
    const w = await begun(1);
    send(w, ...parcels(1, 2, 3));
    await deliver(w, w.receive());
    const checkpoint = await w.checkpoint();
    send(w, ...parcels(4, 5, 6));
    await deliver(w, w.receive());
    expect((await startRestore(w.world.ports, checkpoint)).kind).toBe('marked');
    const invoke = w.world.invoke.bind(w.world);
    w.world.invoke = (i) => (i.kind === 'replay' ? Promise.reject(new Error('not reached')) : invoke(i));
    await w.world.pulse();
    w.world.invoke = invoke;

    send(w, ...parcels(7, 8));
    const given = w.receive();
    expect(await deliver(w, given)).toEqual(given.map(({ message }) => message.id));
    expect(lines.map((line) => (JSON.parse(line) as { readonly refused: string }).refused)).toEqual(['replay-first']);

    w.world.now += retentionMs + hourMs;
    expect(w.receive()).toEqual([]);
    expect(w.lost.map(({ id }) => id)).toEqual(given.map(({ message }) => message.id));
    await replayed(w);
    send(w, ...parcels(10, 11, 12));
    expect(await deliver(w, w.receive())).toEqual([]);
    await w.checkpoint();
    expect(idsOf(w)).toEqual([1, 2, 3, 4, 5, 6, 10, 11, 12]);
  });
});

/** Whose exchange is a queue behind the handler of the second stage. */
class ExchangeWorld extends ClickWorld {
  named = 0;

  override async drain(): Promise<boolean> {
    const given = await this.ports.exchange.receive({ max: 10 });
    if (given.length === 0) return false;
    const handle = functionOf(this, 1, { invoke: (i) => this.invoke(i) }, () => this.time.now);
    const event = eventOf(
      given.map(({ group, bytes, receipt, receives }) => ({
        ...{ id: receipt, body: Buffer.from(bytes).toString('base64'), receipt },
        attributes: { MessageGroupId: group, SequenceNumber: '1', ApproximateReceiveCount: String(receives) },
      })),
    );
    const { batchItemFailures: failures } = await handle(event);
    const open = new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
    this.named += open.size;
    await this.ports.exchange.settle(given.map(({ receipt }) => receipt).filter((receipt) => !open.has(receipt)));
    // As the handler asks of the queue, which knows its receipts with the stage in front.
    await this.ports.exchange.release({ receipts: [...open], delayMs: 2_000 });
    return true;
  }
}

describe('an exchange message that expires', () => {
  /** No user is in two splits, so that a replay counts as before, whatever split comes first. */
  const clicks = (split: number, count: number): readonly Click[] => clicksOf(count).map((c) => ({ ...c, user: `${split}-${c.user}` }));

  test.each(sinkKinds)('is a gap that the log names: nothing behind it is taken, and a restore sends it again (%s)', async (sink) => {
    const world = new ExchangeWorld({ sink, clicks: [clicks(0, 6), clicks(1, 6)], isOpen: true, batch: 2, environments: 1 });
    await world.create();
    await world.until(() => world.completed >= 1);
    for (const [at, split] of world.input.splits.entries()) split.push(...clicks(at, 12));
    await world.feed();
    const [dropped] = await world.ports.exchange.receive({ max: 1 });
    await world.ports.exchange.settle([dropped!.receipt]);

    await world.rounds(8);
    const { completed, named } = world;
    await world.rounds(4);
    expect(world.completed, 'no checkpoint passes the gap').toBe(completed);
    expect(world.named).toBeGreaterThan(named);
    const said = lines.map((line) => JSON.parse(line) as { readonly refused?: string; readonly message: string }).at(-1);
    expect(said).toMatchObject({ refused: 'gap', message: expect.stringMatching(/expired.* has to be restored/) as string });

    expect(await startRestore(world.ports, 'latest')).toMatchObject({ kind: 'marked' });
    await world.end();
    world.checkCounts();
  });
});
