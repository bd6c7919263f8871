// The entry point `sluice/aws`: the handlers of a deployed job's functions.
export { type JobModule, pulseHandler, queryHandler, stageHandler } from './handlers.ts';
