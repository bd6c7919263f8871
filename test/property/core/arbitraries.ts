import fc from 'fast-check';

// Values and keys as users have them, with a taste for the corners: lone surrogates, -0, names of Object.prototype, shared prefixes.

const anyUnits: fc.Arbitrary<string> = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units));
const corners: fc.Arbitrary<string> = fc.constantFrom(
  '',
  '\0',
  '\x01',
  'a',
  'a\0',
  'a\x01',
  'ab',
  '__proto__',
  'constructor',
  '\ud800',
  '\udc00',
  '\ud800\udc00',
  '\uffff',
  'é',
);

export const text: fc.Arbitrary<string> = fc.oneof(
  corners,
  anyUnits,
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

export const numbers: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    2 ** 53,
    5e-324,
    Number.MAX_VALUE,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ),
  fc.integer(),
  fc.double(),
);

export const bigints: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: -300n, max: 300n }),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  fc.bigInt({ min: -(2n ** 1_100n), max: 2n ** 1_100n }),
);

export const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.array(fc.constantFrom(0, 1, 2, 255), { maxLength: 4 }).map((a) => Uint8Array.from(a)),
);

/** A plain object with any own property names, defined so that `__proto__` is one of them. */
export function objectsOf<T>(of: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<Record<string, T>> {
  return fc.array(fc.tuple(text, of), { maxLength }).map((properties) => {
    const o: Record<string, T> = {};
    for (const [name, value] of properties) Object.defineProperty(o, name, { value, enumerable: true, configurable: true, writable: true });
    return o;
  });
}

export const keys: fc.Arbitrary<unknown> = fc.letrec<{ key: unknown }>((tie) => ({
  key: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(text, numbers, bigints, fc.boolean(), bytes),
    fc.array(tie('key'), { maxLength: 3 }),
    objectsOf(tie('key'), 3),
  ),
})).key;

/** Every sort of value that state keeps. */
export const values: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(text, numbers, bigints, fc.boolean(), fc.constantFrom(null, undefined), bytes, fc.date({ noInvalidDate: false })),
    fc.array(tie('value'), { maxLength: 20 }),
    objectsOf(tie('value'), 20),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 4 }).map((members) => new Set(members)),
  ),
})).value;

/** Values of plain objects, arrays and primitives only. */
export const plainValues: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(text, numbers, bigints, fc.boolean(), fc.constantFrom(null, undefined)),
    fc.array(tie('value'), { maxLength: 20 }),
    objectsOf(tie('value'), 20),
  ),
})).value;
