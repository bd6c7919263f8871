// Calls a function of a deployed job and waits for its answer.
import { SluiceError } from '../../core/errors.ts';
import { type AwsPlace, loadClient } from './sdk.ts';

export interface FunctionCaller {
  /**
   * @returns what it answers
   * @throws SluiceError with the code that the function threw
   */
  call(name: string, event: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): void;
}

const answerWithinMs = 70_000; // a pulse's own time-out is a minute

export async function functionCaller(place: AwsPlace): Promise<FunctionCaller> {
  const sdk = await loadClient('@aws-sdk/client-lambda', () => import('@aws-sdk/client-lambda'));
  const client = new sdk.LambdaClient({
    ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }),
    requestHandler: { connectionTimeout: 3_000, requestTimeout: answerWithinMs, throwOnRequestTimeout: true },
    maxAttempts: 1, // a call that is made again may run twice at once
  });
  return {
    call: async (name, event) => {
      const { FunctionError: failed, Payload: payload } = await client.send(
        new sdk.InvokeCommand({ FunctionName: name, Payload: Buffer.from(JSON.stringify(event)) }),
      );
      const text = Buffer.from(payload ?? []).toString('utf8');
      const said: unknown = text === '' ? undefined : JSON.parse(text);
      if (failed !== undefined) throw thrownBy(name, said);
      return said;
    },
    close: () => client.destroy(),
  };
}

/** Pure: what a function threw, under its own code when it has one. */
export function thrownBy(name: string, said: unknown): SluiceError {
  const { errorType, errorMessage } = (said ?? {}) as { readonly errorType?: string; readonly errorMessage?: string };
  // A handler's error carries its code as `CODE: message`, since Lambda keeps only a name and a message of it.
  const coded = /^([A-Z][A-Z0-9_]+): ([\s\S]*)$/.exec(errorMessage ?? '');
  const code = coded?.[1] ?? 'FUNCTION_FAILED';
  const message = coded?.[2] ?? `${errorType ?? 'an error'}: ${errorMessage ?? 'without a message'}`;
  return new SluiceError(code, { message: `${name}: ${message}`, next: 'try-again', function: name });
}
