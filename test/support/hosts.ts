// One stage of a job's plan as an operator host, without a runtime around it.

import type { Env } from '../../lib/api/environment.ts';
import { defineJob } from '../../lib/api/job.ts';
import { ParamValues } from '../../lib/api/params.ts';
import type { OperatorRestore, OperatorSnapshot, SubtaskRestore, SubtaskSnapshot } from '../../lib/checkpoint/snapshot.ts';
import { noTimestamp, type RecordBatch, type StreamElement } from '../../lib/core/batch.ts';
import { normalizeKey } from '../../lib/core/key-codec.ts';
import { compile } from '../../lib/graph/compile.ts';
import type { Plan, Stage } from '../../lib/graph/plan.ts';
import { describe as describeJob } from '../../lib/operators/describe.ts';
import { OperatorHost } from '../../lib/runtime/host.ts';
import type { HostSnapshot } from '../../lib/runtime/host-snapshot.ts';
import { SubtaskMetrics } from '../../lib/runtime/metrics.ts';
import { HeapState } from '../../lib/state/heap/heap-state.ts';
import { seededRandom } from '../../lib/testing/index.ts';

export function planOf(build: (env: Env) => void): Plan {
  return compile(describeJob(defineJob('job', build), new ParamValues(new Map()), {}));
}

/** The stage that has an operator of this uid. */
export function stageOf(plan: Plan, uid: string): Stage {
  const stage = plan.stages.find(({ operators }) => operators.some((operator) => operator.uid === uid));
  if (stage === undefined) throw new Error(`no operator ${uid}`);
  return stage;
}

export interface HostOptions {
  readonly subtask?: number;
  readonly restore?: SubtaskRestore;
  readonly now?: () => number;
}

export async function hostOf(plan: Plan, uid: string, options: HostOptions = {}): Promise<OperatorHost> {
  const host = new OperatorHost({
    stage: stageOf(plan, uid),
    subtask: options.subtask ?? 0,
    stages: plan.stages,
    createKeyedState: (wanted) => new HeapState(wanted),
    metrics: new SubtaskMetrics(),
    random: seededRandom(1),
    now: options.now ?? (() => 0),
    restore: options.restore,
  });
  await host.open();
  return host;
}

/** Records, optionally with keys and event times. */
export function batchOf(
  values: readonly unknown[],
  o: { keys?: readonly unknown[]; times?: readonly (number | undefined)[] } = {},
): RecordBatch {
  return {
    values: [...values],
    count: values.length,
    keys: o.keys?.map(normalizeKey),
    timestamps: o.times?.map((time) => time ?? noTimestamp),
  };
}

/** What a host gave since the last call: rows of sinks by uid, elements by outlet and target. */
export function given(host: OperatorHost): {
  readonly rows: Record<string, unknown[]>;
  readonly elements: readonly (readonly [outlet: number, target: number, StreamElement])[];
} {
  const { emissions, sinkRows } = host.takeEffects();
  const rows: Record<string, unknown[]> = {};
  for (const { operator, rows: batch } of sinkRows) {
    const uid = host.stage.operators[operator]?.uid as string;
    rows[uid] = [...(rows[uid] ?? []), ...batch.values.slice(0, batch.count)];
  }
  return { rows, elements: emissions.map(({ outlet, target, element }) => [outlet, target, element] as const) };
}

/** Encodes a snapshot to its end. */
export function finished(snapshot: HostSnapshot): SubtaskSnapshot {
  while (!snapshot.advance(7));
  return snapshot.finish(new Map());
}

/** What one new subtask gets of one old one, everything of it. */
export function restoreFrom(snapshot: SubtaskSnapshot, checkpoint = 1): SubtaskRestore {
  return { checkpoint, operators: snapshot.operators.map(restoreOperator) };
}

function restoreOperator({ uid, lists, keyed, sink, accumulators }: OperatorSnapshot): OperatorRestore {
  return { uid, lists, keyed: keyed === undefined ? [] : [keyed], sinkStates: sink === undefined ? [] : [sink.state], accumulators };
}
