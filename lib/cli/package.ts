// Where this very package lies: from its sources in `lib/cli`, or built into `dist`.
import { readFileSync } from 'node:fs';

/** True when the sources run, by Node's type stripping. */
export const runsFromSource: boolean = import.meta.url.endsWith('.ts');

let found: { readonly root: URL; readonly version: string } | undefined;

function find(): { readonly root: URL; readonly version: string } {
  for (let directory = new URL('.', import.meta.url); ; directory = new URL('..', directory)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', directory), 'utf8'));
      const { name, version } = manifest as { name?: unknown; version?: unknown };
      if (name === 'sluice' && typeof version === 'string') return { root: directory, version };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (new URL('..', directory).href === directory.href) throw new Error(`no package.json of sluice above ${import.meta.url}`);
  }
}

/** The version in package.json. */
export function packageVersion(): string {
  found ??= find();
  return found.version;
}

/** The module behind a bare `sluice` or `sluice/testing`, or undefined for any other specifier. */
export function ownModule(specifier: string): string | undefined {
  const name = specifier === 'sluice' ? 'index' : specifier === 'sluice/testing' ? 'testing/index' : undefined;
  if (name === undefined) return undefined;
  found ??= find();
  return new URL(runsFromSource ? `lib/${name}.ts` : `dist/${name}.js`, found.root).href;
}

/** A file of this package as its sources or its build has it, by its path below `lib` or `dist` without the ending. */
export function ownFile(path: string): URL {
  found ??= find();
  return new URL(runsFromSource ? `lib/${path}.ts` : `dist/${path}.js`, found.root);
}

/** The module of a worker process of `run --runtime invocations`. */
export function workerModule(): URL {
  found ??= find();
  return new URL(runsFromSource ? 'lib/cli/invocation-worker.ts' : 'dist/cli/invocation-worker.js', found.root);
}
