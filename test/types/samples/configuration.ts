import { type CheckpointOptions, defineJob, FsStateBackend, MemoryStateBackend, RestartStrategies } from 'sluice';

const options: CheckpointOptions = {
  mode: 'EXACTLY_ONCE', // | 'AT_LEAST_ONCE' | 'AT_MOST_ONCE'
  timeout: '10 min',
  minPauseBetweenCheckpoints: '500 ms', // > 0: at most one in flight
  maxConcurrentCheckpoints: 1,
  externalizedCleanup: 'RETAIN_ON_CANCELLATION', // | 'DELETE_ON_CANCELLATION' | 'NO_EXTERNALIZED_CHECKPOINTS'
  tolerableFailures: 0, // 0 = Flink's failOnCheckpointingErrors(true)
  preferCheckpointForRecovery: false,
  numRetained: 1,
};

export default defineJob('configured', (env, params) => {
  env.setParallelism(4); // default 1
  env.setMaxParallelism(128);
  env.setStateBackend(params.boolean('memory', false) ? new MemoryStateBackend(5_242_880, true) : new FsStateBackend('file:./checkpoints'));
  env.enableCheckpointing('10 s', options);
  env.setRestartStrategy(RestartStrategies.exponentialDelay({ initial: '1 s', max: '1 min' }));
  env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 3, delay: '1 s' }));
  env.setRestartStrategy(RestartStrategies.failureRate({ maxFailures: 3, interval: '5 min', delay: '1 s' }));
  env.setRestartStrategy(RestartStrategies.none());
});
