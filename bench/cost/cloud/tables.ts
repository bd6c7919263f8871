// tables.ts answers requests to DynamoDB in memory, as the service does, and says what each took.
//   A1  What the runtime asks for is known: a request of another shape is an error and no guess.
//   A2  Nothing is throttled, left over or lost: what is counted is a day on which nothing goes wrong.

import {
  type AttributeValue,
  type BatchExecuteStatementCommandInput,
  type BatchGetItemCommandInput,
  type BatchStatementResponse,
  type BatchWriteItemCommandInput,
  ConditionalCheckFailedException,
  type GetItemCommandInput,
  type QueryCommandInput,
  TransactionCanceledException,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import { conditionOf, type Item, updateOf } from './expressions.ts';
import { readUnits, sizeOf, writeUnits } from './sizes.ts';
import { statementOf } from './statements.ts';
import { copyOf, Table } from './table.ts';

/** What a request took. */
export interface Used {
  readonly items: number;
  readonly bytes: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly refused: number;
}

export interface Executed {
  readonly used: Used;
  readonly output: Readonly<Record<string, unknown>>;
  /** In place of an output. */
  readonly error?: Error;
}

/** PutItem, UpdateItem, DeleteItem, ConditionCheck and the like, in one shape. */
interface Write {
  readonly TableName?: string | undefined;
  readonly Item?: Record<string, AttributeValue> | undefined;
  readonly Key?: Record<string, AttributeValue> | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue> | undefined;
  readonly ReturnValues?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: string | undefined;
}

type Kind = 'put' | 'update' | 'delete' | 'check';

interface Outcome {
  readonly was: Item | undefined;
  readonly is: Item | undefined;
  readonly isRefused: boolean;
}

const pageBytes = 1_048_576;
const nothing: Used = { items: 0, bytes: 0, writeUnits: 0, readUnits: 0, refused: 0 };

export class Tables {
  readonly #tables = new Map<string, Table>();

  create(name: string, key: readonly [partition: string, sort?: string]): void {
    this.#tables.set(name, new Table(key));
  }

  /** For whoever looks at what is there. Not copied. */
  itemsOf(name: string): Iterable<Item> {
    return this.#of(name).items();
  }

  /** Without a request. */
  put(name: string, item: Item): void {
    this.#of(name).put(item);
  }

  execute(command: string, input: object): Executed {
    switch (command) {
      case 'PutItem':
        return this.#write('put', input);
      case 'UpdateItem':
        return this.#write('update', input);
      case 'DeleteItem':
        return this.#write('delete', input);
      case 'GetItem':
        return this.#get(input as GetItemCommandInput);
      case 'Query':
        return this.#query(input as QueryCommandInput);
      case 'BatchGetItem':
        return this.#getMany(input as BatchGetItemCommandInput);
      case 'BatchExecuteStatement':
        return this.#statements(input as BatchExecuteStatementCommandInput);
      case 'BatchWriteItem':
        return this.#deleteMany(input as BatchWriteItemCommandInput);
      case 'TransactWriteItems':
        return this.#transact(input as TransactWriteItemsCommandInput);
      default:
        throw new Error(`the stand-in of the table does not know ${command}`);
    }
  }

  #of(name: string | undefined): Table {
    const table = this.#tables.get(name ?? '');
    if (table === undefined) throw new Error(`the stand-in has no table ${name}`);
    return table;
  }

  #outcome(kind: Kind, w: Write): Outcome {
    const table = this.#of(w.TableName);
    const was = table.get(w.Item ?? w.Key ?? {});
    const scope = { item: was, names: w.ExpressionAttributeNames, values: w.ExpressionAttributeValues };
    const isRefused = w.ConditionExpression !== undefined && !conditionOf(w.ConditionExpression)(scope);
    if (kind === 'put') return { was, is: w.Item, isRefused };
    if (kind === 'delete') return { was, is: undefined, isRefused };
    if (kind === 'check') return { was, is: was, isRefused };
    const from = { ...scope, item: was ?? (w.Key as Item) };
    return { was, is: updateOf(w.UpdateExpression ?? '')(from), isRefused };
  }

  #apply({ TableName: name }: Write, { was, is }: Outcome): void {
    if (is === undefined && was !== undefined) this.#of(name).delete(was);
    else if (is !== undefined) this.#of(name).put(is);
  }

  #write(kind: Kind, w: Write): Executed {
    const outcome = this.#outcome(kind, w);
    const { was, is, isRefused } = outcome;
    const used = { ...nothing, items: 1, bytes: sizeOf(is), writeUnits: writeUnits(was, is), refused: isRefused ? 1 : 0 };
    if (isRefused) return { used, output: {}, error: refusal(w, was) };
    this.#apply(w, outcome);
    if (w.ReturnValues !== 'UPDATED_NEW' || is === undefined) return { used, output: {} };
    const isOld = (name: string, value: AttributeValue): boolean => was !== undefined && was[name] === value;
    const changed = Object.entries(is).filter(([name, value]) => !isOld(name, value) && w.Key?.[name] === undefined);
    return { used, output: { Attributes: copyOf(Object.fromEntries(changed)) } };
  }

  #get({ TableName: name, Key: key = {} }: GetItemCommandInput): Executed {
    const item = this.#of(name).get(key);
    const used = { ...nothing, items: 1, bytes: sizeOf(item), readUnits: readUnits(sizeOf(item)) };
    return { used, output: item === undefined ? {} : { Item: copyOf(item) } };
  }

  #query(q: QueryCommandInput): Executed {
    const table = this.#of(q.TableName);
    const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = q;
    const isMeant = conditionOf(q.KeyConditionExpression ?? '');
    const projected = q.ProjectionExpression?.split(/,\s*/);
    const items: Item[] = [];
    let bytes = 0;
    let last: Item | undefined;
    for (const item of table.inOrder(values?.[':p'], q.ExclusiveStartKey)) {
      if (!isMeant({ item, names, values })) continue;
      const size = sizeOf(item);
      if (items.length > 0 && bytes + size > pageBytes) {
        last = table.keyOf(items.at(-1) as Item);
        break;
      }
      bytes += size;
      items.push(item);
    }
    const shown = items.map((item) =>
      copyOf(projected === undefined ? item : Object.fromEntries(Object.entries(item).filter(([name]) => projected.includes(name)))),
    );
    const used = { ...nothing, items: items.length, bytes, readUnits: readUnits(bytes) };
    return { used, output: { Items: shown, ...(last === undefined ? {} : { LastEvaluatedKey: last }) } };
  }

  #getMany({ RequestItems: requests = {} }: BatchGetItemCommandInput): Executed {
    let used = nothing;
    const responses: Record<string, readonly Item[]> = {};
    for (const [name, { Keys: keys = [] }] of Object.entries(requests)) {
      const found = keys.map((key) => this.#of(name).get(key));
      for (const item of found) {
        const size = sizeOf(item);
        used = { ...used, items: used.items + 1, bytes: used.bytes + size, readUnits: used.readUnits + readUnits(size) };
      }
      responses[name] = found.filter((item) => item !== undefined).map(copyOf);
    }
    return { used, output: { Responses: responses, UnprocessedKeys: {} } };
  }

  #statements({ Statements: statements = [] }: BatchExecuteStatementCommandInput): Executed {
    let used = nothing;
    const responses = statements.map((statement): BatchStatementResponse => {
      const write = statementOf(statement);
      const outcome = this.#outcome(write.kind, write);
      const { was, is, isRefused } = outcome;
      used = {
        ...used,
        items: used.items + 1,
        bytes: used.bytes + sizeOf(is),
        writeUnits: used.writeUnits + writeUnits(was, is),
        refused: used.refused + (isRefused ? 1 : 0),
      };
      const code = write.kind === 'put' ? 'DuplicateItem' : 'ConditionalCheckFailed';
      if (isRefused) return { TableName: write.TableName, Error: { Code: code, Message: 'refused' } };
      this.#apply(write, outcome);
      return { TableName: write.TableName };
    });
    return { used, output: { Responses: responses } };
  }

  #deleteMany({ RequestItems: requests = {} }: BatchWriteItemCommandInput): Executed {
    let used = nothing;
    for (const [name, list] of Object.entries(requests)) {
      for (const { DeleteRequest: request } of list) {
        const write = { TableName: name, Key: request?.Key };
        const outcome = this.#outcome('delete', write);
        used = { ...used, items: used.items + 1, writeUnits: used.writeUnits + writeUnits(outcome.was, undefined) };
        this.#apply(write, outcome);
      }
    }
    return { used, output: { UnprocessedItems: {} } };
  }

  #transact({ TransactItems: parts = [] }: TransactWriteItemsCommandInput): Executed {
    const writes = parts.map(({ Put: put, Update: update, Delete: gone, ConditionCheck: check }) => {
      const write: Write = put ?? update ?? gone ?? check ?? {};
      const kind: Kind = put ? 'put' : update ? 'update' : gone ? 'delete' : 'check';
      return { write, outcome: this.#outcome(kind, write) };
    });
    const units = writes.reduce((sum, { outcome: { was, is } }) => sum + 2 * writeUnits(was, is), 0);
    const refused = writes.filter(({ outcome }) => outcome.isRefused).length;
    const bytes = writes.reduce((sum, { outcome }) => sum + sizeOf(outcome.is), 0);
    const used = { ...nothing, items: writes.length, bytes, writeUnits: units, refused };
    if (refused > 0) return { used, output: {}, error: cancelled(writes) };
    for (const { write, outcome } of writes) this.#apply(write, outcome);
    return { used, output: {} };
  }
}

function refusal(w: Write, was: Item | undefined): Error {
  const found = w.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && was !== undefined ? { Item: copyOf(was) } : {};
  return new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {}, ...found });
}

function cancelled(writes: readonly { readonly write: Write; readonly outcome: Outcome }[]): Error {
  const reasons = writes.map(({ write, outcome: { was, isRefused } }) => {
    if (!isRefused) return { Code: 'None' };
    const shows = write.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && was !== undefined;
    return { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed', ...(shows ? { Item: copyOf(was) } : {}) };
  });
  return new TransactionCanceledException({ message: 'Transaction cancelled', $metadata: {}, CancellationReasons: reasons });
}
