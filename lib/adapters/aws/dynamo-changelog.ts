import {
  type AttributeValue,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { SluiceError } from '../../core/errors.ts';
import { jobItemName } from '../../invocation/job-item.ts';
import type { Changelog, PutOutcome, RingAddress, StoredEntry } from '../../invocation/ports.ts';
import { checkEntry, checkRing } from '../../invocation/request-limits.ts';
import { ask, bytesOf, type DynamoPlace, type Item, numberOf, textOf } from './dynamo.ts';
import { afterPart, errorOfPart, meaningOf } from './errors.ts';
import { attribute, keyOfItem, keyOfSlot, partitionOfRing, sortOfSlot } from './layout.ts';

type Put = Parameters<Changelog['put']>[0];
type Refused = { readonly kind: 'refused' };

const deletesMax = 25;

/**
 * Rings as items, one for each slot, and all slots of a ring under one partition key.
 *   L1  A condition that failed tells what it found, so that a lost reply costs no read.
 *   L2  In a transaction the check of the job item stands first, as it does in what is answered.
 */
export class DynamoChangelog implements Changelog {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async put(p: Put): Promise<PutOutcome> {
    checkEntry(p.ring, p.slot, p.entry);
    const input: PutItemCommandInput = { ...this.#putOf(p), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
    return await ask(
      this.#place,
      'PutItem',
      async (): Promise<PutOutcome> => {
        await this.#place.client.send(new PutItemCommand(input));
        return { kind: 'stored' };
      },
      (error) => (error instanceof ConditionalCheckFailedException ? conflictWith(error.Item) : undefined),
    );
  }

  async putDuring(p: Put & { readonly change: string }): Promise<PutOutcome | Refused> {
    checkEntry(p.ring, p.slot, p.entry);
    return await this.#transact(p);
  }

  async create(p: Omit<Put, 'expects'> & { readonly change: string }): Promise<'created' | 'exists' | 'refused'> {
    checkEntry(p.ring, p.slot, p.entry);
    const outcome = await this.#transact({ ...p, expects: 'absent' });
    if (outcome.kind === 'refused') return 'refused';
    return outcome.kind === 'stored' ? 'created' : 'exists';
  }

  async get(p: { readonly ring: RingAddress; readonly slot: number }): Promise<StoredEntry | undefined> {
    checkRing(p.ring);
    const { client, table } = this.#place;
    const command = new GetItemCommand({ TableName: table, Key: keyOfSlot(p.ring, p.slot), ConsistentRead: true });
    const { Item: item } = await ask(this.#place, 'GetItem', () => client.send(command));
    return item === undefined ? undefined : entryOf(item);
  }

  async readPage(p: {
    readonly ring: RingAddress;
    readonly from: number;
    readonly to: number;
  }): Promise<{ readonly entries: readonly StoredEntry[]; readonly next: number | undefined }> {
    checkRing(p.ring);
    if (p.to < p.from) return { entries: [], next: undefined };
    const { client, table } = this.#place;
    const command = new QueryCommand({
      TableName: table,
      ConsistentRead: true,
      KeyConditionExpression: `${attribute.partition} = :p AND ${attribute.sort} BETWEEN :from AND :to`,
      ExpressionAttributeValues: {
        ':p': { S: partitionOfRing(p.ring) },
        ':from': { S: sortOfSlot(p.from) },
        ':to': { S: sortOfSlot(p.to) },
      },
    });
    const { Items: items = [], LastEvaluatedKey: last } = await ask(this.#place, 'Query', () => client.send(command));
    const next = last === undefined ? undefined : Number(textOf(last[attribute.sort])) + 1;
    return { entries: items.map(entryOf), next: next !== undefined && next <= p.to ? next : undefined };
  }

  async overwrite(p: { readonly ring: RingAddress; readonly slot: number; readonly entry: StoredEntry }): Promise<void> {
    checkEntry(p.ring, p.slot, p.entry);
    const { client, table } = this.#place;
    const command = new PutItemCommand({ TableName: table, Item: itemOf(p) });
    await ask(this.#place, 'PutItem', () => client.send(command));
  }

  async remove(ring: RingAddress): Promise<void> {
    checkRing(ring);
    const progress = { isBegun: false };
    try {
      await this.#removeAll(ring, progress);
    } catch (error) {
      throw progress.isBegun ? afterPart(error) : error;
    }
  }

  async #removeAll(ring: RingAddress, progress: { isBegun: boolean }): Promise<void> {
    const { client, table } = this.#place;
    for (let from: Item | undefined, isLast = false; !isLast; ) {
      const command: QueryCommand = new QueryCommand({
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: `${attribute.partition} = :p`,
        ProjectionExpression: `${attribute.partition}, ${attribute.sort}`,
        ExpressionAttributeValues: { ':p': { S: partitionOfRing(ring) } },
        ...(from === undefined ? {} : { ExclusiveStartKey: from as Record<string, AttributeValue> }),
      });
      const page = await ask(this.#place, 'Query', () => client.send(command));
      await this.#delete(
        (page.Items ?? []).map((key) => ({ DeleteRequest: { Key: key } })),
        progress,
      );
      from = page.LastEvaluatedKey;
      isLast = from === undefined;
    }
  }

  /** Slots of a ring that nobody writes to any more: the one place where a batch without conditions is right. */
  async #delete(requests: readonly WriteRequest[], progress: { isBegun: boolean }): Promise<void> {
    const { client, table } = this.#place;
    for (let left = [...requests]; left.length > 0; ) {
      const batch = left.slice(0, deletesMax);
      const command = new BatchWriteItemCommand({ RequestItems: { [table]: batch } });
      const { UnprocessedItems: undone = {} } = await ask(this.#place, 'BatchWriteItem', () => client.send(command));
      const again = undone[table] ?? [];
      if (again.length === batch.length) throw throttled(this.#place);
      progress.isBegun = true;
      left = [...again, ...left.slice(deletesMax)];
    }
  }

  async #transact(p: Put & { readonly change: string }): Promise<PutOutcome | Refused> {
    const { client, table } = this.#place;
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          ConditionCheck: {
            TableName: table,
            Key: keyOfItem(jobItemName),
            ConditionExpression: `${attribute.change} = :change`,
            ExpressionAttributeValues: { ':change': { S: p.change } },
          },
        },
        { Put: { ...this.#putOf(p), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
      ],
    });
    return await ask(
      this.#place,
      'TransactWriteItems',
      async (): Promise<PutOutcome> => {
        await client.send(command);
        return { kind: 'stored' };
      },
      (error) => (error instanceof TransactionCanceledException ? this.#decide(error) : undefined),
    );
  }

  /** Nothing of a cancelled transaction happened. Whatever is not a condition decides first: it may hide what the check of the job item says. */
  #decide({ CancellationReasons: reasons = [] }: TransactionCanceledException): PutOutcome | Refused {
    const [job, put] = reasons;
    if (isCondition(job?.Code)) return { kind: 'refused' };
    const others = reasons.filter(({ Code: code }) => code !== undefined && code !== 'None' && !isCondition(code));
    if (others.length === 0 && isCondition(put?.Code)) return conflictWith(put?.Item);
    const final = others.find(({ Code: code = '' }) => !['nothing', 'unknown'].includes(meaningOf(code)));
    if (final === undefined) throw throttled(this.#place, others.map(({ Code: code }) => code).join(', '));
    throw errorOfPart(
      { code: final.Code ?? '', message: final.Message },
      `dynamodb:${final === job ? 'ConditionCheckItem' : 'PutItem'} in a transaction in table ${this.#place.table}`,
    );
  }

  #putOf(p: Put): { TableName: string; Item: Record<string, AttributeValue>; ConditionExpression: string } & Partial<PutItemCommandInput> {
    const { table } = this.#place;
    if (p.expects === 'absent')
      return { TableName: table, Item: itemOf(p), ConditionExpression: `attribute_not_exists(${attribute.partition})` };
    return {
      TableName: table,
      Item: itemOf(p),
      ConditionExpression: `${attribute.number} = :expected`,
      ExpressionAttributeValues: { ':expected': { N: String(p.expects) } },
    };
  }
}

function isCondition(code: string | undefined): boolean {
  return code !== undefined && meaningOf(code) === 'condition';
}

function throttled({ table }: DynamoPlace, why = 'parts of a batch were left'): SluiceError {
  return new SluiceError('STORE_THROTTLED', { message: `table ${table} does not take this request now: ${why}`, next: 'retry-invocation' });
}

function itemOf(p: { readonly ring: RingAddress; readonly slot: number; readonly entry: StoredEntry }): Record<string, AttributeValue> {
  const { n, writer, bytes } = p.entry;
  return {
    ...keyOfSlot(p.ring, p.slot),
    [attribute.number]: { N: String(n) },
    [attribute.writer]: { S: writer },
    [attribute.bytes]: { B: bytes },
  };
}

function entryOf(item: Item): StoredEntry {
  return { n: numberOf(item[attribute.number]), writer: textOf(item[attribute.writer]), bytes: bytesOf(item[attribute.bytes]) };
}

function conflictWith(item: Item | undefined): PutOutcome {
  if (item === undefined || Object.keys(item).length === 0) return { kind: 'conflict', held: undefined };
  return { kind: 'conflict', held: { n: numberOf(item[attribute.number]), writer: textOf(item[attribute.writer]) } };
}
