// Items of a user's table, each changed on the condition that its revision and its tag are what was read.
//   I1  Keys that a batch read leaves are asked again. One that gets none of them is throttled.
//   I2  A condition that fails is a conflict, of one item or of all in a transaction. A transaction that ran into another one was throttled: nothing of it
//       happened, and nothing is known of its conditions.

import {
  type AttributeValue,
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import {
  type ItemChange,
  type ItemTable,
  type ReadItem,
  type RowFields,
  rowRevisionAttribute,
  rowTagAttribute,
  type TableItem,
} from '../../../api/row-table.ts';
import { canonicalDigits } from '../../../connectors/cloud/row-values.ts';
import { type Attributes, attributesOf, fieldsOfAttributes } from '../../../connectors/cloud/rows/attributes.ts';
import { SluiceError } from '../../../core/errors.ts';
import { ask, type DynamoPlace, type Item } from '../dynamo.ts';
import { errorOf, errorOfPart, meaningOf } from '../errors.ts';

const keysMax = 100;
const changesAtOnceMax = 25;

type Outcome = 'changed' | 'conflict';
type EachOutcome = Outcome | 'left';

export class DynamoItemTable implements ItemTable {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async read(keys: readonly RowFields[]): Promise<readonly (TableItem | undefined)[]> {
    const found = new Map<string, Item>();
    const names = [...(keys[0]?.keys() ?? [])];
    for (let from = 0; from < keys.length; from += keysMax) {
      for (let left = keys.slice(from, from + keysMax).map(itemOf); left.length > 0; ) {
        const page = await this.#readPage(left);
        for (const item of page.items) found.set(nameOfKey(item, names), item);
        if (page.left.length === left.length) throw this.#throttled('none of a batch of keys was read');
        left = page.left;
      }
    }
    return keys.map((key) => {
      const item = found.get(nameOfKey(itemOf(key), names));
      return item === undefined ? undefined : fieldsOfAttributes(item as Attributes);
    });
  }

  async #readPage(
    keys: readonly Record<string, AttributeValue>[],
  ): Promise<{ readonly items: readonly Item[]; readonly left: Record<string, AttributeValue>[] }> {
    const { client, table } = this.#place;
    const command = new BatchGetItemCommand({ RequestItems: { [table]: { Keys: [...keys], ConsistentRead: true } } });
    const { Responses: found = {}, UnprocessedKeys: undone = {} } = await ask(this.#place, 'BatchGetItem', () => client.send(command));
    return { items: found[table] ?? [], left: undone[table]?.Keys ?? [] };
  }

  async changeEach(changes: readonly ItemChange[]): Promise<readonly EachOutcome[]> {
    const outcomes: EachOutcome[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < changes.length) {
        const at = next++;
        outcomes[at] = await this.#change(changes[at]!);
      }
    };
    const done = await Promise.allSettled(Array.from({ length: Math.min(changesAtOnceMax, changes.length) }, work));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
    return outcomes;
  }

  async #change(change: ItemChange): Promise<EachOutcome> {
    const { client } = this.#place;
    const request = async (): Promise<EachOutcome> => {
      await client.send(new PutItemCommand(this.#putOf(change)));
      return 'changed';
    };
    return await ask(this.#place, 'PutItem', request, (error): EachOutcome | undefined => {
      if (error instanceof ConditionalCheckFailedException) return 'conflict';
      const { code } = errorOf(error, '');
      return code === 'STORE_THROTTLED' || code === 'STORE_UNCERTAIN' ? 'left' : undefined;
    });
  }

  async changeAll(changes: readonly ItemChange[]): Promise<Outcome> {
    const { client } = this.#place;
    const command = new TransactWriteItemsCommand({ TransactItems: changes.map((change) => ({ Put: this.#putOf(change) })) });
    const request = async (): Promise<Outcome> => {
      await client.send(command);
      return 'changed';
    };
    return await ask(this.#place, 'TransactWriteItems', request, (error) =>
      error instanceof TransactionCanceledException ? this.#decide(error) : undefined,
    );
  }

  #decide({ CancellationReasons: reasons = [] }: TransactionCanceledException): Outcome {
    const codes = reasons.flatMap(({ Code: code, Message: message }) => (code === undefined || code === 'None' ? [] : [{ code, message }]));
    const others = codes.filter(({ code }) => meaningOf(code) !== 'condition');
    const final = others.find(({ code }) => !['nothing', 'unknown'].includes(meaningOf(code)));
    if (final !== undefined) throw errorOfPart(final, `dynamodb:PutItem in a transaction in table ${this.#place.table}`);
    if (codes.length > others.length) return 'conflict';
    throw this.#throttled(others.map(({ code }) => code).join(', '));
  }

  #putOf({ item, expects }: ItemChange) {
    return {
      TableName: this.#place.table,
      Item: itemOf(item),
      ...conditionOf(expects),
    };
  }

  #throttled(why: string): SluiceError {
    return new SluiceError('STORE_THROTTLED', {
      message: `table ${this.#place.table} does not take this request now: ${why}`,
      next: 'retry-invocation',
    });
  }
}

function conditionOf({ revision, tag }: ReadItem) {
  const values: Record<string, AttributeValue> = {};
  if (revision !== undefined) values[':rev'] = { N: String(revision) };
  if (tag !== undefined) values[':tag'] = { S: tag };
  const isAs = (name: string): string => (values[`:${name}`] === undefined ? `attribute_not_exists(#${name})` : `#${name} = :${name}`);
  return {
    ConditionExpression: `${isAs('rev')} AND ${isAs('tag')}`,
    ExpressionAttributeNames: { '#rev': rowRevisionAttribute, '#tag': rowTagAttribute },
    ...((revision ?? tag) === undefined ? {} : { ExpressionAttributeValues: values }),
  };
}

function nameOfKey(item: Item, names: readonly string[]): string {
  return names.map((name) => keyText(item[name])).join('/');
}

/** Numbers come back as the service writes them. */
function keyText(value: AttributeValue | undefined): string {
  if (value?.N !== undefined) return `n${canonicalDigits(value.N)}`;
  if (value?.B !== undefined) return `b${Array.from(value.B).join()}`;
  return JSON.stringify(value?.S);
}

function itemOf(fields: RowFields): Record<string, AttributeValue> {
  return attributesOf(fields) as Record<string, AttributeValue>;
}
