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

const modules: ReadonlyMap<string, string> = new Map([
  ['sluice', 'index'],
  ['sluice/testing', 'testing/index'],
  ['sluice/aws', 'aws/index'],
]);

/** The module behind a bare `sluice`, `sluice/testing` or `sluice/aws`, or undefined for any other specifier. */
export function ownModule(specifier: string): string | undefined {
  const name = modules.get(specifier);
  if (name === undefined) return undefined;
  found ??= find();
  return new URL(runsFromSource ? `lib/${name}.ts` : `dist/${name}.js`, found.root).href;
}

/** The handler of a role, which is bundled with a job's module for Lambda; it is delivered as it was written. */
export function ownFunction(role: string): URL {
  found ??= find();
  return new URL(`functions/${role}.ts`, found.root);
}

/** The module of a worker process of `run --runtime invocations`. */
export function workerModule(): URL {
  found ??= find();
  return new URL(runsFromSource ? 'lib/cli/invocation-worker.ts' : 'dist/cli/invocation-worker.js', found.root);
}

/** The module of the process that makes the stack of `deploy`. */
export function deployApp(): URL {
  found ??= find();
  return new URL(runsFromSource ? 'lib/cdk/deploy-app.ts' : 'dist/cdk/deploy-app.js', found.root);
}
