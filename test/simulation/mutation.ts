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

/** What notices that a rule is gone where no seed of the own simulation can: another simulation, by a rule that it knows, or a test. */
export type Catcher = { readonly of: string; readonly rule: string } | { readonly file: string; readonly title: string };

export interface Reason {
  readonly caughtBy: Catcher;
  /** Why no seed of the own simulation notices. */
  readonly why: string;
}

/** By name of the mutation. */
export type Reasons = Readonly<Record<string, Reason>>;

export function one(name: string, rule: string, file: string, find: string, replace: string): Mutation {
  return { name, rule, patches: [{ file, find, replace }] };
}

/**
 * What the texts of files become under a mutation.
 * @param read  text of a file below lib/
 * @throws Error naming a patch whose text does not occur exactly once: the product has changed, and the mutation has to follow
 */
export function patched({ name, patches }: Mutation, read: (file: string) => string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { file, find, replace } of patches) {
    const text = texts.get(file) ?? read(file);
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`lib/${file} holds the text of mutation '${name}' ${times} times, not once: ${find}`);
    texts.set(
      file,
      text.replace(find, () => replace),
    );
  }
  return texts;
}
