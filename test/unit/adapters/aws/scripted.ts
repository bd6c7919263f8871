// The ports over real clients whose requests are answered from a script, in the bytes that services send: what is under test is everything from
// the wire to the port.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { KinesisClient } from '@aws-sdk/client-kinesis';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { openAwsPorts } from '../../../../lib/adapters/aws/aws-ports.ts';
import type { AwsClients } from '../../../../lib/adapters/aws/clients.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { seededRandom } from '../../../../lib/testing/seeded-random.ts';

export interface Answer {
  readonly status: number;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a client asked: `PutItem` of DynamoDB, `SendMessageBatch` of SQS, `PUT` of S3, and the body as it was sent. */
export interface Asked {
  readonly action: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export const ok = (body: unknown = {}): Answer => ({ status: 200, body: JSON.stringify(body) });

/** That SQS has taken these entries, all of one body: clients hold its checksum against what they sent. */
export function taken(ids: readonly string[], messageBody: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  const checksum = createHash('md5').update(messageBody).digest('hex');
  return ok({ ...more, Successful: ids.map((Id) => ({ Id, MessageId: `m${Id}`, MD5OfMessageBody: checksum })) });
}

/** As DynamoDB and SQS spell an error. */
export function jsonError(
  service: 'dynamodb.v20120810' | 'kinesis' | 'sqs' | 'coral.availability' | 'coral.service',
  name: string,
  o: ErrorFields = {},
): Answer {
  const { status = 400, message = `${name} was said`, query, ...fields } = o;
  const space = service.startsWith('coral') ? `com.amazon.${service}` : `com.amazonaws.${service}`;
  return {
    status,
    body: JSON.stringify({ __type: `${space}#${name}`, message, ...fields }),
    headers: query === undefined ? {} : { 'x-amzn-query-error': `${query};Sender` },
  };
}

interface ErrorFields extends Record<string, unknown> {
  readonly status?: number;
  readonly message?: string;
  /** The older name that SQS puts into a header. */
  readonly query?: string;
}

/** As S3 spells one. */
export function xmlError(status: number, code: string, message = `${code} was said`): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message><RequestId>1</RequestId></Error>`;
  return { status, body, headers: { 'content-type': 'application/xml' } };
}

export interface ScriptedPorts {
  readonly ports: InvocationPorts;
  readonly clients: AwsClients;
  readonly kinesis: KinesisClient;
  readonly asked: readonly Asked[];
}

/** @param answers  one for each request, in order */
export function scripted(...answers: readonly Answer[]): ScriptedPorts {
  const asked: Asked[] = [];
  const handle = async (request: HttpRequest): Promise<{ readonly response: unknown }> => {
    const { 'x-amz-target': target } = request.headers;
    const body = target === undefined ? {} : JSON.parse(textOf(request.body));
    asked.push({ action: target?.split('.').at(-1) ?? request.method, body });
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new Error(`request ${asked.length} has no answer in the script`);
    const said = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
    return { response: { statusCode: answer.status, headers: { ...answer.headers }, body: Readable.from([said]) } };
  };
  const requestHandler = { handle, destroy: () => undefined, updateHttpClientConfig: () => undefined, httpHandlerConfigs: () => ({}) };
  const settings = {
    region: 'us-east-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    maxAttempts: 1,
    requestHandler: requestHandler as never,
  };
  const clients: AwsClients = { dynamodb: new DynamoDBClient(settings), s3: new S3Client(settings), sqs: new SQSClient(settings) };
  return { ports: portsOf(clients), clients, kinesis: new KinesisClient(settings), asked };
}

function textOf(body: string | Uint8Array = '{}'): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body);
}

interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export function portsOf(clients: AwsClients): InvocationPorts {
  const queues = { '1': 'https://sqs.us-east-1.amazonaws.com/1/one.fifo', '2': 'https://sqs.us-east-1.amazonaws.com/1/two.fifo' };
  return openAwsPorts({ table: 'clicks', bucket: 'clicks-objects', queues, clients, random: seededRandom(1) });
}
