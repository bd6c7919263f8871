// Makes a Sluice job of a drawn one for one process: sources read and sinks write as that process.

import {
  type DataStream,
  defineJob,
  type Env,
  FsStateBackend,
  type Job,
  MemoryStateBackend,
  type SourceOptions,
  WatermarkStrategy,
} from '../../lib/index.ts';
import type { SimulatedProcess } from '../../lib/testing/index.ts';
import { keySelector, operatorOf, side } from '../simulation/build.ts';
import type { Testimony } from '../simulation/functions.ts';
import type { JobSpec, Node, Op, Row, SourceSpec } from '../simulation/spec.ts';
import { type Arrivals, rereadableSource } from './source.ts';
import { appendSink, contractSink, latestSink, logSink, type Targets, twoPhaseSink, upsertSink } from './targets.ts';

export interface Surroundings {
  readonly process: SimulatedProcess;
  readonly targets: Targets;
  readonly arrivals: Arrivals;
  readonly throwsNow: (row?: Row) => boolean;
  readonly testify: (t: Testimony) => void;
  readonly timerThrowsNow?: () => boolean;
}

export function buildJob(spec: JobSpec, around: Surroundings): Job {
  return defineJob(spec.name, (env) => {
    configure(env, spec);
    const made: (DataStream<Row> | undefined)[] = [];
    for (const node of spec.nodes) {
      const inputs = node.inputs.map((i) => (i.isSide ? made[i.node]!.getSideOutput(side) : made[i.node]!));
      made.push(attach(env, node, inputs, around));
    }
  });
}

function configure(env: Env, spec: JobSpec): void {
  const c = spec.checkpoints;
  env.setMaxParallelism(spec.maxParallelism);
  if (spec.backend === 'fs') env.setStateBackend(new FsStateBackend('file:/checkpoints'));
  else if (spec.backend !== 'table') env.setStateBackend(new MemoryStateBackend(1_048_576));
  env.enableCheckpointing(c.intervalMs, {
    mode: c.mode,
    timeout: c.timeoutMs,
    minPauseBetweenCheckpoints: c.minPauseMs,
    maxConcurrentCheckpoints: c.maxConcurrent,
    tolerableFailures: c.tolerableFailures,
    numRetained: c.numRetained,
    externalizedCleanup: c.cleanup,
  });
}

function attach(env: Env, node: Node, inputs: readonly DataStream<Row>[], around: Surroundings): DataStream<Row> | undefined {
  const { op, uid } = node;
  if (op.kind === 'sink') {
    sink(inputs[0]!, uid, op, around);
    return undefined;
  }
  const made =
    op.kind === 'source'
      ? env.fromSource(rereadableSource(op.source, around.arrivals, around.process), sourceOptions(uid, op.source))
      : operatorOf(node, inputs, { ...around, build: '' }).uid(uid);
  return node.parallelism === undefined ? made : made.setParallelism(node.parallelism);
}

function sourceOptions(uid: string, { hasWatermarks, disorderMs, evolution, idleMs }: SourceSpec): SourceOptions<Row> {
  const watermarks = WatermarkStrategy.forBoundedOutOfOrderness<Row>(disorderMs).withTimestamps((r) => r.t);
  return {
    uid,
    ...(hasWatermarks ? { watermarks: idleMs === undefined ? watermarks : watermarks.withIdleness(idleMs) } : {}),
    ...(evolution === undefined ? {} : { partitionedBy: keySelector(evolution.key, evolution.isPinned) }),
  };
}

function sink(input: DataStream<Row>, uid: string, op: Op & { kind: 'sink' }, { targets, process }: Surroundings): void {
  switch (op.sink) {
    case 'two-phase':
      input.sinkTo(() => twoPhaseSink(targets, uid, process), { uid });
      return;
    case 'contract':
      input.sinkTo(contractSink(targets, uid, process), { uid });
      return;
    case 'upsert':
      input.sinkTo(upsertSink(targets, uid, process), { uid });
      return;
    case 'latest':
      input.sinkTo(latestSink(targets, uid, process), { uid });
      return;
    case 'append':
      input.sinkTo(appendSink(targets, uid, process), { uid });
      return;
    case 'log':
      input.sinkTo(() => logSink(targets, uid, process), { uid });
      return;
    case 'files':
      throw new Error('there are no files here');
  }
}
