// What the emulator forgives, put back in front of it. A middleware of the clients answers some requests as the services may at any time, and holds
// every request to what the runtime must not forget, since the emulator would let it through.
//   S1  What is answered here did not happen, and what did happen is answered as it was: a suite that passes knows each outcome. Lost replies
//       and broken connections, which leave doubt, are in test/unit/adapters/aws.
//   S2  Parts of a batch are left as services leave them, any of them, and pages end early.
//   S3  What happened is counted: a run in which something never did has shown nothing about it.
import {
  type BatchExecuteStatementCommandInput,
  type BatchGetItemCommandInput,
  type BatchWriteItemCommandInput,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import type { KinesisClient, PutRecordsCommandInput } from '@aws-sdk/client-kinesis';
import type { SendMessageBatchCommandInput } from '@aws-sdk/client-sqs';
import type { AwsClients } from '../../lib/adapters/aws/clients.ts';
import type { SeededRandom } from '../../lib/testing/seeded-random.ts';

/** How often each answer was given, by its name in `everything`. */
export type Happened = Map<string, number>;

interface Request {
  readonly command: string;
  readonly input: Record<string, unknown>;
  /** Asks the service, with another input than the caller's. */
  readonly ask: (input: Record<string, unknown>) => Promise<Record<string, unknown>>;
}

/** Makes these clients strict. The same ones may not be made so twice. */
export function makeStrict(clients: AwsClients & { readonly kinesis?: KinesisClient }, random: SeededRandom, happened: Happened): void {
  const tell = (what: string): void => {
    happened.set(what, (happened.get(what) ?? 0) + 1);
  };
  const strict = { random, happened, tell };
  const all = [clients.dynamodb, clients.s3, clients.sqs, ...(clients.kinesis === undefined ? [] : [clients.kinesis])];
  for (const client of all as unknown as readonly StackedClient[]) {
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const command = (context.commandName ?? '').replace(/Command$/, '');
        const ask = async (input: Record<string, unknown>): Promise<Record<string, unknown>> => (await next({ ...args, input })).output;
        const output = await answer(strict, { command, input: args.input, ask });
        return { output, response: undefined };
      },
      { step: 'initialize', name: 'strict' },
    );
  }
}

interface StackedClient {
  readonly middlewareStack: {
    add(
      middleware: (
        next: (args: { input: Record<string, unknown> }) => Promise<{ readonly output: Record<string, unknown> }>,
        context: { readonly commandName?: string },
      ) => (args: { readonly input: Record<string, unknown> }) => Promise<unknown>,
      options: { readonly step: 'initialize'; readonly name: string },
    ): void;
  };
}

interface Strict {
  readonly random: SeededRandom;
  readonly happened: ReadonlyMap<string, number>;
  readonly tell: (what: string) => void;
}

async function answer(strict: Strict, request: Request): Promise<Record<string, unknown>> {
  const { command, input, ask } = request;
  refuseWhatIsForgotten(command, input);
  const errors = errorsOf[command] ?? [];
  // What has not happened yet comes first, so that the rare commands meet all of theirs.
  const due = errors.find((name) => !strict.happened.has(`${command}: ${name}`));
  if (due !== undefined || (errors.length > 0 && strict.random.chance(0.25))) {
    const said = due ?? strict.random.pick(errors);
    strict.tell(`${command}: ${said}`);
    throw serviceError(said, command);
  }
  const partly = partlyAnswered[command];
  return partly === undefined ? await ask(input) : await partly(strict, request);
}

/** Errors that say that nothing happened, as the services name them. */
const errorsOf: Readonly<Record<string, readonly string[]>> = {
  PutItem: ['ProvisionedThroughputExceededException', 'ThrottlingException', 'TransactionConflictException'],
  UpdateItem: ['RequestLimitExceeded', 'TransactionConflictException'],
  DeleteItem: ['ThrottlingException', 'TransactionConflictException'],
  GetItem: ['ProvisionedThroughputExceededException'],
  Query: ['ProvisionedThroughputExceededException'],
  BatchGetItem: ['ProvisionedThroughputExceededException'],
  BatchWriteItem: ['ProvisionedThroughputExceededException'],
  BatchExecuteStatement: ['ThrottlingException'],
  TransactWriteItems: ['TransactionCanceledException', 'ThrottlingException'],
  PutObject: ['SlowDown', 'ConditionalRequestConflict'],
  GetObject: ['SlowDown'],
  DeleteObject: ['SlowDown'],
  ListObjectsV2: ['SlowDown'],
  SendMessageBatch: ['RequestThrottled'],
  ReceiveMessage: ['RequestThrottled'],
  DeleteMessageBatch: ['RequestThrottled'],
  ChangeMessageVisibilityBatch: ['RequestThrottled'],
  PutRecords: ['ProvisionedThroughputExceededException', 'KMSThrottlingException'],
};

