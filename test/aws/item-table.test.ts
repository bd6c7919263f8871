// Conditions on items of a user's table, by the real client.
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { DynamoRows } from '../../lib/adapters/aws/targets/dynamodb.ts';
import { DynamoItemTable } from '../../lib/adapters/aws/targets/item-table.ts';
import { itemTableSuite } from '../support/item-table-suite.ts';
import { emulatorClients } from './place.ts';

let tables = 0;

itemTableSuite('DynamoDB', async () => {
  const { dynamodb: client } = emulatorClients();
  const table = `items-${process.pid}-${++tables}`;
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'k', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'k', AttributeType: 'S' }],
    }),
  );
  const rows = new DynamoRows({ client, table });
  return { items: new DynamoItemTable({ client, table }), writeAtOnce: async (row) => void (await rows.write([row])) };
});
