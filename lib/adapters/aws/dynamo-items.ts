import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Random } from '../../core/ports.ts';
import type { JobItemContent, JobItems, StoredJobItem } from '../../invocation/ports.ts';
import { checkJobItem } from '../../invocation/request-limits.ts';
import { ask, bytesOf, type DynamoPlace, type Item, numberOf, textOf } from './dynamo.ts';
import { attribute, keyOfItem, partitionOfItems } from './layout.ts';

const { partition, sort, revision, change, bytes } = attribute;
type Expected = number | 'absent' | 'any';

/**
 * Small items of one job.
 *   I1  A revision grows by one with every put. The first one of an item is drawn from 2⁴⁸ numbers, so that an item that was removed and made
 *       anew does not come to a revision that somebody may still remember; a counter that outlives items would be one more write for each.
 */
export class DynamoItems implements JobItems {
  readonly #place: DynamoPlace;
  readonly #random: Random;

  constructor(place: DynamoPlace, random: Random) {
    this.#place = place;
    this.#random = random;
  }

  async get(name: string): Promise<StoredJobItem | undefined> {
    checkJobItem(name);
    const { client, table } = this.#place;
    const command = new GetItemCommand({ TableName: table, Key: keyOfItem(name), ConsistentRead: true });
    const { Item: item } = await ask(this.#place, 'GetItem', () => client.send(command));
    return item === undefined ? undefined : itemOf(item);
  }

  async put(p: {
    readonly name: string;
    readonly content: JobItemContent;
    readonly expects: Expected;
  }): Promise<{ readonly kind: 'stored'; readonly revision: number } | { readonly kind: 'conflict' }> {
    checkJobItem(p.name, p.content);
    const { client, table } = this.#place;
    const condition = conditionOf(p.expects);
    const command = new UpdateItemCommand({
      TableName: table,
      Key: keyOfItem(p.name),
      UpdateExpression: `SET ${revision} = if_not_exists(${revision}, :first) + :one, ${change} = :change, ${bytes} = :bytes`,
      ExpressionAttributeValues: {
        ':first': { N: String(this.#firstRevision()) },
        ':one': { N: '1' },
        ':change': { S: p.content.change },
        ':bytes': { B: p.content.bytes },
        ...condition.values,
      },
      ...(condition.text === undefined ? {} : { ConditionExpression: condition.text }),
      ReturnValues: 'UPDATED_NEW',
    });
    return await ask(
      this.#place,
      'UpdateItem',
      async () => {
        const { Attributes: stored = {} } = await client.send(command);
        return { kind: 'stored', revision: numberOf(stored[revision]) } as const;
      },
      (error) => (error instanceof ConditionalCheckFailedException ? ({ kind: 'conflict' } as const) : undefined),
    );
  }

  async list(prefix: string): Promise<readonly StoredJobItem[]> {
    const { client, table } = this.#place;
    const found: StoredJobItem[] = [];
    for (let from: Record<string, AttributeValue> | undefined, isLast = false; !isLast; ) {
      const command: QueryCommand = new QueryCommand({
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: `${partition} = :p${prefix === '' ? '' : ` AND begins_with(${sort}, :prefix)`}`,
        ExpressionAttributeValues: { ':p': { S: partitionOfItems }, ...(prefix === '' ? {} : { ':prefix': { S: prefix } }) },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const page = await ask(this.#place, 'Query', () => client.send(command));
      found.push(...(page.Items ?? []).map(itemOf));
      from = page.LastEvaluatedKey;
      isLast = from === undefined;
    }
    return found;
  }

  async remove(p: { readonly name: string; readonly expects: number | 'any' }): Promise<'removed' | 'conflict'> {
    checkJobItem(p.name);
    const { client, table } = this.#place;
    const expected = p.expects === 'any' ? { text: `attribute_exists(${partition})`, values: {} } : conditionOf(p.expects);
    const command = new DeleteItemCommand({
      TableName: table,
      Key: keyOfItem(p.name),
      ConditionExpression: expected.text,
      ...(p.expects === 'any' ? {} : { ExpressionAttributeValues: expected.values }),
    });
    return await ask(
      this.#place,
      'DeleteItem',
      async (): Promise<'removed' | 'conflict'> => {
        await client.send(command);
        return 'removed';
      },
      (error) => (error instanceof ConditionalCheckFailedException ? 'conflict' : undefined),
    );
  }

  /** 48 bits: room above for every put that an item can see. */
  #firstRevision(): number {
    return (this.#random.bits() >>> 8) * 2 ** 24 + (this.#random.bits() >>> 8);
  }
}

function conditionOf(expects: Expected): { readonly text: string | undefined; readonly values: Record<string, AttributeValue> } {
  if (expects === 'any') return { text: undefined, values: {} };
  if (expects === 'absent') return { text: `attribute_not_exists(${partition})`, values: {} };
  return { text: `${revision} = :expected`, values: { ':expected': { N: String(expects) } } };
}

function itemOf(item: Item): StoredJobItem {
  return {
    name: textOf(item[sort]),
    revision: numberOf(item[revision]),
    change: textOf(item[change]),
    bytes: bytesOf(item[bytes]),
  };
}
