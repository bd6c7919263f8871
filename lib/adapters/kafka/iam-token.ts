// The token by which a client of an MSK cluster proves its role: a request to connect, signed (version 4) and not sent.

import { createHash, createHmac } from 'node:crypto';

export interface TokenRequest {
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string | undefined };
  readonly nowMs: number;
}

const service = 'kafka-cluster';
const lifeSeconds = 900;

/** Pure. */
export function iamToken({ region, credentials, nowMs }: TokenRequest): string {
  const host = `kafka.${region}.amazonaws.com`;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const query = [
    ['Action', `${service}:Connect`],
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${accessKeyId}/${scope}`],
    ['X-Amz-Date', time],
    ['X-Amz-Expires', String(lifeSeconds)],
    ...(sessionToken === undefined ? [] : [['X-Amz-Security-Token', sessionToken]]),
    ['X-Amz-SignedHeaders', 'host'],
  ]
    .map((pair) => pair.map(encoded).join('='))
    .join('&');
  const request = ['GET', '/', query, `host:${host}\n`, 'host', sha256('')].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n');
  const key = scope.split('/').reduce<string | Uint8Array>((from, part) => hmac(from, part), `AWS4${secretAccessKey}`);
  const signature = Buffer.from(hmac(key, text)).toString('hex');
  const url = `https://${host}/?${query}&X-Amz-Signature=${signature}&User-Agent=sluice`;
  return Buffer.from(url).toString('base64url');
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Uint8Array, text: string): Uint8Array {
  return createHmac('sha256', key).update(text).digest();
}
