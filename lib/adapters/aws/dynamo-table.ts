import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type BatchStatementRequest,
  type BatchStatementResponse,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import type { ItemAddress, StateItem, StatePut, StateTable } from '../../invocation/ports.ts';
import { checkPuts, checkReads } from '../../invocation/request-limits.ts';
import { ask, bytesOf, type DynamoPlace, type Item, textOf } from './dynamo.ts';
import { errorOfPart, meaningOf } from './errors.ts';
import { addressOfKey, attribute, keyOfState, partitionOfState } from './layout.ts';

type Outcome = 'stored' | 'conflict' | 'left';

const { partition, sort, tags, bytes, expires } = attribute;

/**
 * Versioned items.
 *   T1  A put is a statement with a condition of its own: a batch of puts without conditions could set an item back.
 *   T2  A statement of which nobody knows whether it was carried out counts as a conflict: whoever put it reads the item and finds out.
 */
export class DynamoTable implements StateTable {
  readonly #place: DynamoPlace;

  constructor(place: DynamoPlace) {
    this.#place = place;
  }

  async readMany(
    addresses: readonly ItemAddress[],
  ): Promise<{ readonly items: readonly StateItem[]; readonly left: readonly ItemAddress[] }> {
    checkReads(addresses);
    const { client, table } = this.#place;
    const keys = addresses.map((address): Record<string, AttributeValue> => ({ ...keyOfState(address) }));
    const command = new BatchGetItemCommand({ RequestItems: { [table]: { Keys: keys, ConsistentRead: true } } });
    const { Responses: found = {}, UnprocessedKeys: undone = {} } = await ask(this.#place, 'BatchGetItem', () => client.send(command));
    const left = (undone[table]?.Keys ?? []).map((key) => addressOfKey(textOf(key[partition]), textOf(key[sort])));
    return { items: (found[table] ?? []).map(itemOf), left };
  }

  async readPartition(p: {
    readonly partition: string;
    readonly after: string | undefined;
  }): Promise<{ readonly items: readonly StateItem[]; readonly next: string | undefined }> {
    const { client, table } = this.#place;
    const command = new QueryCommand({
      TableName: table,
      ConsistentRead: true,
      KeyConditionExpression: `${partition} = :p${p.after === undefined || p.after === '' ? '' : ` AND ${sort} > :after`}`,
      ExpressionAttributeValues: {
        ':p': { S: partitionOfState(p.partition) },
        ...(p.after === undefined || p.after === '' ? {} : { ':after': { S: p.after } }),
      },
    });
    const { Items: items = [], LastEvaluatedKey: last } = await ask(this.#place, 'Query', () => client.send(command));
    return { items: items.map(itemOf), next: last === undefined ? undefined : textOf(last[sort]) };
  }

  async putMany(puts: readonly StatePut[]): Promise<readonly Outcome[]> {
    checkPuts(puts);
    const { client, table } = this.#place;
    const command = new BatchExecuteStatementCommand({ Statements: puts.map((put) => statementOf(table, put)) });
    const { Responses: responses = [] } = await ask(this.#place, actionsOf(puts), () => client.send(command));
    return puts.map((put, i) => this.#outcomeOf(put, responses[i]));
  }

  #outcomeOf(put: StatePut, response: BatchStatementResponse | undefined): Outcome {
    if (response === undefined) return 'conflict';
    if (response.Error === undefined) return 'stored';
    const { Code: code = '', Message: message } = response.Error;
    switch (meaningOf(code)) {
      case 'condition':
      case 'unknown':
        return 'conflict';
      case 'nothing':
        return 'left';
      default:
        throw errorOfPart({ code, message }, `dynamodb:${actionsOf([put])} in table ${this.#place.table}`);
    }
  }
}

/** Names of what a role needs for them: each kind of statement has one of its own. */
function actionsOf(puts: readonly StatePut[]): string {
  const names = puts.map(({ expects }) => (expects === 'absent' ? 'PartiQLInsert' : 'PartiQLUpdate'));
  return [...new Set(names)].join(' and dynamodb:');
}

function itemOf(item: Item): StateItem {
  return {
    address: addressOfKey(textOf(item[partition]), textOf(item[sort])),
    tags: textOf(item[tags]),
    bytes: bytesOf(item[bytes]),
  };
}

/** Values are parameters, so that the text of a statement is one of four and of a bounded length. */
function statementOf(table: string, put: StatePut): BatchStatementRequest {
  const { p, s } = keyOfState(put.address);
  const content: AttributeValue[] = [{ S: put.tags }, { B: put.bytes }];
  // Seconds, rounded up: an item may live longer than asked for, never shorter.
  const end: AttributeValue[] = put.expiresAtMs === undefined ? [] : [{ N: String(Math.ceil(put.expiresAtMs / 1_000)) }];
  if (put.expects === 'absent') {
    const more = end.length === 0 ? '' : `, '${expires}': ?`;
    return {
      Statement: `INSERT INTO "${table}" VALUE {'${partition}': ?, '${sort}': ?, '${tags}': ?, '${bytes}': ?${more}}`,
      Parameters: [p, s, ...content, ...end],
    };
  }
  const more = end.length === 0 ? ` REMOVE "${expires}"` : ` SET "${expires}" = ?`;
  return {
    Statement: `UPDATE "${table}" SET "${tags}" = ? SET "${bytes}" = ?${more} WHERE "${partition}" = ? AND "${sort}" = ? AND "${tags}" = ?`,
    Parameters: [...content, ...end, p, s, { S: put.expects }],
  };
}
