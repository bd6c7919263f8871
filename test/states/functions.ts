// Lambda, as far as a state machine sees it: calls of functions by name, answered as the test says.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer =
  | { readonly kind: 'value'; readonly value: unknown }
  /** The code threw. */
  | { readonly kind: 'thrown'; readonly errorType: string }
  /** The service refused, such as 429 `TooManyRequestsException`. */
  | { readonly kind: 'refused'; readonly status: number; readonly type: string }
  | { readonly kind: 'silence' };

export interface Functions {
  readonly endpoint: string;
  /** Payloads of the calls so far. */
  readonly calls: readonly unknown[];
  /** What the next calls are answered with, one after the other; the last answer stays. */
  answers(...answers: readonly Answer[]): void;
  stop(): Promise<void>;
}

export async function startFunctions(): Promise<Functions> {
  const calls: unknown[] = [];
  let due: readonly Answer[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      calls.push(JSON.parse(Buffer.concat(parts).toString('utf8') || 'null'));
      const answer = due[Math.min(calls.length, due.length) - 1];
      if (answer !== undefined) give(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    answers: (...answers) => {
      calls.length = 0;
      due = answers;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function give(response: ServerResponse, answer: Answer): void {
  if (answer.kind === 'silence') return;
  const [status, headers, body] =
    answer.kind === 'value'
      ? [200, {}, answer.value]
      : answer.kind === 'thrown'
        ? [200, { 'x-amz-function-error': 'Unhandled' }, { errorType: answer.errorType, errorMessage: 'as the test wants it' }]
        : [answer.status, { 'x-amzn-errortype': answer.type }, { Type: 'User', message: 'as the test wants it' }];
  response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-requestid': 'request', ...headers });
  response.end(JSON.stringify(body));
}
