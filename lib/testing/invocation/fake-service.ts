// One durable world of one job, in memory. Its parts do what they are asked at once and whole; when that is, whether the answer arrives and who
// asks twice is decided by the `call` that the ports of a process are made with.
//   F1  Nothing is shared: bytes are copied on their way in, when a process asks, and on their way out.
//   F2  It is no less strict than the strictest service: bounds of request-limits.ts, order of UTF-8 bytes, batches and pages that end early.
//   F3  Observers hear of every durable change, in order, before anybody can see it.

import { FakeChangelog } from './fake-changelog.ts';
import { FakeExchange } from './fake-exchange.ts';
import { calmHooks, type FakeHooks, type FakeHost } from './fake-hooks.ts';
import { FakeItems, FakeObjects } from './fake-items.ts';
import { FakeTable } from './fake-table.ts';
import type { ServiceChange } from './service-change.ts';

/** Name of the item whose `change` a `create` checks. */
const jobItemName = 'job';

export class FakeService implements FakeHost {
  readonly hooks: FakeHooks;
  readonly observers: ((change: ServiceChange) => void)[] = [];
  readonly changelog: FakeChangelog;
  readonly table: FakeTable;
  readonly items: FakeItems;
  readonly objects: FakeObjects;
  readonly exchange: FakeExchange;

  constructor(hooks: Partial<FakeHooks> = {}) {
    this.hooks = { now: () => 0, ...calmHooks, ...hooks };
    this.items = new FakeItems(this);
    this.changelog = new FakeChangelog(this, () => this.items.get(jobItemName)?.change);
    this.table = new FakeTable(this);
    this.objects = new FakeObjects(this);
    this.exchange = new FakeExchange(this);
  }

  tell(change: ServiceChange): void {
    for (const observer of this.observers) observer(change);
  }
}
