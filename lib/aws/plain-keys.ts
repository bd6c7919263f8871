// The schemas of an AWS client are plain data that a bundler could leave out, but for one thing: they are written with keys in brackets, `[_h]: "PUT"`,
// where `_h` is the text "http". A key in brackets may run code, so a bundler keeps all of them, and a client of which six requests are used
// brings the schemas of a hundred: a tenth of a function. Written out, what nobody uses goes.

const sectionOf = /^\/\/ \S/;
const schemasOf = /^\/\/ (?:.*\/)?@aws-sdk\/client-[^/]+\/.*\/schemas_\d+\.js$/;
const constant = /^var ([\w$]+) = ("[^"\\]*");$/;
const bracketed = /\[([\w$]+)\]: /g;

/**
 * Pure.
 * @param text a bundle of esbuild with its white space: it says before each module where it is from
 * @returns the same program
 */
export function plainKeys(text: string): string {
  const texts = new Map<string, string>();
  let isInSchemas = false;
  const written = text.split('\n').map((line) => {
    if (sectionOf.test(line)) isInSchemas = schemasOf.test(line);
    if (!isInSchemas) return line;
    const [, name, value] = constant.exec(line) ?? [];
    if (name !== undefined && value !== undefined) texts.set(name, value);
    return line.replace(bracketed, (all, key: string) => (texts.has(key) ? `${texts.get(key)}: ` : all));
  });
  return written.join('\n');
}
