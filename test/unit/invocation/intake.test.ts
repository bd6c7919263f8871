import { describe, expect, test } from 'vitest';
import { finalWatermark, noWatermark, type RecordBatch } from '../../../lib/core/batch.ts';
import type { Exchange } from '../../../lib/graph/plan.ts';
import { unusedChannel } from '../../../lib/invocation/coordinator/initial-head.ts';
import { decideMessage, Intake, type IntakeHead, type IntakeTarget, type WaitingMessage } from '../../../lib/invocation/intake.ts';
import type { ChannelElement, ChannelMessage } from '../../../lib/invocation/message.ts';
import { recordsAhead } from '../../../lib/invocation/unit/take-event.ts';

const inputs: readonly Exchange[] = [
  { id: 3, fromStage: 0, outlet: 0, toStage: 1, input: 0, partitioning: { kind: 'rebalance' } },
  { id: 4, fromStage: 0, outlet: 1, toStage: 1, input: 1, partitioning: { kind: 'rebalance' } },
];

const bytes = new Uint8Array([7]);
const stored = { bytes, object: undefined };

function records(...values: readonly unknown[]): ChannelElement {
  const batch: RecordBatch = { values: [...values], count: values.length, keys: undefined, timestamps: undefined };
  return { kind: 'records', batch };
}

const barrier = (checkpoint: number): ChannelElement => ({ kind: 'barrier', checkpoint });
const watermark = (timestamp: number): ChannelElement => ({ kind: 'watermark', timestamp });
const end: ChannelElement = { kind: 'end' };
const idle: ChannelElement = { kind: 'idle' };

function message(sender: string, sequence: number, ...elements: readonly ChannelElement[]): ChannelMessage {
  return { generation: 2, exchange: 3, sender, target: '1-0', sequence, elements };
}

function headOf(senders: readonly string[], changes: Partial<IntakeHead> = {}): IntakeHead {
  const channels = senders.map((sender) => unusedChannel(sender, 3));
  return { generation: 2, kind: 'init', epoch: 5, channels, abortedThrough: 0, watermark: noWatermark, ...changes };
}

