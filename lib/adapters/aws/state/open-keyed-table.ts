// Opens the table of a DynamoDbStateBackend for the embedded runtime.

import { type AttributeValue, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { KeyedStore, KeyedStoreRequest } from '../../../checkpoint/keyed-store.ts';
import { isSluiceError, SluiceError } from '../../../core/errors.ts';
import type { Clock, Random } from '../../../core/ports.ts';
import { askAgain, type Patience } from '../../../invocation/patience.ts';
import type { JobItems, ObjectStore, StateItem, StateTable } from '../../../invocation/ports.ts';
import { clientSettings } from '../client-settings.ts';
import { ask, bytesOf, type DynamoPlace, textOf } from '../dynamo.ts';
import { DynamoItems } from '../dynamo-items.ts';
import { DynamoTable } from '../dynamo-table.ts';
import { addressOfKey, attribute, partitionOfState } from '../layout.ts';
import { KeyedTable } from './keyed-table.ts';
import { TableObjects } from './table-objects.ts';

/** A table that throttles for a while holds a checkpoint up, and not the job. */
const triesMax = 10;

export interface OpenOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** For tests; closed by whoever made it. */
  readonly client?: DynamoDBClient;
}

/** @throws SluiceError `STORE_MISSING` with the command that creates the table, `STORE_FORBIDDEN` */
export async function openKeyedTable({ job, table: name }: KeyedStoreRequest, o: OpenOptions): Promise<KeyedStore> {
  const client = o.client ?? new DynamoDBClient(clientSettings());
  const place: DynamoPlace = { client, table: name };
  const patience: Patience = { clock: o.clock, random: o.random, triesMax };
  const again = <T>(request: () => Promise<T>): Promise<T> => askAgain(patience, `table ${name}`, request);
  const items = patientItems(new DynamoItems(place, o.random), again);
  try {
    await items.get('embedded');
  } catch (error) {
    throw isSluiceError(error) && error.code === 'STORE_MISSING' ? missing(name, error) : error;
  }
  return new KeyedTable({
    ...{ job, name, items, patience },
    table: patientTable(new DynamoTable(place), again),
    objects: patientObjects(new TableObjects(place), again),
    scan: () => scan(place, again),
    close: () => {
      if (o.client === undefined) client.destroy();
    },
  });
}

type Again = <T>(request: () => Promise<T>) => Promise<T>;

function patientTable(table: StateTable, again: Again): StateTable {
  return {
    readMany: (addresses) => again(() => table.readMany(addresses)),
    readPartition: (p) => again(() => table.readPartition(p)),
    putMany: (puts) => again(() => table.putMany(puts)),
  };
}

function patientItems(items: JobItems, again: Again): JobItems {
  return {
    get: (name) => again(() => items.get(name)),
    put: (p) => again(() => items.put(p)),
    list: (prefix) => again(() => items.list(prefix)),
    remove: (p) => again(() => items.remove(p)),
  };
}

function patientObjects(objects: ObjectStore, again: Again): ObjectStore {
  return {
    putIfAbsent: (name, bytes) => again(() => objects.putIfAbsent(name, bytes)),
    get: (name) => again(() => objects.get(name)),
    remove: (name) => again(() => objects.remove(name)),
    list: (prefix) => again(() => objects.list(prefix)),
  };
}

async function* scan(place: DynamoPlace, again: Again): AsyncGenerator<StateItem> {
  const { partition, sort, tags, bytes } = attribute;
  for (let from: Record<string, AttributeValue> | undefined, isLast = false; !isLast; ) {
    const command: ScanCommand = new ScanCommand({
      TableName: place.table,
      ConsistentRead: true,
      FilterExpression: `begins_with(${partition}, :p)`,
      ExpressionAttributeValues: { ':p': { S: partitionOfState('') } },
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    });
    const page = await again(() => ask(place, 'Scan', () => place.client.send(command)));
    for (const item of page.Items ?? [])
      yield { address: addressOfKey(textOf(item[partition]), textOf(item[sort])), tags: textOf(item[tags]), bytes: bytesOf(item[bytes]) };
    from = page.LastEvaluatedKey;
    isLast = from === undefined;
  }
}

function missing(table: string, cause: unknown): SluiceError {
  const keys = 'AttributeName=p,KeyType=HASH AttributeName=s,KeyType=RANGE';
  const attributes = 'AttributeName=p,AttributeType=S AttributeName=s,AttributeType=S';
  return new SluiceError('STORE_MISSING', {
    message: `table ${table}, in which DynamoDbStateBackend keeps the job's state, does not exist`,
    next: 'fix-the-command',
    advice: `create it: aws dynamodb create-table --table-name ${table} --billing-mode PAY_PER_REQUEST --key-schema ${keys} --attribute-definitions ${attributes}`,
    cause,
    table,
  });
}
