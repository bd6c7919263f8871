import type { KeyedFactory } from '../api/compositions.ts';
import { SluiceError } from '../core/errors.ts';
import { nameOfKind } from '../core/kinds.ts';
import { rollingReduce } from './reduce.ts';

// field-functions.ts owns the rolling results over one field of a record. `sum`, `min` and `max` keep the other fields of the key's first
// record, as in Flink; `minBy` and `maxBy` give a record as it came.

type Row = Readonly<Record<PropertyKey, unknown>>;
type Ordered = number | bigint | string | boolean | Date;

/** `keyed.sum(field)`; numbers and bigints. */
export function rollingSum(field: PropertyKey): KeyedFactory {
  return rollingReduce((before, value) => {
    const a = (before as Row)[field];
    const b = (value as Row)[field];
    if (typeof a === 'number' && typeof b === 'number') return { ...(before as Row), [field]: a + b };
    if (typeof a === 'bigint' && typeof b === 'bigint') return { ...(before as Row), [field]: a + b };
    throw notSummable(field, a, b);
  });
}

/** `keyed.min(field)` and `keyed.max(field)`. */
export function rollingExtreme(wanted: 'least' | 'greatest', field: PropertyKey): KeyedFactory {
  return rollingReduce((before, value) => {
    const a = (before as Row)[field];
    const b = (value as Row)[field];
    return isBetter(wanted, b, a) ? { ...(before as Row), [field]: b } : before;
  });
}

/** `keyed.minBy(field)` and `keyed.maxBy(field)`; of equal records the first or the last. */
export function rollingExtremeBy(wanted: 'least' | 'greatest', field: PropertyKey, first: boolean): KeyedFactory {
  return rollingReduce((before, value) => {
    const a = (before as Row)[field];
    const b = (value as Row)[field];
    if (isBetter(wanted, b, a)) return value;
    return first || isBetter(wanted, a, b) ? before : value;
  });
}

function isBetter(wanted: 'least' | 'greatest', a: unknown, b: unknown): boolean {
  return wanted === 'least' ? (a as Ordered) < (b as Ordered) : (a as Ordered) > (b as Ordered);
}

function notSummable(field: PropertyKey, a: unknown, b: unknown): SluiceError {
  const name = String(field);
  return new SluiceError('FIELD_NOT_SUMMABLE', {
    message: `sum('${name}') adds numbers, or bigints, and met ${nameOfKind(a)} and ${nameOfKind(b)}`,
    next: 'fix-the-job',
    field: name,
  });
}