/** An intake and a log of what it handed on. */
class Taken {
  readonly log: unknown[] = [];
  /** Name of the record before which messages are cut. */
  cut: string | undefined;
  readonly intake: Intake;
  readonly #to: IntakeTarget = {
    records: (batch, input, at) => void this.log.push([...batch.values, ...(input === 1 ? ['second input'] : []), at.record(0)]),
    watermark: (timestamp) => void this.log.push(timestamp),
    idle: () => void this.log.push('idle'),
    isCut: ({ record }) => record === this.cut,
  };

  constructor(head: IntakeHead, waiting: readonly WaitingMessage[] = [], isAligned = true) {
    this.intake = new Intake({ head, waiting, inputs, isAligned });
  }

  offer(...messages: readonly ChannelMessage[]): readonly string[] {
    return messages.map((one) => this.intake.offer(one, stored, this.#to));
  }

  release(): void {
    while (this.intake.release(this.#to));
  }

  channel(sender: string) {
    return this.intake.parts().channels.find((channel) => channel.sender === sender);
  }

  /** The intake of the next unit, after a barrier entry of `passed` if there was one. */
  next(waiting: readonly WaitingMessage[], passed?: number): Taken {
    const { held: _, ...parts } = this.intake.parts();
    const channels = passed === undefined ? parts.channels : parts.channels.map((channel) => ({ ...channel, barrier: 0 }));
    const kind = passed === undefined ? 'data' : 'barrier';
    return new Taken({ generation: 2, kind, epoch: passed ?? 5, ...parts, channels }, waiting);
  }
}

const waits = (...messages: readonly ChannelMessage[]): readonly WaitingMessage[] => messages.map((one) => ({ message: one, stored }));

describe('a message is', () => {
  const cases = [
    ['taken when it is next', 4, { generation: 2, sequence: 5 }, 'take'],
    ['a repeat when it was taken', 4, { generation: 2, sequence: 4 }, 'repeat'],
    ['behind a gap when one is missing', 4, { generation: 2, sequence: 6 }, 'gap'],
    ['of an older generation, whatever its number', 4, { generation: 1, sequence: 5 }, 'older-generation'],
    ['of a newer generation, which this environment does not know', 4, { generation: 3, sequence: 1 }, 'newer-generation'],
    ['of nobody who was announced', undefined, { generation: 2, sequence: 1 }, 'unknown-channel'],
    ['of an older generation, also from a sender of that generation only', undefined, { generation: 1, sequence: 9 }, 'older-generation'],
  ] as const;
  test.each(cases)('%s', (_, sequence, about, decision) => {
    expect(decideMessage({ generation: 2, sequence, message: about })).toBe(decision);
  });
});

describe('records', () => {
  test('N1: go on once and in order, with their input and a place that a redelivery gives again', () => {
    const t = new Taken(headOf(['a']));
    const second = { ...message('b', 1, records('y')), exchange: 4 };
    expect(
      t.offer(message('a', 1, records('x'), records('x2')), message('a', 1, records('x')), message('a', 3, records('z')), second),
    ).toEqual(['consumed', 'repeat', 'gap', 'unknown-channel']);
    expect(t.log).toEqual([
      ['x', '1/0'],
      ['x2', '1/1'],
    ]);
    expect(t.channel('a')).toMatchObject({ sequence: 1 });
  });

  test('of the second input are told so', () => {
    const t = new Taken(headOf([], { channels: [unusedChannel('a', 4)] }));
    t.offer({ ...message('a', 1, records('x')), exchange: 4 });
    expect(t.log).toEqual([['x', 'second input', '1/0']]);
  });

  test('of an exchange that leads elsewhere are an error', () => {
    const t = new Taken(headOf([], { channels: [unusedChannel('a', 9)] }));
    expect(() => t.offer({ ...message('a', 1, records('x')), exchange: 9 })).toThrow(/exchange 9/);
  });

  test('that were dropped change nothing', () => {
    const t = new Taken(headOf(['a']));
    t.offer(message('a', 2, records('x')), { ...message('a', 1), generation: 1 }, { ...message('a', 1), generation: 3 });
    expect(t.intake.hasChanged).toBe(false);
    expect(t.intake.parts()).toEqual({ channels: headOf(['a']).channels, held: [], abortedThrough: 0, watermark: noWatermark });
  });

  test('leave the head they were taken from as it was', () => {
    const head = headOf(['a']);
    const before = structuredClone(head);
    new Taken(head).offer(message('a', 1, records('x'), watermark(4), end));
    expect(head).toEqual(before);
  });
});

describe('an alignment', () => {
  test('N3: lets a channel wait from its barrier until the last channel has it, and releases in order', () => {
    const t = new Taken(headOf(['a', 'b']));
    expect(t.offer(message('a', 1, barrier(6)), message('a', 2, records('a2')), message('b', 1, records('b1')))).toEqual([
      'consumed',
      'held',
      'consumed',
    ]);
    expect(t.log).toEqual([['b1', '1/0']]);
    expect(t.intake.dueBarrier).toBeUndefined();
    t.offer(message('a', 3, records('a3')), message('b', 2, barrier(6)));
    expect(t.intake.dueBarrier).toBe(6);
    expect(t.intake.hasReleasable).toBe(false);
    expect(t.intake.parts().held.map(({ sender, exchange, bytes: raw }) => [sender, exchange, raw])).toEqual([
      ['a', 3, bytes],
      ['a', 3, bytes],
    ]);
    const after = t.next(waits(message('a', 2, records('a2')), message('a', 3, records('a3'))), 6);
    expect(after.intake.hasReleasable).toBe(true);
    expect(after.offer(message('a', 4, records('a4')))).toEqual(['held']);
    after.release();
    expect(after.log).toEqual([
      ['a2', '2/0'],
      ['a3', '3/0'],
      ['a4', '4/0'],
    ]);
    expect(after.intake.parts().held).toEqual([]);
  });

  test('stops its channel again at a barrier that waited', () => {
    const t = new Taken(
      headOf(['a', 'b']),
      waits(message('a', 2, barrier(7)), message('a', 3, records('a3')), message('b', 2, records('b2'))),
    );
    t.release();
    expect(t.log).toEqual([['b2', '2/0']]);
    expect(t.channel('a')).toMatchObject({ barrier: 7 });
    expect(t.intake.parts().held).toHaveLength(1);
  });

  test('L2: is given up for a higher barrier of another channel, and what waited goes on', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, barrier(6)), message('a', 2, records('a2')), message('b', 1, barrier(7)));
    expect(t.intake.dueBarrier).toBeUndefined();
    expect(t.intake.hasReleasable).toBe(true);
    t.release();
    expect(t.log).toEqual([['a2', '2/0']]);
    t.offer(message('a', 3, barrier(7)));
    expect(t.intake.dueBarrier).toBe(7);
  });

  test('L2: is given up when it is known to be aborted, and its late barriers are passed over', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, barrier(6)), message('a', 2, records('a2')));
    expect(t.channel('a')).toMatchObject({ barrier: 6 });
    t.intake.giveUp(6);
    t.release();
    expect(t.offer(message('b', 1, barrier(6)), message('b', 2, records('b2')))).toEqual(['consumed', 'consumed']);
    expect(t.log).toEqual([
      ['a2', '2/0'],
      ['b2', '2/0'],
    ]);
    expect(t.intake.parts()).toMatchObject({ abortedThrough: 6 });
  });

  test('that was given up before is not news', () => {
    const t = new Taken(headOf(['a'], { abortedThrough: 6 }));
    t.intake.giveUp(6);
    expect(t.intake.hasChanged).toBe(false);
  });

  test('L1: passes over a barrier behind the epoch', () => {
    const t = new Taken(headOf(['a', 'b'], { kind: 'barrier', epoch: 6 }));
    expect(t.offer(message('a', 1, barrier(6)), message('a', 2, records('a2')))).toEqual(['consumed', 'consumed']);
    expect(t.channel('a')).toMatchObject({ barrier: 0 });
  });

  test('L3: counts an ended channel', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, end), message('b', 1, barrier(6)));
    expect(t.intake.dueBarrier).toBe(6);
    expect(t.intake.hasEnded).toBe(false);
  });

  test('keeps the end of a channel waiting like a record', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, barrier(6)), message('a', 2, end), message('b', 1, end));
    expect(t.intake.dueBarrier).toBe(6);
    const after = t.next(waits(message('a', 2, end)), 6);
    expect(after.intake.hasEnded).toBe(false);
    after.release();
    expect(after.intake.hasEnded).toBe(true);
  });

  test('L4: never holds anything in AT_LEAST_ONCE', () => {
    const t = new Taken(headOf(['a', 'b']), [], false);
    expect(t.offer(message('a', 1, barrier(6)), message('a', 2, records('a2')), message('a', 3, barrier(7)))).toEqual([
      'consumed',
      'consumed',
      'consumed',
    ]);
    expect(t.log).toEqual([['a2', '2/0']]);
    t.offer(message('b', 1, barrier(6)));
    expect(t.intake.dueBarrier).toBe(6);
  });
});

