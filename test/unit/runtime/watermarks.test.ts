import { describe, expect, test } from 'vitest';
import { finalWatermark, noWatermark } from '../../../lib/core/batch.ts';
import { WatermarkValve } from '../../../lib/runtime/watermarks.ts';

describe('the event time of a subtask', () => {
  test('is the minimum over its channels, and is told only when it advances', () => {
    const v = new WatermarkValve(2);
    expect(v.current).toBe(noWatermark);
    expect(v.watermark(0, 10)).toBeUndefined();
    expect(v.watermark(1, 7)).toBe(7);
    expect(v.watermark(1, 9)).toBe(9);
    expect(v.watermark(1, 12)).toBe(10);
    expect(v.watermark(1, 13)).toBeUndefined();
    expect(v.current).toBe(10);
  });

  test('W1: never goes back, also when a channel does', () => {
    const v = new WatermarkValve(1);
    expect(v.watermark(0, 10)).toBe(10);
    expect(v.watermark(0, 5)).toBeUndefined();
    expect(v.current).toBe(10);
    expect(v.watermark(0, 11)).toBe(11);
  });

  test('W2: leaves an idle channel out until it speaks again', () => {
    const v = new WatermarkValve(2);
    v.watermark(0, 10);
    expect(v.idle(1)).toBe(10);
    expect(v.watermark(0, 20)).toBe(20);
    v.active(1);
    expect(v.watermark(0, 30)).toBeUndefined();
    expect(v.watermark(1, 25)).toBe(25);
  });

  test('W2: a channel that speaks again with an old watermark holds event time where it is', () => {
    const v = new WatermarkValve(2);
    v.watermark(0, 10);
    v.idle(1);
    expect(v.watermark(1, 3)).toBeUndefined();
    expect(v.current).toBe(10);
    expect(v.watermark(0, 50)).toBeUndefined();
    expect(v.watermark(1, 40)).toBe(40);
  });

  test('W2: stays where it is when every channel is idle', () => {
    const v = new WatermarkValve(2);
    v.watermark(0, 10);
    v.watermark(1, 5);
    expect(v.idle(1)).toBe(10);
    expect(v.idle(0)).toBeUndefined();
    expect(v.isIdle).toBe(true);
    expect(v.current).toBe(10);
    v.active(0);
    expect(v.isIdle).toBe(false);
  });

  test('an ended channel is left out for ever, and the end of all is the end of event time', () => {
    const v = new WatermarkValve(3);
    v.watermark(0, 10);
    v.watermark(1, 20);
    expect(v.end(2)).toBe(10);
    expect(v.end(0)).toBe(20);
    expect(v.end(1)).toBe(finalWatermark);
  });

  test('the final watermark of one input ends event time only when that of the others has come, be they idle or not', () => {
    const v = new WatermarkValve(2);
    v.watermark(0, 10);
    v.watermark(1, 10);
    v.idle(1);
    expect(v.watermark(0, finalWatermark)).toBeUndefined();
    expect(v.end(0)).toBeUndefined();
    v.active(1);
    expect(v.watermark(1, 20)).toBe(20);
    expect(v.watermark(1, finalWatermark)).toBe(finalWatermark);
    expect(v.end(1)).toBeUndefined();
  });

  test('an end is not the end of event time while another channel is only idle', () => {
    const v = new WatermarkValve(2);
    v.idle(0);
    expect(v.end(1)).toBeUndefined();
    expect(v.isIdle).toBe(true);
    expect(v.watermark(0, 8)).toBe(8);
  });
});
