// statements.ts reads the statements of a PartiQL batch as far as the runtime writes them: a put of what is not there, and an update on a condition.

import type { AttributeValue, BatchStatementRequest } from '@aws-sdk/client-dynamodb';

export interface StatementWrite {
  readonly kind: 'put' | 'update';
  readonly TableName: string;
  readonly Item?: Record<string, AttributeValue>;
  readonly Key?: Record<string, AttributeValue>;
  readonly UpdateExpression?: string;
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
}

const keyNames = 2;

export function statementOf({ Statement: text = '', Parameters: given = [] }: BatchStatementRequest): StatementWrite {
  const insert = /^INSERT INTO "([^"]+)" VALUE \{(.*)\}$/.exec(text);
  if (insert !== null) {
    const names = [...(insert[2] ?? '').matchAll(/'([^']+)': \?/g)].map(([, name = '']) => name);
    const Item = Object.fromEntries(names.map((name, i) => [name, given[i] as AttributeValue]));
    return { kind: 'put', TableName: insert[1] ?? '', Item, ConditionExpression: `attribute_not_exists(${names[0]})` };
  }
  const update = /^UPDATE "([^"]+)" (.*) WHERE (.*)$/.exec(text);
  if (update === null) throw new Error(`the stand-in of the table does not know this statement: ${text}`);
  return updateOf({ table: update[1] ?? '', changes: update[2] ?? '', where: update[3] ?? '' }, given);
}

function updateOf(
  { table, changes, where }: { readonly table: string; readonly changes: string; readonly where: string },
  given: readonly AttributeValue[],
): StatementWrite {
  const sets = [...changes.matchAll(/SET "([^"]+)" = \?/g)].map(([, name = '']) => name);
  const removed = [...changes.matchAll(/REMOVE "([^"]+)"/g)].map(([, name = '']) => name);
  const tests = [...where.matchAll(/"([^"]+)" = \?/g)].map(([, name = '']) => name);
  const values = Object.fromEntries(given.map((value, i) => [`:v${i}`, value]));
  const behind = sets.length;
  const key = tests.slice(0, keyNames).map((name, i) => [name, given[behind + i] as AttributeValue]);
  const conditions = tests.slice(keyNames).map((name, i) => `${name} = :v${behind + keyNames + i}`);
  return {
    kind: 'update',
    TableName: table,
    Key: Object.fromEntries(key),
    UpdateExpression: [
      `SET ${sets.map((name, i) => `${name} = :v${i}`).join(', ')}`,
      ...(removed.length === 0 ? [] : [`REMOVE ${removed.join(', ')}`]),
    ].join(' '),
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeValues: values,
  };
}