test('V1: what an event or a known abort sets free is ahead, also where the event has no record itself', () => {
  const waiting = waits(message('a', 2, records('x', 'y')));
  const channels = [{ ...unusedChannel('a', 3), sequence: 2, barrier: 6 }, unusedChannel('b', 3)];
  const head = headOf([], { channels });
  const ahead = { first: { place: '2/3/a/1-0', record: '2/0' }, count: 2 };
  expect(recordsAhead(new Taken(head, waiting).intake, [{ message: message('b', 1, barrier(7)), stored }])).toEqual(ahead);
  const { intake } = new Taken(head, waiting);
  intake.giveUp(6);
  expect(recordsAhead(intake, [])).toEqual(ahead);
  expect(recordsAhead(new Taken(head, waiting).intake, [{ message: message('b', 1, watermark(7)), stored }])).toEqual({
    first: undefined,
    count: 0,
  });
});

describe('N5: a message that is cut', () => {
  const sent = message('a', 1, watermark(5), records('x', 'y'), watermark(7), records('z'), end);

  test('counts the records before the cut, and goes on behind them when it comes again', () => {
    const t = new Taken(headOf(['a']));
    t.cut = '1/1';
    expect(t.offer(sent)).toEqual(['cut']);
    expect(t.log).toEqual([5, ['x', '1/0']]);
    expect(t.channel('a')).toMatchObject({ sequence: 0, part: 1, hasEnded: false });
    const next = t.next([]);
    expect(recordsAhead(t.next([]).intake, [{ message: sent, stored }])).toEqual({
      first: { place: '2/3/a/1-0', record: '1/1' },
      count: 2,
    });
    next.cut = '1/2';
    expect(next.offer(sent)).toEqual(['cut']);
    expect(next.log).toEqual([['y', '1/1'], 7]);
    const last = next.next([]);
    expect(last.offer(sent, sent)).toEqual(['consumed', 'repeat']);
    expect(last.log).toEqual([['z', '1/2'], finalWatermark]);
    expect(last.channel('a')).toMatchObject({ sequence: 1, part: undefined, hasEnded: true });
  });

  test('before its first record is as if it had not come', () => {
    const t = new Taken(headOf(['a']));
    t.cut = '1/0';
    expect(t.offer(message('a', 1, records('x')))).toEqual(['cut']);
    expect(t.intake.hasChanged).toBe(false);
  });

  test('among those that wait keeps its place before the later ones of its channel', () => {
    const waiting = waits(message('a', 2, records('x', 'y')), message('a', 3, records('z')));
    const channels = [unusedChannel('a', 3)].map((channel) => ({ ...channel, sequence: 3 }));
    const t = new Taken(headOf([], { channels }), waiting);
    expect(recordsAhead(new Taken(headOf([], { channels }), waiting).intake, [])).toEqual({
      first: { place: '2/3/a/1-0', record: '2/0' },
      count: 3,
    });
    t.cut = '2/1';
    t.release();
    expect(t.log).toEqual([['x', '2/0']]);
    expect(t.intake.parts().held).toHaveLength(2);
    expect(t.offer(message('a', 4, records('later')))).toEqual(['held']);
    const next = t.next([...waiting, ...waits(message('a', 4, records('later')))]);
    next.release();
    expect(next.log).toEqual([
      ['y', '2/1'],
      ['z', '3/0'],
      ['later', '4/0'],
    ]);
  });
});

