// What a bundler keeps of the AWS clients though nobody needs it.
//   L1  Schemas are plain data that could be left out, but for one thing: they are written with keys in brackets, `[_h]: "PUT"`, where `_h` is the text
//       "http". A key in brackets may run code, so a bundler keeps all of them, and a client of which six requests are used brings the schemas of a
//       hundred: a tenth of a function. Written out, what nobody uses goes.
//   L2  Of its `package.json` a client reads the version, and brings all of it.
//   L3  An exception of a client says its name and whose fault it is twice, to its base class and beside it, and puts itself under its own prototype
//       again, because its base class has taken it from there. Were neither to do so, it would be where `new` puts it.

const sectionOf = /^\/\/ \S/;
const schemasOf = /^\/\/ (?:.*\/)?@aws-sdk\/client-[^/]+\/.*\/schemas_\d+\.js$/;
const packageOf = /^\/\/ (?:.*\/)?@aws-sdk\/client-[^/]+\/package\.json$/;
const errorsOf = /^\/\/ (?:.*\/)?@aws-sdk\/client-[^/]+\/.*\/models\/(?:errors|\w+ServiceException)\.js$/;
const saidTwice = /^\s+(?:name = "\w+"|\$fault = "\w+"|Object\.setPrototypeOf\(this, [\w$]+\.prototype\));$/;
const constant = /^var ([\w$]+) = ("[^"\\]*");$/;
const bracketed = /\[([\w$]+)\]: /g;
const packageBegins = /^var [\w$]+ = \{$/;
const packageEnds = '};';
const packageVersion = /^ {2}"?version"?: "/;

/**
 * Pure.
 * @param text a bundle of esbuild with its white space: it says before each module where it is from
 * @returns the same program
 */
export function leanClients(text: string): string {
  return sections(text)
    .flatMap(([origin, lines]) => {
      if (schemasOf.test(origin)) return withPlainKeys(lines);
      if (errorsOf.test(origin)) return lines.filter((line) => !saidTwice.test(line));
      return packageOf.test(origin) ? withVersionOnly(lines) : lines;
    })
    .join('\n');
}

function sections(text: string): readonly (readonly [origin: string, lines: readonly string[]])[] {
  const all: [string, string[]][] = [['', []]];
  for (const line of text.split('\n')) {
    if (sectionOf.test(line)) all.push([line, []]);
    all.at(-1)![1].push(line);
  }
  return all;
}

function withPlainKeys(lines: readonly string[]): readonly string[] {
  const texts = new Map<string, string>();
  return lines.map((line) => {
    const [, name, value] = constant.exec(line) ?? [];
    if (name !== undefined && value !== undefined) texts.set(name, value);
    return line.replace(bracketed, (all, key: string) => (texts.has(key) ? `${texts.get(key)}: ` : all));
  });
}

/** As it is where it does not look as expected. */
function withVersionOnly(lines: readonly string[]): readonly string[] {
  const [begin, version, end] = [
    lines.findIndex((line) => packageBegins.test(line)),
    lines.find((line) => packageVersion.test(line)),
    lines.indexOf(packageEnds),
  ];
  if (begin === -1 || version === undefined || end < begin) return lines;
  return [...lines.slice(0, begin + 1), version.replace(/,$/, ''), ...lines.slice(end)];
}
