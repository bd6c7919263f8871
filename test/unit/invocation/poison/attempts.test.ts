import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../../lib/core/errors.ts';
import { decideFailure, isGivenUp, isRecordsFault, triesOf, withoutSettled } from '../../../../lib/invocation/poison/attempts.ts';

const seven = { place: 'in/all', record: '7' };
const eight = { place: 'in/all', record: '8' };
const elsewhere = { place: 'in/other', record: '7' };

describe('a record that throws', () => {
  const cases = [
    ['T1: is tried again the first time', [], { kind: 'try-again', attempts: [{ ...seven, count: 1 }] }],
    ['T1: is tried again below the bound', [{ ...seven, count: 1 }], { kind: 'try-again', attempts: [{ ...seven, count: 2 }] }],
    ['T1: is parked at the bound', [{ ...seven, count: 2 }], { kind: 'park', attempts: [{ ...seven, count: 3 }] }],
    [
      'T2: does not take over the count of another record',
      [{ ...eight, count: 2 }],
      {
        kind: 'try-again',
        attempts: [
          { ...eight, count: 2 },
          { ...seven, count: 1 },
        ],
      },
    ],
    [
      'T2: nor that of the same position elsewhere',
      [{ ...elsewhere, count: 2 }],
      {
        kind: 'try-again',
        attempts: [
          { ...elsewhere, count: 2 },
          { ...seven, count: 1 },
        ],
      },
    ],
  ] as const;
  test.each(cases)('%s', (_, attempts, decision) => {
    expect(decideFailure(attempts, seven, 3)).toEqual(decision);
  });
});

test('T3: a record that has used up its tries is remembered until it is settled, and only it', () => {
  const attempts = [
    { ...seven, count: 3 },
    { ...eight, count: 1 },
  ];
  expect(isGivenUp(attempts, seven, 3)).toBe(true);
  expect(isGivenUp(attempts, eight, 3)).toBe(false);
  expect(triesOf(attempts, elsewhere)).toBe(0);
  expect(withoutSettled(attempts, ({ record }) => record === '7')).toEqual([{ ...eight, count: 1 }]);
});

test('what user code threw is the fault of its record; what a service answered is not, nor is a defect of ours', () => {
  const error = (code: 'USER_FUNCTION_FAILED' | 'TIMESTAMP_INVALID' | 'STORE_UNCERTAIN' | 'OBJECT_MISSING' | 'FUNCTION_ASYNC') =>
    new SluiceError(code, { message: 'm', next: 'fix-the-job' });
  expect(isRecordsFault(error('USER_FUNCTION_FAILED'))).toBe(true);
  expect(isRecordsFault(error('TIMESTAMP_INVALID'))).toBe(true);
  expect(isRecordsFault(error('STORE_UNCERTAIN'))).toBe(false);
  expect(isRecordsFault(error('OBJECT_MISSING'))).toBe(false);
  expect(isRecordsFault(error('FUNCTION_ASYNC'))).toBe(false); // it would park every record there is
  expect(isRecordsFault(new TypeError('undefined is not a function'))).toBe(false);
});
