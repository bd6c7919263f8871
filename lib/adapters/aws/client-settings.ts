// What every client of the runtime is made with; see clients.ts. In a file of its own, so that whoever needs one client installs and loads that one only.

import { NodeHttpHandler } from '@smithy/node-http-handler';

export interface ClientOptions {
  /** Only for an emulator that is not named by the environment. */
  readonly endpoint?: string | undefined;
  /** For one try of one request, ms. */
  readonly requestMs?: number;
  /** Requests to one host at once; more wait in line. */
  readonly socketsMax?: number;
}

export const requestMsDefault = 5_000;
const connectMs = 1_000;
const socketsMaxDefault = 100;
const triesMax = 1;

export interface ClientSettings {
  readonly maxAttempts: number;
  readonly endpoint?: string;
  readonly requestHandler: NodeHttpHandler;
}

/** What every client of the runtime is made with. */
export function clientSettings(o: ClientOptions = {}): ClientSettings {
  const { endpoint, requestMs = requestMsDefault, socketsMax = socketsMaxDefault } = o;
  const handler = new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: requestMs,
    throwOnRequestTimeout: true,
    socketTimeout: requestMs,
    httpAgent: { maxSockets: socketsMax },
    httpsAgent: { maxSockets: socketsMax },
  });
  return { maxAttempts: triesMax, requestHandler: handler, ...(endpoint === undefined ? {} : { endpoint }) };
}
