import { describe, expect, test } from 'vitest';
import { Channel } from '../../../../lib/adapters/embedded/channel.ts';
import { InputGate } from '../../../../lib/adapters/embedded/input-gate.ts';
import type { StreamElement } from '../../../../lib/core/batch.ts';
import { Alignment } from '../../../../lib/runtime/alignment.ts';

const records = (count: number): StreamElement => ({
  kind: 'records',
  batch: { values: new Array(count).fill(0), count, keys: undefined, timestamps: undefined },
});
const watermark = (timestamp: number): StreamElement => ({ kind: 'watermark', timestamp });

describe('a channel', () => {
  test('C1: gives its elements in order, also when it is never empty', () => {
    const channel = new Channel(0);
    let pushed = 0;
    let taken = 0;
    channel.push(watermark(pushed++));
    for (let i = 0; i < 1_000; i++) {
      channel.push(watermark(pushed++));
      channel.push(watermark(pushed++));
      while (pushed - taken > 1) expect(channel.shift()).toEqual(watermark(taken++));
    }
    expect(channel.isEmpty).toBe(false);
    expect(channel.shift()).toEqual(watermark(taken++));
    expect(channel.isEmpty).toBe(true);
  });

  test('C2: is full by records or by elements, and has room again as they leave', () => {
    const channel = new Channel(0);
    channel.push(records(4_095));
    expect(channel.hasRoom).toBe(true);
    channel.push(records(1));
    expect(channel.hasRoom).toBe(false);
    channel.push({ kind: 'barrier', checkpoint: 1 });
    channel.shift();
    expect(channel.hasRoom).toBe(true);
    const tiny = new Channel(0);
    for (let i = 0; i < 64; i++) tiny.push(watermark(i));
    expect(tiny.hasRoom).toBe(false);
    tiny.shift();
    expect(tiny.hasRoom).toBe(true);
  });

  test('keeps nothing of what has left it, although it is never empty', async () => {
    const channel = new Channel(0);
    const gone: WeakRef<object>[] = [];
    const fill = (): void => {
      for (let i = 0; i < 300; i++) {
        const element = records(1);
        gone.push(new WeakRef(element));
        channel.push(element);
        if (i > 2) channel.shift();
      }
    };
    fill();
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    await new Promise((resolve) => setImmediate(resolve));
    (runInNewContext('gc') as () => void)();
    expect(channel.isEmpty).toBe(false);
    expect(gone.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(80);
  });
});

describe('an input gate', () => {
  test('lets channels take turns', () => {
    const channels = [new Channel(0), new Channel(0), new Channel(0)];
    const gate = new InputGate(channels, new Alignment(3, true));
    for (const channel of channels) for (let i = 0; i < 2; i++) channel.push(watermark(i));
    expect(Array.from({ length: 6 }, () => gate.take()?.channel)).toEqual([0, 1, 2, 0, 1, 2]);
    expect(gate.take()).toBeUndefined();
  });

  test('passes over a channel that waits for a barrier, and has nothing when only such are left', () => {
    const channels = [new Channel(0), new Channel(0)];
    const alignment = new Alignment(2, true);
    const gate = new InputGate(channels, alignment);
    for (const channel of channels) channel.push(watermark(1));
    alignment.barrier(0, 1);
    expect(gate.take()?.channel).toBe(1);
    expect(gate.hasElement).toBe(false);
    alignment.barrier(1, 1);
    expect(gate.take()?.channel).toBe(0);
  });
});
