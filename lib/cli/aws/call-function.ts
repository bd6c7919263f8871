// Calls a function of a deployed job and waits for its answer.
import { thrownByFunction } from '../../adapters/aws/thrown.ts';
import { type AwsPlace, asked, loadClient } from './sdk.ts';

export interface FunctionCaller {
  /**
   * @returns what it answers
   * @throws SluiceError with the code that the function threw, or as `asked`
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
      const command = new sdk.InvokeCommand({ FunctionName: name, Payload: Buffer.from(JSON.stringify(event)) });
      const { FunctionError: failed, Payload: payload } = await asked(`lambda:InvokeFunction on ${name}`, place, () =>
        client.send(command),
      );
      const text = Buffer.from(payload ?? []).toString('utf8');
      const said: unknown = text === '' ? undefined : JSON.parse(text);
      if (failed !== undefined) throw thrownByFunction(name, said);
      return said;
    },
    close: () => client.destroy(),
  };
}
