// The import table: who may know whom. Values flow api → graph → runtime → state → checkpoint → connectors → adapters, and imports
// point inward to core, so that any directory can be read with only the ones listed beside it in mind. The table below is the rule;
// the rest of the file holds lib/ against it. Change a line of it together with docs/architecture.md.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, readSourceFiles, type SourceFile } from './support/source-files.ts';

interface Row {
  /** Directories whose values this one may use. A directory may always use itself. */
  readonly values: readonly Area[];
  /** Directories of which it may name types only: contracts that it is handed, never code that it calls by name. */
  readonly types?: readonly Area[];
  /** npm packages it may import. */
  readonly packages?: readonly string[];
  /** `pure`: only Node modules that compute; `all`: also those that touch files, processes and clocks. */
  readonly node: 'pure' | 'all';
}

type Area =
  | 'core'
  | 'api'
  | 'graph'
  | 'operators'
  | 'runtime'
  | 'state'
  | 'checkpoint'
  | 'connectors'
  | 'invocation'
  | 'adapters/embedded'
  | 'adapters/sqlite'
  | 'adapters/invocations'
  | 'adapters/aws'
  | 'adapters/kafka'
  | 'aws'
  | 'cdk'
  | 'testing'
  | 'cli'
  | 'entry';

const engine: readonly Area[] = ['core', 'api', 'graph', 'operators', 'runtime', 'state', 'checkpoint', 'connectors'];

const awsPackages = [
  '@aws-sdk/client-cloudformation',
  '@aws-sdk/client-dynamodb',
  '@aws-sdk/client-kinesis',
  '@aws-sdk/client-lambda',
  '@aws-sdk/client-s3',
  '@aws-sdk/client-sfn',
  '@aws-sdk/client-sqs',
  '@smithy/node-http-handler',
];

// biome-ignore format: one row a line reads as the table it is
const table: Record<Area, Row> = {
  core:                { node: 'pure', values: [] },
  api:                 { node: 'pure', values: ['core'] },
  graph:               { node: 'pure', values: ['core', 'api'] },
  operators:           { node: 'pure', values: ['core', 'api', 'graph'], types: ['runtime', 'state', 'checkpoint'] },
  runtime:             { node: 'pure', values: ['core', 'api', 'graph', 'operators'], types: ['state', 'checkpoint'] },
  state:               { node: 'pure', values: ['core', 'api'], types: ['runtime', 'checkpoint'] },
  checkpoint:          { node: 'pure', values: ['core'], types: ['api', 'graph', 'runtime', 'state'] },
  connectors:          { node: 'pure', values: ['core', 'api'], types: ['runtime', 'checkpoint'] },
  invocation:          { node: 'pure', values: ['core', 'api', 'graph', 'operators', 'runtime', 'state', 'checkpoint'], types: ['connectors'] },
  'adapters/embedded': { node: 'all',  values: engine, packages: ['yaml'] },
  'adapters/sqlite':   { node: 'all',  values: ['core', 'invocation'] },
  'adapters/invocations': { node: 'all', values: [...engine, 'invocation', 'adapters/embedded', 'adapters/sqlite'] },
  'adapters/aws':     { node: 'all',  values: [...engine, 'invocation'], packages: awsPackages },
  'adapters/kafka':   { node: 'all',  values: ['core', 'api', 'adapters/aws'], packages: ['@platformatic/kafka', '@aws-sdk/client-secrets-manager'] },
  aws:                 { node: 'all',  values: [...engine, 'invocation', 'adapters/embedded', 'adapters/aws', 'adapters/kafka', 'adapters/invocations', 'cli'], packages: [...awsPackages, '@middy/core', 'esbuild'] },
  cdk:                 { node: 'all',  values: [...engine, 'invocation', 'adapters/embedded', 'adapters/aws', 'adapters/kafka', 'aws', 'cli'], packages: ['aws-cdk-lib', 'constructs'] },
  testing:             { node: 'all',  values: [...engine, 'invocation', 'adapters/embedded', 'entry'] },
  cli:                 { node: 'all',  values: [...engine, 'invocation', 'adapters/embedded', 'adapters/sqlite', 'adapters/invocations', 'adapters/aws', 'testing', 'entry'], packages: ['yaml', ...awsPackages] },
  entry:               { node: 'pure', values: engine },           // lib/index.ts: what `import 'sluice'` loads, and it loads no adapter
};

const pureNodeModules = ['node:buffer', 'node:crypto', 'node:path', 'node:string_decoder', 'node:url', 'node:util', 'node:zlib'];

/** Spellings that would let time, chance or order in by a side door; lint bans the plain globals, these need a look at the text. */
const sideDoors: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\s*\)/, 'reads the clock; take the clock port'],
  [/\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bgetRandomValues\b/, 'draws chance; take the random port'],
  [/\bset(Timeout|Interval|Immediate)\b/, 'schedules; take the clock or scheduler port'],
  [/\bprocess\.(?!call\b)\w+/, 'reads the process; take an argument'],
  [/\bperformance\.now\b|\bhrtime\b/, 'reads the clock; take the clock port'],
];

const lineBounds = { file: 500, functionReported: 70, function: 120 };

const files = readSourceFiles(join(import.meta.dirname, '../../lib'));