describe('event time', () => {
  test('is the minimum over the channels, told when it advances', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(10)), message('b', 1, watermark(7)), message('b', 2, watermark(12)));
    expect(t.log).toEqual([7, 10]);
    expect(t.intake.parts().watermark).toBe(10);
  });

  test('goes on in the next unit from where it was', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(10)), message('b', 1, watermark(7)));
    const after = t.next([]);
    after.offer(message('a', 2, watermark(11)), message('b', 2, watermark(9)));
    expect(after.log).toEqual([9]);
  });

  test('leaves idle channels out; when all are silent that is told once', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(10), idle), message('b', 1, watermark(20)), message('b', 2, idle), message('a', 2, idle));
    expect(t.log).toEqual([20, 'idle']);
    expect(
      t
        .next([])
        .intake.parts()
        .channels.map(({ isIdle }) => isIdle),
    ).toEqual([true, true]);
    t.offer(message('a', 3, records('x')), message('a', 4, idle));
    expect(t.log).toEqual([20, 'idle', ['x', '3/0'], 'idle']);
  });

  test('ends with the last channel; a final watermark is not yet the end of its channel', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(finalWatermark)), message('b', 1, watermark(5)));
    expect(t.channel('a')).toMatchObject({ hasEnded: false });
    expect(t.log).toEqual([5]);
    t.offer(message('b', 2, end), message('a', 2, end));
    expect(t.log).toEqual([5, finalWatermark]);
    expect(t.intake.hasEnded).toBe(true);
  });
});

