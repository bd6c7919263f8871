// One file of JavaScript for each role of a deployed job: its handler, the engine, the clients that it needs, and the user's module, which the handler
// imports as `sluice-job`.
//   U1  The same sources give the same bytes: names of bundles are hashes of them, and what did not change is not deployed again.
//   U2  Names of the user's code stay: selectors are compared by their texts, and errors name classes.
//   U3  The engine is in it once: what the user's module imports as `sluice` is what the handler works with.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownFunction, ownModule } from '../cli/package.ts';
import { SluiceError } from '../core/errors.ts';

/** What a bundle is for: a file of `functions/`. `check` runs no user code. */
export type BundledRole = 'stage' | 'pulse' | 'query' | 'check';

export interface BundleRequest {
  readonly role: BundledRole;
  /** Path of the user's module; of `check` none. */
  readonly entry: string | undefined;
  /** A directory that exists; `index.js` is written there. */
  readonly outDir: string;
}

/** @throws SluiceError `JOB_FILE_MISSING`, `JOB_FILE_IMPORT` when the module cannot be bundled, `PACKAGE_MISSING` without esbuild */
export function bundleRole({ role, entry, outDir }: BundleRequest): void {
  const root = process.cwd();
  if (entry !== undefined && !existsSync(entry))
    throw new SluiceError('JOB_FILE_MISSING', { message: `there is no file ${entry}`, next: 'fix-the-command', file: entry });
  const own = ['sluice', 'sluice/testing', 'sluice/aws'].flatMap((name) => {
    const url = ownModule(name);
    return url === undefined ? [] : [[name, fileURLToPath(url)] as const];
  });
  try {
    esbuild().buildSync({
      entryPoints: [fileURLToPath(ownFunction(role))],
      outfile: join(outDir, 'index.js'),
      // Longer names first: an alias also stands for what begins with it and a slash.
      alias: { ...Object.fromEntries(own.reverse()), ...(entry === undefined ? {} : { 'sluice-job': resolve(root, entry) }) },
      nodePaths: [nodeModules()], // of the clients, where the user's module lies elsewhere
      bundle: true,
      platform: 'node',
      target: 'node24',
      format: 'cjs',
      mainFields: ['module', 'main'],
      minifyWhitespace: true,
      legalComments: 'none',
      charset: 'utf8',
      logLevel: 'silent',
      absWorkingDir: root,
    });
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new SluiceError('JOB_FILE_IMPORT', { message: `${entry ?? role} cannot be bundled: ${said}`, next: 'fix-the-job', cause: error });
  }
}

type Esbuild = typeof import('esbuild');

function esbuild(): Esbuild {
  try {
    return createRequire(import.meta.url)('esbuild') as Esbuild;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new SluiceError('PACKAGE_MISSING', {
      message: 'esbuild is needed to deploy a job and is not installed',
      next: 'fix-the-command',
      advice: 'npm install --save-dev esbuild',
      cause: error,
    });
  }
}

/** The `node_modules` that has this package's peers. */
function nodeModules(): string {
  const found = createRequire(import.meta.url).resolve('esbuild/package.json');
  return dirname(dirname(found));
}
