// Types over users' data: what may be a key, what a read of state gives, what may be written to it.

type Leaf = string | number | bigint | boolean | symbol | null | undefined | ((...a: never[]) => unknown);

/** A type and everything it holds, read only: what a read of state gives, since state owns its values. */
export type DeepReadonly<T> = T extends Leaf
  ? T
  : T extends Date | Uint8Array
    ? Readonly<T>
    : T extends Map<infer K, infer V>
      ? ReadonlyMap<DeepReadonly<K>, DeepReadonly<V>>
      : T extends Set<infer V>
        ? ReadonlySet<DeepReadonly<V>>
        : T extends object
          ? { readonly [P in keyof T]: DeepReadonly<T[P]> }
          : T;

/**
 * `K` when every leaf of it may be part of a key, else `never`: strings, numbers, bigints, booleans, bytes, and tuples and objects
 * (interfaces too) of these.
 */
export type Key<K> = K extends string | number | bigint | boolean | Uint8Array
  ? K
  : K extends Date | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | Leaf
    ? never
    : K extends readonly unknown[]
      ? { [I in keyof K]: Key<K[I]> }
      : K extends object
        ? { [P in keyof K]: Key<K[P]> }
        : never;

/** What a state takes: a value, or what was read from a state. */
export type Writable<T> = T | DeepReadonly<T>;

/** Names of the fields that can be added up. */
export type NumericField<T> = { [P in keyof T]-?: T[P] extends number | bigint ? P : never }[keyof T];

/** Names of the fields that have an order. */
export type ComparableField<T> = { [P in keyof T]-?: T[P] extends number | bigint | string | boolean | Date ? P : never }[keyof T];