function areaOf(path: string): Area | undefined {
  if (!path.includes('/')) return 'entry';
  return (Object.keys(table) as Area[]).find((area) => path.startsWith(`${area}/`));
}

function offences(file: SourceFile): readonly string[] {
  const area = areaOf(file.path);
  if (area === undefined) return [`${file.path}: no row of the table covers it`];
  const row = table[area];
  return file.imports.flatMap((i) => {
    const said = `${file.path} imports '${i.specifier}'`;
    if (i.file !== undefined) {
      const target = areaOf(i.file);
      if (target === undefined || i.file.startsWith('..')) return [`${said}: outside lib/`];
      if (target === area || row.values.includes(target) || (i.typesOnly && row.types?.includes(target))) return [];
      const allowed = [...row.values, ...(row.types ?? []).map((t) => `types of ${t}`)].join(', ');
      return [`${said}: ${area} may use ${allowed || 'nothing of ours'}`];
    }
    if (i.specifier.startsWith('node:')) {
      if (row.node === 'all' || i.typesOnly || pureNodeModules.includes(i.specifier)) return [];
      return [`${said}: ${area} may use only Node modules that compute`];
    }
    const name = i.specifier.split('/', i.specifier.startsWith('@') ? 2 : 1).join('/');
    return row.packages?.includes(name) ? [] : [`${said}: ${area} may not use that package`];
  });
}

/** Cycles among files by imports that remain at run time; each is told once, from its smallest path. */
function cycles(all: readonly SourceFile[]): readonly string[] {
  const next = new Map(all.map((f) => [f.path, f.imports.filter((i) => !i.typesOnly).flatMap((i) => i.file ?? [])]));
  const done = new Set<string>();
  const told: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) told.push([...trail.slice(at), path].join(' → '));
    if (at >= 0 || done.has(path)) return;
    for (const target of next.get(path) ?? []) walk(target, [...trail, path]);
    done.add(path);
  };
  for (const path of next.keys()) walk(path, []);
  return told;
}

describe('the import table', () => {
  test('no file imports what its directory may not know', () => {
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap(offences)).toEqual([]);
  });

  test('no files import each other in a circle at run time', () => {
    expect(cycles(files)).toEqual([]);
  });

  test('time, chance and the process come in through ports only', () => {
    const engineFiles = files.filter((f) => engine.includes(areaOf(f.path) ?? 'cli'));
    const found = engineFiles.flatMap((f) =>
      f.code
        .split('\n')
        .flatMap((text, i) => sideDoors.filter(([door]) => door.test(text)).map(([, why]) => `lib/${f.path}:${i + 1} ${why}`)),
    );
    expect(found).toEqual([]);
  });

  test('the rules catch what they are meant to catch', () => {
    const caught = (path: string, text: string): number => offences(parse(path, text)).length;
    expect(caught('core/a.ts', `import { x } from '../api/x.ts';`)).toBe(1);
    expect(caught('core/a.ts', `export * from '../api/x.ts';`)).toBe(1);
    expect(caught('core/a.ts', `const x = await import('../api/x.ts');`)).toBe(1);
    expect(caught('state/a.ts', `import type { Clock } from '../runtime/ports.ts';`)).toBe(0);
    expect(caught('state/a.ts', `import { type Clock, clock } from '../runtime/ports.ts';`)).toBe(1);
    expect(caught('runtime/a.ts', `import { readFile } from 'node:fs/promises';`)).toBe(1);
    expect(caught('runtime/a.ts', `import YAML from 'yaml';`)).toBe(1);
    expect(caught('cli/a.ts', `import { parse } from 'yaml';`)).toBe(0);
    expect(caught('unknown/a.ts', '')).toBe(1);
    const loop = [parse('core/a.ts', `import { b } from './b.ts';`), parse('core/b.ts', `import { a } from './a.ts';`)];
    expect(cycles(loop)).toEqual(['core/a.ts → core/b.ts → core/a.ts']);
  });
});

describe('size', () => {
  test(`no file of lib/ is longer than ${lineBounds.file} lines`, () => {
    expect(files.filter((f) => f.lines > lineBounds.file).map((f) => `lib/${f.path}: ${f.lines} lines`)).toEqual([]);
  });

  test(`no function of lib/ is longer than ${lineBounds.function} lines, and those over ${lineBounds.functionReported} are named`, () => {
    const long = files.flatMap((f) =>
      f.functions.filter((fn) => fn.lines > lineBounds.functionReported).map((fn) => ({ ...fn, at: `lib/${f.path}:${fn.line}` })),
    );
    if (long.length > 0) console.warn(`long functions:\n${long.map((fn) => `  ${fn.at} ${fn.name}: ${fn.lines} lines`).join('\n')}`);
    expect(long.filter((fn) => fn.lines > lineBounds.function).map((fn) => `${fn.at} ${fn.name}: ${fn.lines} lines`)).toEqual([]);
  });

  test('lines are counted to the function that holds them, not to the one around it', () => {
    const { functions } = parse(
      'core/a.ts',
      ['function outer() {', '  return () => {', '    one();', '    two();', '  };', '}'].join('\n'),
    );
    expect(functions.map((fn) => [fn.name, fn.lines])).toEqual([
      ['outer', 4],
      ['outer', 2],
    ]);
  });
});
