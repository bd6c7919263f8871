// As much of AWS as commands ask: a server that answers the SDK's own requests with stacks, items of tables and what functions say, or with the refusal
// that was ordered. It remembers what was asked, so that a test can say that nothing was changed.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeStack {
  readonly status?: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/** What a function is asked, and what it answers; a thrown error is what it throws. */
export type FakeFunction = (event: Readonly<Record<string, unknown>>) => unknown;

export class FakeCloud {
  readonly stacks = new Map<string, FakeStack>();
  /** `<table>/<partition>/<sort>` → the item, as DynamoDB spells it. */
  readonly items = new Map<string, object>();
  readonly functions = new Map<string, FakeFunction>();
  /** Actions that are refused, such as `dynamodb:GetItem`. */
  readonly denied = new Set<string>();
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async start(): Promise<FakeCloud> {
    const cloud = new FakeCloud();
    await new Promise<void>((resolve) => cloud.#server.listen(0, '127.0.0.1', resolve));
    return cloud;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const { status, body, headers = {} } = this.#answer(request, text);
    response.writeHead(status, headers);
    response.end(body);
  }

  #answer({ headers, url }: IncomingMessage, text: string): Answer {
    const listed = /^\/([^/?]+)\/?\?(?=.*list-type=2)/.exec(url ?? '');
    if (listed !== null) return this.#list(listed[1] ?? '');
    const target = headers['x-amz-target'];
    if (typeof target === 'string') return this.#table(target.split('.')[1] ?? '', JSON.parse(text) as TableRequest);
    const called = /^\/2015-03-31\/functions\/([^/]+)\/invocations/.exec(url ?? '');
    if (called !== null) return this.#call(called[1] ?? '', text);
    return this.#describe(new URLSearchParams(text).get('StackName') ?? '');
  }

  #describe(name: string): Answer {
    this.asked.push(`cloudformation:DescribeStacks ${name}`);
    const refusal = (status: number, code: string, message: string): Answer => ({
      status,
      body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
    });
    if (this.denied.has('cloudformation:DescribeStacks'))
      return refusal(403, 'AccessDenied', notAuthorized('cloudformation:DescribeStacks', `stack/${name}`));
    const stack = this.stacks.get(name);
    if (stack === undefined) return refusal(400, 'ValidationError', `Stack with id ${name} does not exist`);
    const outputs = Object.entries(stack.outputs).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
    );
    const said = `<StackName>${name}</StackName><StackStatus>${stack.status ?? 'CREATE_COMPLETE'}</StackStatus><Outputs>${outputs.join('')}</Outputs>`;
    const found = `<DescribeStacksResult><Stacks><member>${said}</member></Stacks></DescribeStacksResult>`;
    return { status: 200, body: `<DescribeStacksResponse>${found}</DescribeStacksResponse>` };
  }

  /** Buckets are empty. */
  #list(bucket: string): Answer {
    this.asked.push(`s3:ListBucket ${bucket}`);
    const body = `<ListBucketResult><Name>${bucket}</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>`;
    return { status: 200, body, headers: { 'content-type': 'application/xml' } };
  }

  #table(action: string, { TableName: table, Key: key }: TableRequest): Answer {
    this.asked.push(`dynamodb:${action} ${table}`);
    const message = notAuthorized(`dynamodb:${action}`, `table/${table}`);
    if (this.denied.has(`dynamodb:${action}`)) return jsonAnswer(400, { __type: 'x#AccessDeniedException', message });
    return jsonAnswer(200, { Item: this.items.get(`${table}/${key?.p?.S}/${key?.s?.S}`) });
  }

  #call(name: string, text: string): Answer {
    this.asked.push(`lambda:InvokeFunction ${name}`);
    const run = this.functions.get(name);
    if (run === undefined)
      return jsonAnswer(404, { Message: `Function not found: ${name}` }, { 'x-amzn-errortype': 'ResourceNotFoundException' });
    if (this.denied.has('lambda:InvokeFunction')) {
      const message = notAuthorized('lambda:InvokeFunction', `function:${name}`);
      return jsonAnswer(403, { Message: message }, { 'x-amzn-errortype': 'AccessDeniedException' });
    }
    try {
      return jsonAnswer(200, run(JSON.parse(text) as Record<string, unknown>));
    } catch (error) {
      const { name: errorType, message: errorMessage } = error as Error;
      return jsonAnswer(200, { errorType, errorMessage }, { 'x-amz-function-error': 'Unhandled' });
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface TableRequest {
  readonly TableName: string;
  readonly Key?: { readonly p?: { readonly S: string }; readonly s?: { readonly S: string } };
}

function notAuthorized(action: string, resource: string): string {
  return `User: arn:aws:iam::000000000000:user/reader is not authorized to perform: ${action} on resource: arn:aws:x:us-east-1:000000000000:${resource}`;
}

function jsonAnswer(status: number, said: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: JSON.stringify(said ?? null), headers: { 'content-type': 'application/x-amz-json-1.0', ...headers } };
}
