// A mutation takes one rule out of the product by a patch of its text.

export interface Patch {
  /** Below lib/. */
  readonly file: string;
  /** Occurs exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutation {
  readonly name: string;
  /** What the product promises and the mutation breaks. */
  readonly rule: string;
  readonly patches: readonly Patch[];
}

export function one(name: string, rule: string, file: string, find: string, replace: string): Mutation {
  return { name, rule, patches: [{ file, find, replace }] };
}
