// Rows of a user's table: one conditional request for each.
//   T1  A condition that fails says that the row has a larger tag, and which: that is an outcome and no error.
//   T2  Some rows at a time, so that a large entry does not take every socket of the function.

import { type AttributeValue, ConditionalCheckFailedException, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { type RowFields, type RowLeft, type RowTable, type RowWrite, rowGoneAttribute, rowTagAttribute } from '../../../api/row-table.ts';
import { attributeOf, attributesOf } from '../../../connectors/cloud/rows/attributes.ts';
import { ask, type DynamoPlace } from '../dynamo.ts';

const rowsAtOnceMax = 25;

export class DynamoRows implements RowTable {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async write(rows: readonly RowWrite[]): Promise<readonly RowLeft[]> {
    let next = 0;
    const left: RowLeft[] = [];
    const work = async (): Promise<void> => {
      while (next < rows.length) {
        const row = rows[next++]!;
        const outcome = await this.#write(row);
        if (outcome !== 'written') left.push({ key: row.key, held: outcome.held });
      }
    };
    const done = await Promise.allSettled(Array.from({ length: Math.min(rowsAtOnceMax, rows.length) }, work));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
    return left;
  }

  async #write(row: RowWrite): Promise<'written' | Pick<RowLeft, 'held'>> {
    const { client } = this.#place;
    const request = async (): Promise<'written'> => {
      if (row.how === 'replace') await client.send(new PutItemCommand(this.#put(row)));
      else await client.send(new UpdateItemCommand(this.#update(row)));
      return 'written';
    };
    const heldIn = (error: unknown): Pick<RowLeft, 'held'> | undefined =>
      error instanceof ConditionalCheckFailedException ? { held: error.Item?.[rowTagAttribute]?.S } : undefined;
    return await ask(this.#place, row.how === 'replace' ? 'PutItem' : 'UpdateItem', request, heldIn);
  }

  #put({ key, fields, tag, alsoOver }: RowWrite) {
    const { condition, values } = notLater(tag, alsoOver);
    return {
      TableName: this.#place.table,
      Item: { ...itemOf(key), ...itemOf(fields), [rowTagAttribute]: { S: tag } },
      ConditionExpression: condition,
      ExpressionAttributeNames: { '#tag': rowTagAttribute },
      ExpressionAttributeValues: values,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    };
  }

  /** A row that was deleted is one again. */
  #update({ key, fields, tag, alsoOver }: RowWrite) {
    const { condition, values } = notLater(tag, alsoOver);
    const names = [...fields.keys()];
    const sets = ['#tag = :tag', ...names.map((_, i) => `#f${i} = :f${i}`)];
    return {
      TableName: this.#place.table,
      Key: itemOf(key),
      UpdateExpression: `SET ${sets.join(', ')} REMOVE #gone`,
      ConditionExpression: condition,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
      ExpressionAttributeNames: {
        '#tag': rowTagAttribute,
        '#gone': rowGoneAttribute,
        ...Object.fromEntries(names.map((name, i) => [`#f${i}`, name])),
      },
      ExpressionAttributeValues: {
        ...values,
        ...Object.fromEntries([...fields.values()].map((value, i) => [`:f${i}`, attributeOf(value) as AttributeValue])),
      },
    };
  }
}

function notLater(tag: string, alsoOver: RowWrite['alsoOver']) {
  const condition = 'attribute_not_exists(#tag) OR #tag <= :tag';
  const own = { ':tag': { S: tag } };
  if (alsoOver === undefined) return { condition, values: own };
  const { from, to } = alsoOver;
  return { condition: `${condition} OR #tag BETWEEN :from AND :to`, values: { ...own, ':from': { S: from }, ':to': { S: to } } };
}

function itemOf(fields: RowFields): Record<string, AttributeValue> {
  return attributesOf(fields) as Record<string, AttributeValue>;
}
