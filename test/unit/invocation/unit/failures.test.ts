import { describe, expect, test } from 'vitest';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import { SluiceError } from '../../../../lib/core/errors.ts';
import { decodeLetter } from '../../../../lib/invocation/poison/dead-letters.ts';
import { Failures } from '../../../../lib/invocation/unit/failures.ts';

const clock = { now: () => 1_000, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };
const failed = new SluiceError('USER_FUNCTION_FAILED', { message: 'no', next: 'fix-the-job', operator: 'count' });
const attempt = (record: string, count: number) => ({ place: 'p', record, count });
const head = (n: number, ...attempts: readonly ReturnType<typeof attempt>[]) => ({ generation: 1, n, attempts });
const name = (record: string) => ({ place: 'p', record });

function failuresAt(from: ReturnType<typeof head>): Failures {
  const failures = new Failures({ subtask: '0-0', attemptsMax: 3, clock });
  failures.begin(from, 'in');
  return failures;
}

/** A run over records 0 to 3, which throws at one of them, or behind them all. */
function run(failures: Failures, throwsAt: string | undefined, p: { readonly isBehind?: boolean; readonly inTimer?: boolean } = {}): void {
  const one = failures.newRun();
  const batch: RecordBatch = { values: ['0', '1', '2', '3'], count: 4, keys: undefined, timestamps: undefined };
  const throwing = (): never => {
    throw failed;
  };
  try {
    one.feed(batch, 0, { place: 'p', record: String }, ({ values }) => {
      if (values[0] === throwsAt) throwing();
    });
    if (p.inTimer === true) one.apart(throwing);
    if (p.isBehind === true) throwing();
  } catch (error) {
    failures.blame(error);
  }
}

describe('a unit whose records fail', () => {
  test('F1: runs in whole batches until one does', () => {
    const failures = failuresAt(head(7));
    expect(failures.isCareful).toBe(false);
    failures.newRun();
    failures.blame(failed);
    expect(failures.isCareful).toBe(true);
    expect(failures.outcome().hasNews).toBe(false);
  });

  test('F1: runs record by record from the beginning when one failed before', () => {
    expect(failuresAt(head(7, attempt('2', 1))).isCareful).toBe(true);
  });

  test('F4: counts nothing before the cache has been compared with the head', () => {
    const failures = failuresAt(head(7, attempt('2', 1)));
    run(failures, '2');
    expect(failures.needsProof).toBe(true);
    expect(failures.stopsAt(name('2'))).toBe(false);
    run(failures, '2');
    expect(failures.stopsAt(name('2'))).toBe(true);
    expect(failures.outcome().attempts).toEqual([attempt('2', 2)]);
  });

  test('F5: starts over from an entry that another writer appended', () => {
    const failures = failuresAt(head(7, attempt('2', 1)));
    run(failures, '2');
    run(failures, '2');
    failures.begin(head(8, attempt('2', 2)), 'in');
    expect([failures.needsProof, failures.stopsAt(name('2'))]).toEqual([false, false]);
    run(failures, '2');
    run(failures, '2');
    expect(failures.isParked(name('2'))).toBe(true);
  });

  test('goes on from the same entry with what it knows', () => {
    const failures = failuresAt(head(7, attempt('2', 1)));
    run(failures, '2');
    run(failures, '2');
    failures.begin(head(7, attempt('2', 1)), 'in');
    expect(failures.stopsAt(name('2'))).toBe(true);
  });

  test('leaves a record out once its tries are used up, with a letter that says why', () => {
    const failures = failuresAt(head(7, attempt('2', 2)));
    run(failures, '2');
    run(failures, '2');
    run(failures, '2');
    const { attempts, letters, hasNews } = failures.outcome();
    expect([attempts, hasNews]).toEqual([[], true]);
    expect(letters.map(({ address, value }) => [address.sub, decodeLetter(value as Uint8Array)])).toMatchObject([
      ['p/2', { operator: 'count', error: { message: 'no' }, batch: { values: ['2'] }, generation: 1, n: 7, atMs: 1_000 }],
    ]);
  });

  test('drops the count of a record that gets through', () => {
    const failures = failuresAt(head(7, attempt('2', 2)));
    run(failures, undefined);
    expect(failures.outcome()).toEqual({ attempts: [], timerAttempts: [], letters: [], hasNews: true });
  });

  test('leaves out a record that killed, and says so', () => {
    const failures = failuresAt(head(7));
    failures.park(name('0'));
    run(failures, undefined);
    const [letter] = failures.outcome().letters;
    expect(decodeLetter(letter?.value as Uint8Array)).toMatchObject({ operator: 'in', error: { code: 'RECORD_KILLS' } });
  });
});

describe('F2: what no single record can be blamed for', () => {
  test('is run with half as many, until one is left to blame', () => {
    const failures = failuresAt(head(7));
    for (const limit of [undefined, 2, 1]) {
      run(failures, undefined, { isBehind: true });
      expect(failures.limit).toBe(limit);
    }
    const one = failures.newRun();
    one.feed({ values: ['0'], count: 1, keys: undefined, timestamps: undefined }, 0, { place: 'p', record: String }, () => undefined);
    failures.blame(failed);
    expect(failures.stopsAt(name('0'))).toBe(true);
  });

  test('is thrown when nothing ran', () => {
    const failures = failuresAt(head(7, attempt('2', 1)));
    failures.newRun();
    failures.blame(failed);
    failures.newRun();
    expect(() => failures.blame(failed)).toThrow('no');
  });
});

test('F3: what timers throw is thrown', () => {
  const failures = failuresAt(head(7));
  run(failures, undefined, { inTimer: true });
  expect(() => run(failures, undefined, { inTimer: true })).toThrow('no');
});

test('what services answer is thrown, whatever ran', () => {
  const failures = failuresAt(head(7));
  failures.newRun();
  expect(() => failures.blame(new SluiceError('STORE_UNCERTAIN', { message: 'lost', next: 'try-again' }))).toThrow('lost');
});
