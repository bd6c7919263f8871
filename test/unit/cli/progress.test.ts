import { describe, expect, test } from 'vitest';
import type { Progress, RunResult } from '../../../lib/adapters/embedded/run-types.ts';
import { Output } from '../../../lib/cli/output.ts';
import { bytesText, countedText, progressText, Reporter, spanText, summaryOf } from '../../../lib/cli/progress.ts';

const progress: Progress = {
  recordsIn: 1_234_567,
  recordsOut: 89,
  recordsPerSecond: 2_980_000.4,
  watermarkLagMs: 3_600_000,
  lastCheckpoint: 12,
};

function observed(o: { json?: boolean; isTTY?: boolean }) {
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    isTTY: o.isTTY ?? false,
    columns: 200,
    write(text: string): boolean {
      written[name] += text;
      return true;
    },
  });
  const output = new Output({ json: o.json ?? false, verbose: false, out: stream('out'), err: stream('err') });
  let nowMs = 0;
  const reporter = new Reporter(output, () => nowMs);
  reporter.report({ kind: 'started', job: 'late', generation: 1, restored: undefined, directory: '/x' });
  return { written, reporter, output, advance: (ms: number) => (nowMs += ms) };
}

test('a progress line has records, rate, lag and last checkpoint, and leaves out what there is not', () => {
  expect(progressText(progress)).toBe('1,234,567 in  89 out  2,980,000/s  lag 60 min  checkpoint 12');
  expect(progressText({ ...progress, watermarkLagMs: undefined, lastCheckpoint: undefined })).toBe('1,234,567 in  89 out  2,980,000/s');
});

describe('how often progress is shown', () => {
  test('in a pipe a plain line every few seconds, and none in a short run', () => {
    const { written, reporter, advance } = observed({});
    for (let i = 0; i < 120; i++) {
      advance(100);
      reporter.report({ kind: 'progress', progress });
    }
    expect(written.err.split('\n').filter((line) => line.startsWith('late  '))).toHaveLength(2);
    expect(written.err).not.toContain('\r');
  });

  test('on a terminal one line that is drawn again, ten times a second at most', () => {
    const { written, reporter, advance } = observed({ isTTY: true });
    for (let i = 0; i < 100; i++) {
      advance(10);
      reporter.report({ kind: 'progress', progress });
    }
    expect(written.err).not.toContain('\n');
    expect(written.err.split('\r').length - 1).toBe(9);
  });
});

describe('events', () => {
  test('under --json each is an object with its kind', async () => {
    const { written, reporter, output } = observed({ json: true });
    reporter.report({ kind: 'checkpoint-completed', checkpoint: 1, durationMs: 5, bytes: 10 });
    reporter.report({ kind: 'restarting', attempt: 1, delayMs: 1_000, error: new Error('boom') });
    output.text('');
    await new Promise((resolve) => setImmediate(resolve));
    const kinds = written.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toEqual(['started', 'checkpoint-completed', 'restarting']);
    expect(JSON.parse(written.out.trim().split('\n')[2]!)).toMatchObject({ error: { code: 'UNEXPECTED', message: 'boom' } });
  });

  test('a restart says why, and when it goes on; a failed checkpoint says why', () => {
    const { written, reporter } = observed({});
    reporter.report({ kind: 'restarting', attempt: 2, delayMs: 1_000, error: new Error('boom') });
    reporter.report({ kind: 'checkpoint-failed', checkpoint: 7, reason: 'no space left on the disk' });
    expect(written.err).toBe('boom\nrestart 2 of late in 1 s\ncheckpoint 7 failed: no space left on the disk\n');
  });
});

test('sizes and spans are short and keep their unit', () => {
  expect([0, 1_023, 1_024, 1_536, 200 * 1_024, 5 * 1_024 ** 3].map(bytesText)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '200 KiB',
    '5.0 GiB',
  ]);
  expect([0, 12.4, 999, 1_000, 59_000, 60_000, 7_200_000].map(spanText)).toEqual([
    '0 ms',
    '12 ms',
    '999 ms',
    '1.0 s',
    '59.0 s',
    '1 min',
    '2 h',
  ]);
});

test('the last line says of rows and counts that workers which were lost have counted some of them', () => {
  const result: RunResult = {
    state: 'finished',
    recordsIn: 3_000,
    recordsOut: 7_793,
    seconds: 2,
    lastCheckpoint: 4,
    accumulators: {},
    counters: {},
  };
  expect(summaryOf('j', result)).toBe('j finished after 2.0 s: 3,000 records in, 7,793 out, last checkpoint 4');
  expect(summaryOf('j', { ...result, workersReplaced: 0 })).toBe(summaryOf('j', result));
  const lost = { ...result, workersReplaced: 2 };
  expect(summaryOf('j', lost)).toBe(
    'j finished after 2.0 s: 3,000 records in, about 7,793 out, last checkpoint 4; 2 workers were replaced',
  );
  expect([countedText(4_000, lost), countedText(4_000, result)]).toEqual(['about 4,000', '4,000']);
});
