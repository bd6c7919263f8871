// Reads the TypeScript files below a directory and tells what the house rules ask: which modules a file imports and whether only
// for their types, how long the file is, and how long each of its functions is.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync } from 'vite';

export interface Import {
  /** What stands in the quotes. */
  readonly specifier: string;
  /** The imported file, relative to the root that was read, for a relative specifier; else undefined. */
  readonly file: string | undefined;
  /** True when nothing of the import is left after types are stripped. */
  readonly typesOnly: boolean;
}

export interface SizedFunction {
  readonly name: string;
  readonly line: number;
  /** Lines of the function that are not lines of a function inside it. */
  readonly lines: number;
}

export interface SourceFile {
  /** Path relative to the root that was read, with forward slashes. */
  readonly path: string;
  /** The text with comments blanked out, so that prose is not taken for code. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly SizedFunction[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string' && 'start' in value;

export function readSourceFiles(root: string): readonly SourceFile[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
    .map((path) => parse(path, readFileSync(join(root, path), 'utf8')));
}

/** Parses one file; `path` is only used to resolve relative imports and in messages. */
export function parse(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const first = parsed.errors[0];
  if (first !== undefined) throw new Error(`${path}: ${first.message}`);
  const file = (specifier: string): string | undefined =>
    specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined;
  const imports: Import[] = [];
  const add = (specifier: string, typesOnly: boolean): void => void imports.push({ specifier, file: file(specifier), typesOnly });
  for (const i of parsed.module.staticImports) {
    add(i.moduleRequest.value, i.entries.length > 0 && i.entries.every((entry) => entry.isType));
  }
  for (const e of parsed.module.staticExports.flatMap((one) => one.entries)) {
    if (e.moduleRequest) add(e.moduleRequest.value, e.isType);
  }
  for (const d of parsed.module.dynamicImports) {
    const literal = /^['"](.*)['"]$/.exec(text.slice(d.moduleRequest.start, d.moduleRequest.end));
    if (literal?.[1] !== undefined) add(literal[1], false);
  }
  let code = text;
  for (const c of parsed.comments) {
    code = code.slice(0, c.start) + code.slice(c.start, c.end).replace(/[^\n]/g, ' ') + code.slice(c.end);
  }
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return { path, code, lines, imports, functions: sizeFunctions(parsed.program as unknown as Node, text) };
}

function sizeFunctions(program: Node, text: string): readonly SizedFunction[] {
  const lineOf = lineFinder(text);
  const found: SizedFunction[] = [];
  // Returns the lines that functions below `node` take up, outermost ones only.
  const visit = (node: Node, name: string): number => {
    let inner = 0;
    const named = nameOf(node) ?? name;
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) inner += visit(child, named);
    }
    if (!isFunction(node)) return inner;
    const line = lineOf(node.start);
    const span = lineOf(node.end) - line + 1;
    found.push({ name: named, line, lines: span - inner });
    return span > 1 ? span : 0;
  };
  visit(program, '(module)');
  return found;
}

const isFunction = (node: Node): boolean =>
  node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression';

function nameOf(node: Node): string | undefined {
  const id = isNode(node.id) ? node.id : isNode(node.key) ? node.key : undefined;
  return typeof id?.name === 'string' ? id.name : undefined;
}

function lineFinder(text: string): (position: number) => number {
  const starts = [0];
  for (let i = 0; i < text.length; i++) if (text[i] === '\n') starts.push(i + 1);
  return (position) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= position) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
