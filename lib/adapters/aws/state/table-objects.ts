// Objects as items, for a table that has no bucket beside it: values of state that do not fit into the item of their key.
//   O1  Parts are stored before the head. A name stands for one value, so that parts of a writer that died are those that the next one writes.

import { Buffer } from 'node:buffer';
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { KiB } from '../../../core/limits.ts';
import type { ObjectStore } from '../../../invocation/ports.ts';
import { ask, bytesOf, type DynamoPlace, type Item, numberOf, textOf } from '../dynamo.ts';
import { attribute, keyOfObjectPart, nameOfObject, objectHead, partitionOfObject } from '../layout.ts';

const partBytesMax = 350 * KiB;
const { partition, sort, bytes: bytesAttribute, number } = attribute;

export class TableObjects implements ObjectStore {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    const { client, table } = this.#place;
    const parts = Math.max(1, Math.ceil(bytes.length / partBytesMax));
    for (let part = parts - 1; part >= 0; part--) {
      const isHead = part === 0;
      const command = new PutItemCommand({
        TableName: table,
        Item: {
          ...keyOfObjectPart(name, part),
          [bytesAttribute]: { B: bytes.subarray(part * partBytesMax, (part + 1) * partBytesMax) },
          ...(isHead ? { [number]: { N: String(parts) } } : {}),
        },
        ...(isHead ? { ConditionExpression: `attribute_not_exists(${partition})` } : {}),
      });
      const outcome = await ask(
        this.#place,
        'PutItem',
        async () => {
          await client.send(command);
          return 'stored' as const;
        },
        (error) => (error instanceof ConditionalCheckFailedException ? ('exists' as const) : undefined),
      );
      if (isHead) return outcome;
    }
    return 'stored';
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    const items = await this.#parts(name);
    const [head, ...others] = items;
    if (head === undefined || textOf(head[sort]) !== objectHead) return undefined;
    const parts = [head, ...others].slice(0, numberOf(head[number]));
    return parts.length === 1 ? bytesOf(head[bytesAttribute]) : Buffer.concat(parts.map((part) => bytesOf(part[bytesAttribute])));
  }

  async remove(name: string): Promise<void> {
    const { client, table } = this.#place;
    for (const item of await this.#parts(name)) {
      const key = { [partition]: item[partition]!, [sort]: item[sort]! };
      await ask(this.#place, 'DeleteItem', () => client.send(new DeleteItemCommand({ TableName: table, Key: key })));
    }
  }

  async list(prefix: string): Promise<readonly string[]> {
    const { client, table } = this.#place;
    const names: string[] = [];
    for (let from: Record<string, AttributeValue> | undefined, isLast = false; !isLast; ) {
      const command: ScanCommand = new ScanCommand({
        TableName: table,
        ConsistentRead: true,
        FilterExpression: `begins_with(${partition}, :p) AND ${sort} = :head`,
        ProjectionExpression: partition,
        ExpressionAttributeValues: { ':p': { S: partitionOfObject(prefix) }, ':head': { S: objectHead } },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const page = await ask(this.#place, 'Scan', () => client.send(command));
      names.push(...(page.Items ?? []).map((item) => nameOfObject(textOf(item[partition]))));
      from = page.LastEvaluatedKey;
      isLast = from === undefined;
    }
    return names.sort();
  }

  async #parts(name: string): Promise<readonly Item[]> {
    const { client, table } = this.#place;
    const items: Item[] = [];
    for (let from: Record<string, AttributeValue> | undefined, isLast = false; !isLast; ) {
      const command: QueryCommand = new QueryCommand({
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: `${partition} = :p`,
        ExpressionAttributeValues: { ':p': { S: partitionOfObject(name) } },
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const page = await ask(this.#place, 'Query', () => client.send(command));
      items.push(...(page.Items ?? []));
      from = page.LastEvaluatedKey;
      isLast = from === undefined;
    }
    return items;
  }
}
