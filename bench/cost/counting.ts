// counting.ts counts every command that clients of the SDK send, in units that are paid for, and answers them.
//   N1  A command is counted where the SDK takes it from the runtime: outermost in the middleware of a client that tries once, so that a command is a
//       request.
//   N2  In memory, the stand-in answers in the place of the service. On an emulator the emulator answers and the stand-in is asked the same: from it
//       come the units, which an emulator does not know, and what it says otherwise than the emulator is told.
//   N3  Which kind of request it was is told by the first letter of the partition key and by the command, as the layout of the table has them.

import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { AwsClients } from '../../lib/adapters/aws/clients.ts';
import { jobItemName } from '../../lib/invocation/job-item.ts';
import type { Kind, Meter, Tally } from '../calls/meter.ts';
import { differenceOf } from './cloud/differences.ts';
import { Objects } from './cloud/objects.ts';
import { Queues } from './cloud/queues.ts';
import { queueUnits } from './cloud/sizes.ts';
import type { Streams } from './cloud/streams.ts';
import { type Executed, Tables } from './cloud/tables.ts';

type Input = Readonly<Record<string, unknown>>;
type Output = Readonly<Record<string, unknown>>;
type Next = (args: { readonly input: Input }) => Promise<{ readonly output: Output }>;

/** A client's stack, as far as it is used here. */
interface Stacked {
  readonly middlewareStack: {
    add(
      middleware: (next: Next, context: { readonly commandName?: string }) => Next,
      options: { readonly step: 'initialize'; readonly priority: 'high'; readonly name: string },
    ): void;
  };
}

export interface CloudOptions {
  readonly now: () => number;
  /** Name of the job's own table. */
  readonly table: string;
  /** The clients reach an emulator, and are answered by it. */
  readonly isEmulated: boolean;
}

/** What answers, and what is told of it. */
export class Cloud {
  readonly tables = new Tables();
  /** Answers of the emulator that the stand-in would have given otherwise. */
  readonly differences: string[] = [];
  readonly #o: CloudOptions;
  readonly #objects = new Objects();
  readonly #listeners: ((was: string, is: string) => void)[] = [];
  #change = '';
  readonly #queues: Queues;

  constructor(o: CloudOptions) {
    this.#o = o;
    this.#queues = new Queues(o.now);
    this.tables.create(o.table, ['p', 's']);
  }

  /** From here on what these clients send goes into the meter. */
  count({ dynamodb, s3, sqs }: AwsClients, meter: Meter): void {
    this.#intercept(dynamodb, (command, input, next) => this.#askTable({ command, input, next, meter }));
    this.#intercept(s3, (command, input, next) => this.#askBucket({ command, input, next, meter }));
    this.#intercept(sqs, (command, input, next) => this.#askQueue({ command, input, next, meter }));
  }

  /** The same for streams, which are answered by the stand-in only. */
  countStreams(kinesis: KinesisClient, streams: Streams, meter: Meter): void {
    this.#intercept(kinesis, async (command, input) => {
      const { output, ...units } = streams.execute(command, input);
      meter.add('send', units);
      return output;
    });
  }

  /** Told of every put of the job item before it is counted: which change was under way, and which is. */
  onJobItem(listener: (was: string, is: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Functions are called in this process. */
  callFunctions(client: LambdaClient, call: (name: string, event: Uint8Array) => Promise<Output>): void {
    this.#intercept(client, (_, { FunctionName: name, Payload: event }) => call(String(name), event as Uint8Array));
  }

  #intercept(client: unknown, answer: (command: string, input: Input, next: () => Promise<Output>) => Promise<Output>): void {
    (client as Stacked).middlewareStack.add(
      (next, context) => async (args) => {
        const command = (context.commandName ?? '').replace(/Command$/, '');
        return { output: await answer(command, args.input, async () => (await next(args)).output) };
      },
      { step: 'initialize', priority: 'high', name: 'counting' },
    );
  }

  async #askTable({ command, input, next, meter }: Asked): Promise<Output> {
    const said = this.#o.isEmulated ? await outcomeOf(next) : undefined;
    const executed = this.tables.execute(command, input);
    if (executed.error === undefined) this.#tell(command, input);
    meter.add(kindOf(command, input, this.#o.table), executed.used);
    if (command === 'PutItem') meter.entrySizes.push(executed.used.bytes);
    if (said !== undefined) this.#compare(command, executed, said);
    const { output, error } = said ?? executed;
    if (error !== undefined) throw error;
    return output;
  }

  #tell(command: string, input: Input): void {
    const { s: name } = (input.Key ?? {}) as Key;
    if (command !== 'UpdateItem' || input.TableName !== this.#o.table || name?.S !== jobItemName) return;
    const is = (input.ExpressionAttributeValues as Key)[':change']?.S ?? '';
    for (const listener of this.#listeners) listener(this.#change, is);
    this.#change = is;
  }

  async #askBucket({ command, input, next, meter }: Asked): Promise<Output> {
    const said = this.#o.isEmulated ? await outcomeOf(next) : undefined;
    const executed = this.#objects.execute(command, input);
    meter.add(bucketKinds[command] ?? unknown(command), { bytes: executed.bytes, refused: executed.error === undefined ? 0 : 1 });
    if (command === 'PutObject') meter.objectSizes.push(executed.bytes);
    if (said !== undefined) this.#compare(command, executed, said);
    const { output, error } = said ?? executed;
    if (error !== undefined) throw error;
    return output;
  }

  /** Receipts and order among groups are the queue's own affair, so that one of both is asked. */
  async #askQueue({ command, input, next, meter }: Asked): Promise<Output> {
    const answer = this.#o.isEmulated ? countedAt(await next(), input) : this.#queues.execute(command, input);
    const isEmpty = command === 'ReceiveMessage' && answer.items === 0;
    const kind = queueKinds[command] ?? unknown(command);
    meter.add(kind, { items: answer.items, bytes: answer.bytes, queueUnits: isEmpty ? 0 : queueUnits(answer.bytes) });
    return answer.output;
  }

  #compare(command: string, executed: Pick<Executed, 'output' | 'error'>, said: Pick<Executed, 'output' | 'error'>): void {
    const difference = differenceOf(executed, said);
    if (difference !== undefined) this.differences.push(`${command}: ${difference}`);
  }
}