const recordCodes = ['ProvisionedThroughputExceededException', 'InternalFailure'] as const;

const statementCodes = ['ThrottlingError', 'ProvisionedThroughputExceeded', 'TransactionConflict', 'RequestLimitExceeded'] as const;

const partlyAnswered: Readonly<Record<string, (strict: Strict, request: Request) => Promise<Record<string, unknown>>>> = {
  BatchGetItem: leaveKeys,
  BatchWriteItem: leaveItems,
  BatchExecuteStatement: failStatements,
  SendMessageBatch: failEntries,
  PutRecords: failRecords,
  Query: async ({ random, tell }, { input, ask }) => {
    // A page ends at 1 MB of what was read; a service may end it earlier.
    const limit = random.between(1, 40);
    const page = await ask({ ...input, Limit: limit });
    if (page.LastEvaluatedKey !== undefined) tell('Query: a short page');
    return page;
  },
};

async function leaveKeys({ random, tell }: Strict, { input, ask }: Request): Promise<Record<string, unknown>> {
  const { table, wanted } = only((input as unknown as BatchGetItemCommandInput).RequestItems);
  const { Keys: keys = [] } = wanted;
  const left = keys.filter(() => random.chance(0.3));
  const asked = keys.filter((key) => !left.includes(key));
  if (left.length > 0) tell('BatchGetItem: UnprocessedKeys');
  const found = asked.length === 0 ? { Responses: {} } : await ask({ ...input, RequestItems: { [table]: { ...wanted, Keys: asked } } });
  return { ...found, UnprocessedKeys: left.length === 0 ? {} : { [table]: { ...wanted, Keys: left } } };
}

async function leaveItems({ random, tell }: Strict, { input, ask }: Request): Promise<Record<string, unknown>> {
  const { table, wanted } = only((input as unknown as BatchWriteItemCommandInput).RequestItems);
  const left = wanted.filter(() => random.chance(0.3));
  const asked = wanted.filter((item) => !left.includes(item));
  if (left.length > 0) tell('BatchWriteItem: UnprocessedItems');
  if (asked.length > 0) await ask({ ...input, RequestItems: { [table]: asked } });
  return { UnprocessedItems: left.length === 0 ? {} : { [table]: left } };
}

function only<T>(tables: Readonly<Record<string, T>> = {}): { readonly table: string; readonly wanted: T } {
  const [one, ...more] = Object.entries(tables);
  if (one === undefined || more.length > 0) throw new Error(`a batch of ${more.length + 1} tables, where a job has one`);
  return { table: one[0], wanted: one[1] };
}

async function failStatements({ random, tell }: Strict, { input, ask }: Request): Promise<Record<string, unknown>> {
  const { Statements: all = [] } = input as unknown as BatchExecuteStatementCommandInput;
  const failed = new Map(all.filter(() => random.chance(0.3)).map((statement) => [statement, random.pick(statementCodes)]));
  for (const code of failed.values()) tell(`BatchExecuteStatement: ${code}`);
  const asked = all.filter((statement) => !failed.has(statement));
  const { Responses: responses = [] } =
    asked.length === 0 ? {} : ((await ask({ ...input, Statements: asked })) as { Responses?: unknown[] });
  return {
    Responses: all.map((statement) => {
      const code = failed.get(statement);
      return code === undefined ? responses[asked.indexOf(statement)] : { Error: { Code: code, Message: 'not now' } };
    }),
  };
}

async function failEntries({ random, tell }: Strict, { input, ask }: Request): Promise<Record<string, unknown>> {
  const { Entries: all = [] } = input as unknown as SendMessageBatchCommandInput;
  const failed = all.filter(() => random.chance(0.3));
  const asked = all.filter((entry) => !failed.includes(entry));
  if (failed.length > 0) tell('SendMessageBatch: Failed');
  const sent = asked.length === 0 ? {} : ((await ask({ ...input, Entries: asked })) as { Failed?: unknown[] });
  const told = failed.map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false, Message: 'not now' }));
  return { ...sent, Failed: [...(sent.Failed ?? []), ...told] };
}

