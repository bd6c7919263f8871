import { SluiceError } from '../core/errors.ts';

// names.ts owns what a job name and a uid may look like: they become parts of paths, of transaction names and of keys in tables.

const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

/** Characters of a uid or job name; file systems allow 255 bytes, and what we append needs room. */
export const nameCharactersMax = 120;

/**
 * Checks a job name or a uid.
 * @param what  how the message calls it, such as `the uid of a sink`
 * @throws SluiceError `NAME_INVALID` with the name and the rule
 */
export function checkName(what: string, name: unknown): string {
  if (typeof name === 'string' && name.length <= nameCharactersMax && nameForm.test(name)) return name;
  const shown =
    typeof name === 'string' ? `'${name.length > nameCharactersMax ? `${name.slice(0, nameCharactersMax)}…` : name}'` : String(name);
  throw new SluiceError('NAME_INVALID', {
    message: `${shown} cannot be ${what}: 1 to ${nameCharactersMax} letters (a-z, A-Z), digits, '_', '-' and '.', and the first is no '-' or '.'`,
    next: 'fix-the-job',
    value: name,
  });
}
