// Strict fakes of the services under the invocation runtime, and the suites that every adapter of their ports passes.

export { FakeChangelog } from './fake-changelog.ts';
export { FakeExchange } from './fake-exchange.ts';
export { calmHooks, type FakeHooks, type FakeHost } from './fake-hooks.ts';
export { FakeItems, FakeObjects } from './fake-items.ts';
export { type FakeCall, fakePorts, promptCall } from './fake-ports.ts';
export { FakeQueue, type FakeQueueHooks, type QueueDelivered } from './fake-queue.ts';
export { FakeService } from './fake-service.ts';
export { FakeTable } from './fake-table.ts';
export type { QueuedMessage, ServiceChange } from './service-change.ts';
export { changelogSuite } from './suites/changelog-suite.ts';
export { exchangeSuite, streamExchangeSuite } from './suites/exchange-suite.ts';
export { jobItemsSuite } from './suites/job-items-suite.ts';
export { objectStoreSuite } from './suites/object-store-suite.ts';
export { type MakeQueue, type QueueUnderTest, queueSuite } from './suites/queue-suite.ts';
export { stateTableSuite } from './suites/state-table-suite.ts';
export type { MakePorts, PortsUnderTest } from './suites/support.ts';
