// The process of the app (lib/cli/aws/job-app.ts calls it): takes a request, makes the assembly, and tells what came of it.

import type { AppAnswer, AppRequest, ToldError } from '../cli/aws/job-app.ts';
import { isSluiceError } from '../core/errors.ts';
import { synthesise } from './job-app.ts';

function told(error: unknown): ToldError {
  if (isSluiceError(error)) return { code: error.code, message: error.message, next: error.next, details: { ...error.details } };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { code: 'DEPLOYMENT_FAILED', message: `the stack cannot be made: ${message}`, next: 'fix-the-job', details: { stack } };
}

function answerTo(request: AppRequest): AppAnswer {
  try {
    synthesise(request);
    return { kind: 'made' };
  } catch (error) {
    return { kind: 'failed', error: told(error) };
  }
}

process.once('message', (request: AppRequest) => {
  process.send?.(answerTo(request), () => process.disconnect());
});