interface Asked {
  readonly command: string;
  readonly input: Input;
  readonly next: () => Promise<Output>;
  readonly meter: Meter;
}

async function outcomeOf(next: () => Promise<Output>): Promise<Pick<Executed, 'output' | 'error'>> {
  try {
    return { output: await next() };
  } catch (error) {
    return { output: {}, error: error as Error };
  }
}

function countedAt(output: Output, input: Input): Pick<Tally, 'items' | 'bytes'> & { readonly output: Output } {
  const list = (input.Entries ?? output.Messages ?? []) as readonly { readonly MessageBody?: string; readonly Body?: string }[];
  const bytes = list.reduce((sum, { MessageBody: sent = '', Body: got = '' }) => sum + sent.length + got.length, 0);
  return { output, items: list.length, bytes };
}

function kindOf(command: string, input: Input, ownTable: string): Kind {
  const first = tableAndKey(command, input);
  if (first.table !== ownTable) return 'row write';
  if (command === 'PutItem' && input.ConditionExpression === undefined) return 'slot overwrite';
  if (command === 'Query' && input.ProjectionExpression !== undefined) return 'ring remove';
  return kindsOfTable[`${command} ${first.partition.slice(0, 1)}`] ?? unknown(`${command} of ${first.partition}`);
}

type Key = Readonly<Record<string, { readonly S?: string } | undefined>>;

/** Of the first item that a request is about. */
function tableAndKey(command: string, input: Input): { readonly table: string; readonly partition: string } {
  const of = (table: unknown, key: Key | undefined): { readonly table: string; readonly partition: string } => ({
    table: String(table),
    partition: key?.p?.S ?? '',
  });
  if (command === 'BatchExecuteStatement') return { table: statementTable(input), partition: 's' };
  if (command === 'BatchGetItem' || command === 'BatchWriteItem') {
    const [table] = Object.keys(input.RequestItems as object);
    return { table: table ?? '', partition: command === 'BatchGetItem' ? 's' : 'r' };
  }
  if (command === 'TransactWriteItems') {
    const [, { Put: put } = { Put: undefined }] = input.TransactItems as readonly { readonly Put?: Input }[];
    return {
      ...of(put?.TableName, put?.Item as Key),
      partition: put?.ConditionExpression?.toString().startsWith('attribute_not') ? 'r' : 'u',
    };
  }
  const values = input.ExpressionAttributeValues as Key | undefined;
  return of(input.TableName, (input.Item ?? input.Key ?? { p: values?.[':p'] }) as Key);
}

function statementTable({ Statements: statements }: Input): string {
  const [{ Statement: text = '' } = {}] = statements as readonly { readonly Statement?: string }[];
  return /"([^"]+)"/.exec(text)?.[1] ?? '';
}

const kindsOfTable: Readonly<Record<string, Kind>> = {
  'PutItem r': 'append',
  'TransactWriteItems u': 'append',
  'TransactWriteItems r': 'ring create',
  'GetItem r': 'slot read',
  'Query r': 'ring page',
  'BatchWriteItem r': 'ring remove',
  'BatchGetItem s': 'table read',
  'Query s': 'partition read',
  'BatchExecuteStatement s': 'table write',
  'GetItem i': 'item get',
  'UpdateItem i': 'item put',
  'Query i': 'item list',
  'DeleteItem i': 'item remove',
};

const bucketKinds: Readonly<Record<string, Kind>> = {
  PutObject: 'object put',
  GetObject: 'object get',
  DeleteObject: 'object remove',
  ListObjectsV2: 'object list',
};

const queueKinds: Readonly<Record<string, Kind>> = {
  SendMessageBatch: 'send',
  ReceiveMessage: 'receive',
  DeleteMessageBatch: 'settle',
  ChangeMessageVisibilityBatch: 'release',
};

function unknown(what: string): never {
  throw new Error(`no kind of request is known for ${what}`);
}
