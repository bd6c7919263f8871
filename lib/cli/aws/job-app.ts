// The app of `sluice deploy` and `sluice destroy`, run in a process of its own: it loads CDK and the user's module, and neither belongs into a command.
// What it makes is an assembly on disk, and nothing else; whatever is wrong with the job or its bindings is told before CloudFormation is asked anything.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExchangeKind } from '../../adapters/aws/exchange-place.ts';
import { type Next, SluiceError } from '../../core/errors.ts';
import { deployApp } from '../package.ts';

/** What the stack is to hold. */
export interface AppJob {
  /** Path of the job's module. */
  readonly entry: string;
  /** Name in the job → the name, the ARN or the `s3://` address of what stands behind it. */
  readonly bind: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
  /** What carries records from stage to stage. */
  readonly exchange: ExchangeKind;
  /** Names of stores that are there already; absent: they are made. */
  readonly table: string | undefined;
  readonly bucket: string | undefined;
}

export interface AppRequest {
  readonly stack: string;
  /** Where the assembly is written. */
  readonly directory: string;
  /** Absent: the stack is to go. */
  readonly job: AppJob | undefined;
}

/** An error of the app, told across processes. */
export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly next: Next;
  readonly details: Readonly<Record<string, unknown>>;
}

export type AppAnswer = { readonly kind: 'made' } | { readonly kind: 'failed'; readonly error: ToldError };

/** The output that says that a stack holds what `sluice deploy` put there and nothing else. */
export const appOutput = 'SluiceApp';

/** @throws SluiceError as `SluiceJob` does, and `DEPLOYMENT_FAILED` when the process ended without an answer */
export async function makeAssembly(request: AppRequest): Promise<void> {
  const child = fork(fileURLToPath(deployApp()), [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const said = gathered(child);
  const answer = await new Promise<AppAnswer | undefined>((resolve, reject) => {
    let answered: AppAnswer | undefined;
    child.once('error', reject);
    child.on('message', (message) => {
      answered = message as AppAnswer;
    });
    child.once('close', () => resolve(answered));
    child.send(request);
  });
  if (answer?.kind === 'made') return;
  if (answer !== undefined) {
    const { code, message, next, details } = answer.error;
    throw new SluiceError(code, { ...details, message, next });
  }
  throw new SluiceError('DEPLOYMENT_FAILED', {
    message: `the app of stack ${request.stack} ended without a word: ${said() || `exit code ${child.exitCode}`}; nothing was changed`,
    next: 'report-a-bug',
  });
}

const saidCharactersMax = 4_000;

/** The end of what a process says on standard error. */
export function gathered(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = `${text}${more}`.slice(-saidCharactersMax);
  });
  return () => text.trim();
}
