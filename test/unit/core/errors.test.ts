import { describe, expect, test } from 'vitest';
import { describeError, isSluiceError, SluiceError } from '../../../lib/core/errors.ts';

const tooLarge = (cause?: unknown): SluiceError =>
  new SluiceError('STATE_TOO_LARGE', {
    message: 'state is 6 MiB, the limit is 5 MiB',
    next: 'fix-the-job',
    cause,
    operator: 'totals',
    state: 'basket',
  });

describe('an error of ours', () => {
  test('keeps its code, what happens next, its cause, and every further field as a detail', () => {
    const cause = new Error('disk');
    const e = tooLarge(cause);
    expect(e).toBeInstanceOf(Error);
    expect({ code: e.code, next: e.next, message: e.message, cause: e.cause, details: e.details }).toEqual({
      code: 'STATE_TOO_LARGE',
      next: 'fix-the-job',
      message: 'state is 6 MiB, the limit is 5 MiB',
      cause,
      details: { operator: 'totals', state: 'basket' },
    });
  });

  test('has no cause of its own when none was given', () => {
    expect(Object.hasOwn(tooLarge(), 'cause')).toBe(false);
  });

  test('is told again with more of its place, and what it knew before wins', () => {
    const e = tooLarge().at({ job: 'shop', state: 'unknown' });
    expect(e.details).toEqual({ job: 'shop', operator: 'totals', state: 'basket' });
    expect(e.message).toBe(tooLarge().message);
  });

  test('is recognised, and so is one that a second copy of the package made', () => {
    const foreign = Object.assign(new Error('x'), { code: 'X', next: 'try-again', details: {}, [Symbol.for('sluice.error')]: true });
    expect([isSluiceError(tooLarge()), isSluiceError(foreign), isSluiceError(new Error('x')), isSluiceError(null)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('the description of an error', () => {
  test('is one line with code, sentence and place, then each cause, then what to do', () => {
    const e = tooLarge(new Error('no space', { cause: new TypeError('quota') }));
    expect(describeError(e).split('\n')).toEqual([
      'STATE_TOO_LARGE: state is 6 MiB, the limit is 5 MiB (operator totals, state basket)',
      '  because: no space',
      '  because: TypeError: quota',
      '  next: change the job and run it again',
    ]);
    expect(String(e)).toBe('STATE_TOO_LARGE: state is 6 MiB, the limit is 5 MiB (operator totals, state basket)');
  });

  test('does not repeat a place that the sentence names already', () => {
    const e = new SluiceError('X', { message: 'file a.csv is missing', next: 'fix-the-command', file: 'a.csv', line: 3 });
    expect(String(e)).toBe('X: file a.csv is missing (line 3)');
  });

  test('tells a place that the sentence only seems to name: a letter of a word, a number of something else', () => {
    const e = new SluiceError('X', { message: 'value is 3 MB', next: 'fix-the-job', state: 'a', operator: 'alu', line: 3 });
    expect(String(e)).toBe('X: value is 3 MB (operator alu, state a, line 3)');
    expect(String(new SluiceError('X', { message: 'a.csv:3: no', next: 'fix-the-job', file: 'a.csv', line: 3 }))).toBe('X: a.csv:3: no');
  });

  test('gives the advice that the error brings along instead of the general one', () => {
    const e = new SluiceError('X', { message: 'm', next: 'try-again', advice: 'free some space' });
    expect(describeError(e)).toBe('X: m\n  next: free some space');
  });

  test('stays on one line and of bounded length, whatever a user function threw', () => {
    for (const thrown of [
      'a\nb\u0000c',
      {
        toString: () => {
          throw new Error('x');
        },
      },
      Symbol('s'),
      undefined,
      'y'.repeat(10_000),
      Object.create(null),
    ]) {
      const text = describeError(thrown);
      expect(text.includes('\n')).toBe(false);
      expect(text.length).toBeLessThan(1_100);
    }
  });

  test('writes out what a terminal would act on, and what turns text around', () => {
    const e = new SluiceError('X', { message: 'a\u001b[2Jb\u0000\u009b \u202eevil\r\n\tend é 東', next: 'try-again' });
    expect(String(e)).toBe('X: a\\x1b[2Jb\\x00\\x9b \\u202eevil end é 東');
  });

  test('ends although a cause refers back to itself', () => {
    const e = new Error('round');
    e.cause = e;
    expect(describeError(new SluiceError('X', { message: 'm', next: 'try-again', cause: e })).split('\n').length).toBeLessThan(10);
  });
});
