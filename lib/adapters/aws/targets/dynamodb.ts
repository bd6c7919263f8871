// Rows of a user's table: one conditional request for each.
//   T1  A condition that fails says that the row has a later write: that is an outcome and no error.
//   T2  Some rows at a time, so that a large entry does not take every socket of the function.

import { type AttributeValue, ConditionalCheckFailedException, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { type RowFields, type RowTable, type RowWrite, rowGoneAttribute, rowTagAttribute } from '../../../api/row-table.ts';
import { attributeOf, attributesOf } from '../../../connectors/cloud/rows/attributes.ts';
import { ask, type DynamoPlace } from '../dynamo.ts';

const rowsAtOnceMax = 25;

export class DynamoRows implements RowTable {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async write(rows: readonly RowWrite[]): Promise<number> {
    let next = 0;
    let left = 0;
    const work = async (): Promise<void> => {
      while (next < rows.length) if ((await this.#write(rows[next++]!)) === 'later') left++;
    };
    const done = await Promise.allSettled(Array.from({ length: Math.min(rowsAtOnceMax, rows.length) }, work));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
    return left;
  }

  async #write(row: RowWrite): Promise<'written' | 'later'> {
    const { client } = this.#place;
    const request = async (): Promise<'written'> => {
      if (row.how === 'replace') await client.send(new PutItemCommand(this.#put(row)));
      else await client.send(new UpdateItemCommand(this.#update(row)));
      return 'written';
    };
    const isLater = (error: unknown): 'later' | undefined => (error instanceof ConditionalCheckFailedException ? 'later' : undefined);
    return await ask(this.#place, row.how === 'replace' ? 'PutItem' : 'UpdateItem', request, isLater);
  }

  #put({ key, fields, tag }: RowWrite) {
    return {
      TableName: this.#place.table,
      Item: { ...itemOf(key), ...itemOf(fields), [rowTagAttribute]: { S: tag } },
      ConditionExpression: notLater,
      ExpressionAttributeNames: { '#tag': rowTagAttribute },
      ExpressionAttributeValues: { ':tag': { S: tag } },
    };
  }

  /** A row that was deleted is one again. */
  #update({ key, fields, tag }: RowWrite) {
    const names = [...fields.keys()];
    const sets = ['#tag = :tag', ...names.map((_, i) => `#f${i} = :f${i}`)];
    return {
      TableName: this.#place.table,
      Key: itemOf(key),
      UpdateExpression: `SET ${sets.join(', ')} REMOVE #gone`,
      ConditionExpression: notLater,
      ExpressionAttributeNames: {
        '#tag': rowTagAttribute,
        '#gone': rowGoneAttribute,
        ...Object.fromEntries(names.map((name, i) => [`#f${i}`, name])),
      },
      ExpressionAttributeValues: {
        ':tag': { S: tag },
        ...Object.fromEntries([...fields.values()].map((value, i) => [`:f${i}`, attributeOf(value) as AttributeValue])),
      },
    };
  }
}

const notLater = 'attribute_not_exists(#tag) OR #tag <= :tag';

function itemOf(fields: RowFields): Record<string, AttributeValue> {
  return attributesOf(fields) as Record<string, AttributeValue>;
}
