import { expect, test } from 'vitest';
import { tellFailure } from '../../../lib/cli/failure.ts';
import { Output } from '../../../lib/cli/output.ts';
import { SluiceError } from '../../../lib/core/errors.ts';

function told(error: unknown, json: boolean): string {
  let text = '';
  const stream = {
    write(more: string, done?: () => void): boolean {
      text += more;
      done?.();
      return true;
    },
  };
  const output = new Output({ json, verbose: false, out: stream, err: stream });
  expect(tellFailure(output, error)).toBe(1);
  void output.end();
  return text;
}

test.each(['recover-subtask', 'retry-invocation'] as const)(
  'a command that ends with what a job would %s by itself says to run it again',
  (next) => {
    const error = new SluiceError('SINK_NOT_WRITTEN', { message: 'the target is down', next, operator: 's' });
    expect(told(error, false)).toBe(
      'sluice: SINK_NOT_WRITTEN: the target is down (operator s)\n  next: run it again later; if it stays, look at the cause\n',
    );
    expect(JSON.parse(told(error, true))).toMatchObject({
      error: { code: 'SINK_NOT_WRITTEN', next: 'try-again', details: { operator: 's' } },
    });
  },
);
