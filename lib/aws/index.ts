// The entry point `sluice/aws`: the handlers of a deployed job's functions.
export { answerCheck as checkHandler } from './deploy-check-resource.ts';
export { type JobModule, pulseHandler, queryHandler, stageHandler } from './handlers.ts';
