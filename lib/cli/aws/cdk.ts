// The CDK's own command line, as the user has it installed. Everything that changes an account by a stack goes through it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { SluiceError } from '../../core/errors.ts';
import type { Output } from '../output.ts';
import { emulatorVariables } from './endpoint.ts';
import { gathered } from './job-app.ts';
import type { AwsPlace } from './sdk.ts';

/** What has to be installed besides this package. */
const needed = ['aws-cdk', 'aws-cdk-lib', 'constructs', 'esbuild'] as const;

export interface Cdk {
  /** @throws SluiceError `DEPLOYMENT_FAILED` */
  run(words: readonly string[]): Promise<void>;
}

/**
 * @param directory  of the user's project, where the CDK is looked for first
 * @throws SluiceError `PACKAGE_MISSING` naming all that is to be installed
 */
export function findCdk(directory: string, place: AwsPlace, output: Output): Cdk {
  const manifests = needed.map((name) => [name, manifestOf(name, directory)] as const);
  const missing = manifests.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) {
    throw new SluiceError('PACKAGE_MISSING', {
      message: `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} needed to deploy a job and not installed`,
      next: 'fix-the-command',
      advice: `npm install --save-dev ${missing.join(' ')}`,
    });
  }
  const program = programOf(manifests[0]![1]!);
  return { run: (words) => runProgram(program, words, place, output) };
}

/** The app runs beside this package, so that what it needs may lie there too. */
function manifestOf(name: string, directory: string): string | undefined {
  for (const from of [join(directory, 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve(`${name}/package.json`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}

function programOf(manifest: string): string {
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: { readonly cdk: string } };
  return join(dirname(manifest), bin.cdk);
}

/** Its words are progress, so all of them go to standard error; with --json they are kept for the error. */
async function runProgram(program: string, words: readonly string[], { endpoint }: AwsPlace, output: Output): Promise<void> {
  output.note(`cdk ${words.slice(0, 2).join(' ')}`);
  const env = endpoint === undefined ? process.env : { ...process.env, ...emulatorVariables(endpoint, process.env) };
  const child = spawn(process.execPath, [program, ...words, '--no-notices'], {
    env: output.json ? { ...env, CI: undefined } : env,
    stdio: output.json ? ['ignore', 'ignore', 'pipe'] : ['inherit', 2, 2],
  });
  const said = gathered(child);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? -1));
  });
  if (code === 0) return;
  const why = said();
  throw new SluiceError('DEPLOYMENT_FAILED', {
    message: `\`cdk ${words[0]}\` ended with ${code}${why === '' ? '; what it said is above' : `: ${why}`}`,
    next: 'try-again',
    advice: 'CloudFormation has left or taken everything back as it was; correct what it names and run the command again',
  });
}
