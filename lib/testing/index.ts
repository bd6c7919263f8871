// The entry point `sluice/testing`: a seeded world in which processes of the engine run on strict fakes and meet faults, and the suites that
// every adapter of a port passes.

export { type DirectoryNode, type DiskChange, diskError, FakeDisk, type FileNode, type Node, normalPath } from './fake-disk.ts';
export { type Asker, fakeFileSystem, instantFileSystem } from './fake-file-system.ts';
export { type FaultKind, FaultPlan, faultKinds, type PlannedFault, randomFaults } from './fault-plan.ts';
export * from './invocation/index.ts';
export { mixText, type SeededRandom, seededRandom } from './seeded-random.ts';
export { type SimulatedPorts, SimulatedProcess } from './simulated-process.ts';
export { type FileSystemUnderTest, fileSystemSuite, type SuiteRunner } from './suites/file-system-suite.ts';
export { type StateBackendUnderTest, stateBackendSuite } from './suites/state-backend-suite.ts';
export { type BentCall, type Call, type Faults, StuckWorld, World, type WorldOptions, worldBeginsAt } from './world.ts';
