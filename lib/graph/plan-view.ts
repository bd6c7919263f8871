// plan-view.ts is a plan as readers see it: plain data without functions, from which every format is rendered. Its JSON form is public.

import type { OperatorSpec } from '../api/description.ts';
import type { CheckpointSettings } from '../api/options.ts';
import type { RestartStrategy } from '../api/restart-strategy.ts';
import { formatDuration } from '../core/duration.ts';
import { formatBytes } from '../core/limits.ts';
import type { Exchange, Plan, PlannedOperator, Stage } from './plan.ts';
import { type PlannedState, statesOf } from './states.ts';

export interface PlanView {
  readonly job: string;
  readonly hash: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly backend: string;
  readonly checkpointsDirectory: string | null;
  readonly checkpoints: CheckpointSettings | null;
  readonly restart: RestartStrategy;
  readonly guarantee: string;
  readonly stages: readonly StageView[];
  readonly exchanges: readonly ExchangeView[];
}

export interface StageView {
  readonly id: number;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly operators: readonly OperatorView[];
}

export interface OperatorView {
  readonly uid: string;
  readonly name: string;
  readonly kind: OperatorSpec['kind'];
  /** What the user typed to make it, such as `window.aggregate`. */
  readonly call: string;
  readonly isStateful: boolean;
  readonly states: readonly PlannedState[];
  /** Uids of the operators in the same stage that read its output or a side output. */
  readonly feeds: readonly string[];
}

export interface ExchangeView {
  readonly id: number;
  readonly from: number;
  readonly fromOperator: string;
  readonly to: number;
  readonly input: 0 | 1;
  readonly partitioning: Exchange['partitioning']['kind'];
  readonly sideOutput: string | null;
}

export function viewOf(plan: Plan): PlanView {
  const { settings } = plan;
  return {
    job: plan.job,
    hash: plan.hash,
    parallelism: settings.parallelism,
    maxParallelism: settings.maxParallelism,
    backend: backendText(plan),
    checkpointsDirectory: settings.checkpointsDirectory ?? null,
    checkpoints: settings.checkpoints ?? null,
    restart: settings.restart,
    guarantee: guaranteeOf(plan),
    stages: plan.stages.map(stageView),
    exchanges: plan.stages.flatMap((stage) => stage.outlets.map((exchange) => exchangeView(stage, exchange))).sort((a, b) => a.id - b.id),
  };
}

function stageView(stage: Stage): StageView {
  const { id, name, parallelism, maxParallelism, operators } = stage;
  return { id, name, parallelism, maxParallelism, operators: operators.map((operator) => operatorView(stage, operator)) };
}

function operatorView(stage: Stage, { uid, name, node, targets, sideTargets }: PlannedOperator): OperatorView {
  const chained = [...targets, ...[...sideTargets.values()].flat()].flatMap((target) =>
    target.kind === 'operator' ? [target.operator] : [],
  );
  return {
    uid,
    name,
    kind: node.operator.kind,
    call: node.label,
    isStateful: node.isStateful,
    states: statesOf(node.operator),
    feeds: [...new Set(chained)].map((index) => (stage.operators[index] as PlannedOperator).uid),
  };
}

function exchangeView(stage: Stage, exchange: Exchange): ExchangeView {
  const { operator, sideOutput } = senderOf(stage, exchange.outlet);
  return {
    id: exchange.id,
    from: exchange.fromStage,
    fromOperator: operator,
    to: exchange.toStage,
    input: exchange.input,
    partitioning: exchange.partitioning.kind,
    sideOutput,
  };
}

/** The operator whose records an outlet carries. */
function senderOf(stage: Stage, outlet: number): { readonly operator: string; readonly sideOutput: string | null } {
  for (const { uid, targets, sideTargets } of stage.operators) {
    if (targets.some((target) => target.kind === 'exchange' && target.outlet === outlet)) return { operator: uid, sideOutput: null };
    for (const [sideOutput, side] of sideTargets) {
      if (side.some((target) => target.kind === 'exchange' && target.outlet === outlet)) return { operator: uid, sideOutput };
    }
  }
  return { operator: stage.name, sideOutput: null };
}

function backendText({ settings: { backend } }: Plan): string {
  if (backend.kind === 'dynamodb') return backend.table === undefined ? 'dynamodb' : `dynamodb (${backend.table})`;
  return backend.kind === 'memory' ? `memory (at most ${formatBytes(backend.stateBytesMax)})` : 'filesystem';
}

/** What the job promises of its state, from the checkpoint mode and from what its sources can do. */
export function guaranteeOf(plan: Plan): string {
  const { checkpoints } = plan.settings;
  if (checkpoints === undefined) return 'none: checkpointing is off, so nothing is kept between runs';
  const promise = { EXACTLY_ONCE: 'exactly-once', AT_LEAST_ONCE: 'at-least-once', AT_MOST_ONCE: 'at-most-once' }[checkpoints.mode];
  const forgetful = plan.stages.flatMap(({ operators: [head] }) =>
    head !== undefined && head.node.operator.kind === 'source' && !head.node.operator.source.isRereadable ? [head.uid] : [],
  );
  if (forgetful.length === 0) return promise;
  return `${promise}, but ${forgetful.join(', ')} cannot be read again: what came since the last checkpoint is lost with the process`;
}

export function checkpointText(c: CheckpointSettings | null): string {
  if (c === null) return 'off';
  const parts = [`every ${formatDuration(c.intervalMs)}`, c.mode, `timeout ${formatDuration(c.timeoutMs)}`];
  if (c.minPauseMs > 0) parts.push(`pause ${formatDuration(c.minPauseMs)}`);
  if (c.maxConcurrent > 1) parts.push(`${c.maxConcurrent} at once`);
  if (c.tolerableFailures > 0) parts.push(`${c.tolerableFailures} failures tolerated`);
  parts.push(`${c.numRetained} retained`, c.externalizedCleanup);
  return parts.join(', ');
}

export function restartText(r: RestartStrategy): string {
  switch (r.kind) {
    case 'none':
      return 'none';
    case 'fixedDelay':
      return `${r.attempts} times, ${formatDuration(r.delayMs)} apart`;
    case 'failureRate':
      return `while there are at most ${r.failuresMax} failures in ${formatDuration(r.intervalMs)}, after ${formatDuration(r.delayMs)}`;
    case 'exponentialDelay':
      return `after ${formatDuration(r.initialMs)}, then longer by ${r.multiplier} each time, up to ${formatDuration(r.maxMs)}`;
  }
}
