import { itemTableSuite } from '../support/item-table-suite.ts';
import { FakeItems } from '../unit/connectors/cloud/rows/support/fake-items.ts';

itemTableSuite('fake', () => {
  const table = new FakeItems(['k']);
  return Promise.resolve({ items: table.through(), writeAtOnce: (row) => Promise.resolve(table.writeAtOnce(row)) });
});