async function failRecords({ random, tell }: Strict, { input, ask }: Request): Promise<Record<string, unknown>> {
  const { Records: all = [] } = input as unknown as PutRecordsCommandInput;
  const failed = new Map(all.filter(() => random.chance(0.3)).map((record) => [record, random.pick(recordCodes)]));
  for (const code of failed.values()) tell(`PutRecords: a record, ${code}`);
  const asked = all.filter((record) => !failed.has(record));
  const { Records: answers = [] } = asked.length === 0 ? {} : ((await ask({ ...input, Records: asked })) as { Records?: unknown[] });
  return {
    FailedRecordCount: failed.size,
    Records: all.map((record) => {
      const code = failed.get(record);
      return code === undefined ? answers[asked.indexOf(record)] : { ErrorCode: code, ErrorMessage: 'not now' };
    }),
  };
}

/** Rules that the services keep and the emulator does not, and what no request of ours may leave out. */
function refuseWhatIsForgotten(command: string, input: Record<string, unknown>): void {
  const refuse = (why: string): never => {
    throw new Error(`${command} ${why}: ${JSON.stringify(Object.keys(input))}`);
  };
  if ((command === 'GetItem' || command === 'Query') && input.ConsistentRead !== true) refuse('does not ask for a strong read');
  if (command === 'BatchGetItem') {
    const { RequestItems: tables = {} } = input as unknown as BatchGetItemCommandInput;
    if (Object.values(tables).some(({ ConsistentRead: isStrong }) => isStrong !== true)) refuse('does not ask for strong reads');
  }
  if (command === 'BatchWriteItem') {
    const { RequestItems: tables = {} } = input as unknown as BatchWriteItemCommandInput;
    if (
      Object.values(tables)
        .flat()
        .some(({ PutRequest: put }) => put !== undefined)
    )
      refuse('puts without conditions');
  }
  if (command === 'BatchExecuteStatement') {
    const { Statements: all = [] } = input as unknown as BatchExecuteStatementCommandInput;
    if (all.some(({ Statement: text = '' }) => text.length > 8_192)) refuse('has a statement of more than 8,192 characters');
    if (all.some(({ Statement: text = '' }) => !/^(INSERT|UPDATE) /.test(text))) refuse('mixes reads with writes');
  }
  if (command === 'PutObject' && input.IfNoneMatch !== '*') refuse('would replace an object');
  if (command === 'PutRecords') {
    const { Records: all = [] } = input as unknown as PutRecordsCommandInput;
    const bytesOf = ({ Data: data, PartitionKey: key = '' }: (typeof all)[number]): number => (data?.length ?? 0) + key.length;
    if (all.length < 1 || all.length > 500) refuse('has no records or more than 500');
    if (all.some((record) => bytesOf(record) > 1_048_576)) refuse('has a record of more than 1 MiB');
    if (all.reduce((sum, record) => sum + bytesOf(record), 0) > 5 * 1_048_576) refuse('has more than 5 MiB');
    if (new Set(all.map(({ PartitionKey: key }) => key)).size < all.length)
      refuse('could have two messages of a target accepted in any order');
  }
  if (command === 'SendMessageBatch') {
    const { Entries: all = [] } = input as unknown as SendMessageBatchCommandInput;
    const isText = (text: string | undefined): boolean => text !== undefined && /^[!-~]{1,128}$/.test(text);
    if (!all.every((e) => isText(e.MessageGroupId) && isText(e.MessageDeduplicationId)))
      refuse('has an id or a group that a queue does not take');
  }
}

function serviceError(name: string, command: string): Error {
  const message = `${command} was answered by the strict middleware`;
  if (name === 'TransactionCanceledException')
    return new TransactionCanceledException({
      message,
      $metadata: {},
      CancellationReasons: [{ Code: 'TransactionConflict' }, { Code: 'None' }],
    });
  return Object.assign(new Error(message), { name, $metadata: {} });
}

/** Everything that can be answered here, as `happened` names it. */
export const everything: readonly string[] = [
  ...Object.entries(errorsOf).flatMap(([command, names]) => names.map((name) => `${command}: ${name}`)),
  ...statementCodes.map((code) => `BatchExecuteStatement: ${code}`),
  'BatchGetItem: UnprocessedKeys',
  'BatchWriteItem: UnprocessedItems',
  'Query: a short page',
  'SendMessageBatch: Failed',
  ...recordCodes.map((code) => `PutRecords: a record, ${code}`),
];
