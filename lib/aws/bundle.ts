// One file of JavaScript for each role of a deployed job: its handler, the engine, the clients that it needs, and the user's module, which the handler
// imports as `sluice-job`. It is made in two steps, because the engine and the clients may be minified as far as it goes and the user's code may not.
//   U1  The same sources give the same bytes: names of bundles are hashes of them, and what did not change is not deployed again.
//   U2  Names of the user's code stay: selectors are compared by their texts, and errors name classes.
//   U3  The engine is in it once: what the user's module imports as `sluice` is what the handler works with.
//   U4  A function's credentials are in its environment. The rest of the SDK's search for them (profiles, sign-ins, instances) is a tenth of a bundle
//       and is left out. So are its event streams, which no request of ours has. The user's own clients keep both.
//   U5  The client of streams is left out of a job of which no module says `kinesis` and whose exchange is no stream, that of topics where none says
//       `kafka`.
//   U6  Of the clients' schemas only those of the requests that are made stay (lean-clients.ts). Endpoint discovery and HTTP/2, which no client of ours
//       has on, go.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions } from 'esbuild';
import { ownFunction, ownModule } from '../cli/package.ts';
import { SluiceError } from '../core/errors.ts';
import { leanClients } from './lean-clients.ts';

/** What a bundle is for: a file of `functions/`. `check` runs no user code. */
export type BundledRole = 'stage' | 'pulse' | 'query' | 'check';

export interface BundleRequest {
  readonly role: BundledRole;
  /** Path of the user's module; of `check` none. */
  readonly entry: string | undefined;
  /** A directory that exists; `index.js` is written there. */
  readonly outDir: string;
  /** Streams carry the exchange. */
  readonly hasStreams?: boolean;
}

/** @throws SluiceError `JOB_FILE_MISSING`, `JOB_FILE_IMPORT` when the module cannot be bundled, `PACKAGE_MISSING` without esbuild */
export function bundleRole({ role, entry, outDir, hasStreams = false }: BundleRequest): void {
  if (entry !== undefined && !existsSync(entry))
    throw new SluiceError('JOB_FILE_MISSING', { message: `there is no file ${entry}`, next: 'fix-the-command', file: entry });
  const between = mkdtempSync(join(tmpdir(), 'sluice-bundle-'));
  try {
    const says = role === 'check' ? { kinesis: true, kafka: false } : saidBy(entry);
    if (says.kafka) checkTopicClients();
    joinUserCode({ role, entry, outDir }, buildEngine(role, between, { ...says, kinesis: says.kinesis || hasStreams }));
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new SluiceError('JOB_FILE_IMPORT', { message: `${entry ?? role} cannot be bundled: ${said}`, next: 'fix-the-job', cause: error });
  } finally {
    rmSync(between, { recursive: true, force: true });
  }
}

function common(): BuildOptions {
  return {
    absWorkingDir: process.cwd(),
    nodePaths: [nodeModules()], // of the clients, where the user's module lies elsewhere
    bundle: true,
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'silent',
  };
}

interface Services {
  readonly kinesis: boolean;
  readonly kafka: boolean;
}

/** Looks at the user's module with all that it brings along. More than needed is harmless. */
function saidBy(entry: string | undefined): Services {
  if (entry === undefined) return { kinesis: false, kafka: false };
  const { outputFiles: files = [] } = esbuild().buildSync({
    ...common(),
    entryPoints: [resolve(entry)],
    external: ['sluice', 'sluice/*'],
    format: 'esm',
    write: false,
  });
  const says = (what: RegExp): boolean => files.some(({ text }) => what.test(text));
  const all = says(/import\s*\*\s*as\s+\w+\s+from\s*"sluice"/);
  return { kinesis: all || says(/kinesis/i), kafka: says(/kafka/i) };
}

const topicClients = ['@platformatic/kafka', '@aws-sdk/client-secrets-manager'];

function checkTopicClients(): void {
  const missing = topicClients.filter((name) => !existsSync(join(nodeModules(), name)));
  if (missing.length === 0) return;
  throw new SluiceError('PACKAGE_MISSING', {
    message: `a job that reads a topic needs ${missing.join(' and ')} where it is bundled`,
    next: 'fix-the-command',
    advice: `npm install --save-dev ${missing.join(' ')}`,
  });
}

const credentialsText = `export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';\n`;
const eventStreamsText = `export const eventStreamSerdeProvider = () => undefined;
export const resolveEventStreamSerdeConfig = (input) => input;
export class EventStreamSerde {}
`;
const handlersText = (file: string): string =>
  `export * from ${JSON.stringify(file)};\nexport { NodeHttpHandler as NodeHttp2Handler } from ${JSON.stringify(file)};\n`;
const discoveryText = 'export class EndpointCache {}\n';

/** @returns the file that stands for `sluice` and for `sluice/aws`, of which it has what the role needs */
function buildEngine(role: BundledRole, between: string, says: Services): string {
  const instead = (name: string, text: string): string => {
    const file = join(between, name);
    writeFileSync(file, text);
    return file;
  };
  const nothing = instead('nothing.cjs', 'module.exports = {};\n');
  const [engine, handlers] = [sourceOf('sluice'), sourceOf('sluice/aws')].map((file) => JSON.stringify(file));
  const { outputFiles: files } = esbuild().buildSync({
    ...common(),
    stdin: {
      contents: `export * from ${engine}; export { ${role}Handler } from ${handlers};`,
      resolveDir: between,
    },
    alias: {
      '@aws-sdk/credential-provider-node': instead('credentials.mjs', credentialsText),
      '@aws-sdk/endpoint-cache': instead('no-discovery.mjs', discoveryText),
      ...(says.kinesis ? {} : { '@aws-sdk/client-kinesis': nothing }),
      ...(says.kafka
        ? { '@platformatic/wasm-utils': '@platformatic/wasm-utils/bundled' } // a bundle is one file
        : Object.fromEntries(topicClients.map((name) => [name, nothing]))),
      '@smithy/node-http-handler': instead(
        'http-handlers.mjs',
        handlersText(join(nodeModules(), '@smithy/node-http-handler/dist-es/index.js')),
      ),
      '@smithy/core/event-streams': instead('event-streams.mjs', eventStreamsText),
    },
    format: 'esm',
    minifyIdentifiers: true, // else modules keep their paths as names, and those differ from machine to machine
    write: false,
  });
  const whole = instead('whole.mjs', leanClients(files?.[0]?.text ?? ''));
  const outfile = join(between, 'engine.mjs');
  esbuild().buildSync({ ...common(), entryPoints: [whole], outfile, format: 'esm', minify: true });
  return outfile;
}

function joinUserCode({ role, entry, outDir }: BundleRequest, engine: string): void {
  esbuild().buildSync({
    ...common(),
    entryPoints: [fileURLToPath(ownFunction(role))],
    outfile: join(outDir, 'index.js'),
    // Longer names first: an alias also stands for what begins with it and a slash.
    alias: {
      'sluice/testing': sourceOf('sluice/testing'),
      'sluice/aws': engine,
      sluice: engine,
      ...(entry === undefined ? {} : { 'sluice-job': resolve(entry) }),
    },
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
  });
}

function sourceOf(name: string): string {
  return fileURLToPath(ownModule(name)!);
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