describe('successors', () => {
  const successors = (...senders: readonly string[]): ChannelElement => ({ kind: 'successors', senders });

  test('take the place of their sender, with its event time and numbers of their own', () => {
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(10)), message('b', 1, watermark(20)), message('a', 2, successors('c', 'd')));
    expect(t.channel('a')).toMatchObject({ hasEnded: true });
    expect(t.channel('c')).toEqual({ ...t.channel('d'), sender: 'c' });
    expect(t.channel('d')).toMatchObject({ sequence: 0, barrier: 0, hasEnded: false, watermark: 10 });
    expect(t.log).toEqual([10]);
    expect(t.offer(message('c', 1, watermark(30)), message('d', 1, watermark(15)))).toEqual(['consumed', 'consumed']);
    expect(t.log).toEqual([10, 15]);
  });

  test('N4: wait behind all that their sender left waiting, barriers included', () => {
    const t = new Taken(headOf(['a', 'b']));
    const sent = [
      message('a', 2, records('a2')),
      message('a', 3, barrier(7)),
      message('a', 4, successors('c')),
      message('c', 1, records('c1')),
    ];
    t.offer(message('a', 1, barrier(6)), ...sent);
    expect(t.offer(message('c', 1, records('c1')), message('c', 3, records('c3')), message('c', 2, records('c2')))).toEqual([
      'repeat',
      'gap',
      'held',
    ]);
    expect(t.offer(message('b', 1, barrier(6)))).toEqual(['consumed']);
    expect(t.intake.dueBarrier).toBe(6);
    const after = t.next(waits(...sent, message('c', 2, records('c2'))), 6);
    after.release();
    expect(after.log).toEqual([['a2', '2/0']]);
    after.offer(message('b', 2, barrier(7)));
    expect(after.intake.dueBarrier).toBe(7);
    const last = after.next(waits(...sent.slice(2), message('c', 2, records('c2'))), 7);
    last.release();
    expect(last.log).toEqual([
      ['c1', '1/0'],
      ['c2', '2/0'],
    ]);
    expect(last.channel('c')).toMatchObject({ sequence: 2 });
    expect(last.offer(message('c', 3, records('c3')))).toEqual(['consumed']);
  });

  test('N4: of two senders wait for both, and start at the earlier event time', () => {
    const t = new Taken(headOf(['a', 'b', 'x']));
    t.offer(message('a', 1, watermark(10)), message('b', 1, watermark(20)), message('b', 2, barrier(6)));
    t.offer(message('a', 2, successors('c')), message('b', 3, successors('c')));
    expect(t.channel('c')).toMatchObject({ watermark: 10 });
    expect(t.offer(message('c', 1, records('c1')))).toEqual(['held']);
    t.intake.giveUp(6);
    t.release();
    expect(t.log).toEqual([['c1', '1/0']]);
    expect(t.channel('c')).toMatchObject({ watermark: 10, sequence: 1 });
  });

  test('N4: of senders that are followed together wait for what the last of them sent, however their messages come', () => {
    const joint: ChannelElement = { kind: 'successors', senders: ['c'], parents: ['a', 'b'] };
    const t = new Taken(headOf(['a', 'b']));
    t.offer(message('a', 1, watermark(10)), message('b', 1, watermark(20)));
    expect(t.offer(message('a', 2, joint), message('c', 1, records('c1')), message('b', 2, records('b2')))).toEqual([
      'held',
      'held',
      'consumed',
    ]);
    expect(t.channel('a')).toMatchObject({ hasEnded: false, sequence: 2 });
    expect(t.offer(message('b', 3, joint))).toEqual(['consumed']);
    t.release();
    expect(t.log).toEqual([10, ['b2', '2/0'], ['c1', '1/0']]);
    expect(t.channel('a')).toMatchObject({ hasEnded: true });
    expect(t.channel('c')).toMatchObject({ watermark: 10, sequence: 1 });
  });

  test('N4: of senders that are followed together pass when each has told so behind a barrier', () => {
    const joint: ChannelElement = { kind: 'successors', senders: ['c'], parents: ['a', 'b'] };
    const t = new Taken(headOf(['a', 'b', 'x']));
    const sent = [message('a', 2, joint), message('c', 1, records('c1')), message('b', 2, records('b2')), message('b', 3, joint)];
    t.offer(message('a', 1, barrier(6)), message('b', 1, barrier(6)));
    expect(t.offer(...sent)).toEqual(['held', 'held', 'held', 'held']);
    t.offer(message('x', 1, barrier(6)));
    const after = t.next(waits(...sent), 6);
    after.release();
    expect(after.log).toEqual([
      ['b2', '2/0'],
      ['c1', '1/0'],
    ]);
  });
});
