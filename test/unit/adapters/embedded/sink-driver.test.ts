// What a sink driver promises its writer: one call at a time.
import { describe, expect, test } from 'vitest';
import { SinkDriver } from '../../../../lib/adapters/embedded/sink-driver.ts';
import type { SinkWriter } from '../../../../lib/api/sink.ts';
import { emptyBatch, type RecordBatch } from '../../../../lib/core/batch.ts';

/** A writer whose writes end when the test says so. */
function slowWriter(): { readonly writer: SinkWriter; readonly log: string[]; readonly finish: () => void } {
  const log: string[] = [];
  let end: () => void = () => {};
  const writer: SinkWriter = {
    open() {},
    write({ values }) {
      log.push(`write ${String(values[0])}`);
      return new Promise<void>((resolve) => {
        end = () => {
          log.push(`written ${String(values[0])}`);
          resolve();
        };
      });
    },
    announce: () => [],
    prepare(checkpoint) {
      log.push(`prepare ${checkpoint}`);
      return { state: undefined, transactions: [] };
    },
    commit() {},
    discard() {},
    close() {},
  };
  return { writer, log, finish: () => end() };
}

function rows(value: string): RecordBatch {
  return { ...emptyBatch(), values: [value], count: 1 };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

describe('a sink driver', () => {
  test('hands over the next batch only when the writer is done with the one before, and prepares after both', async () => {
    const { writer, log, finish } = slowWriter();
    const driver = new SinkDriver('out', writer);
    const first = driver.write(rows('a'));
    const second = driver.write(rows('b'));
    const prepared = driver.prepare(7, () => Promise.resolve());
    await settle();
    expect(log).toEqual(['write a']);
    finish();
    await first;
    await settle();
    expect(log).toEqual(['write a', 'written a', 'write b']);
    finish();
    await second;
    await prepared;
    expect(log).toEqual(['write a', 'written a', 'write b', 'written b', 'prepare 7']);
    expect(driver.rowsWritten).toBe(2);
  });

  test('a write that fails is told with the uid of the sink, and the one behind it is not made', async () => {
    const { writer } = slowWriter();
    const made: unknown[] = [];
    const driver = new SinkDriver('out', {
      ...writer,
      write: ({ values }) => {
        made.push(values[0]);
        return Promise.reject(new Error('no room'));
      },
    });
    const first = driver.write(rows('a'));
    const second = driver.write(rows('b'));
    await expect(first).rejects.toThrow('write of sink out failed: no room');
    await expect(second).rejects.toThrow('write of sink out failed: no room');
    expect(made).toEqual(['a']);
  });
});
