// A plan whose inputs can all be read again: where the job's cannot, the log stands in. Hash, uids and everything else stay, so whoever
// reads the job item sees the job's own plan.

import type { Source } from '../../api/source.ts';
import type { Clock } from '../../core/ports.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import type { ObjectStore } from '../../invocation/ports.ts';
import { Bell } from './bell.ts';
import { loggedSource } from './input-log.ts';

export interface SourceOfStage {
  readonly stage: Stage;
  readonly uid: string;
  readonly source: Source<unknown>;
}

export function sourcesOf(plan: Plan): readonly SourceOfStage[] {
  return plan.stages.flatMap((stage) => {
    const head = stage.operators[0];
    const spec = head?.node.operator;
    return head === undefined || spec?.kind !== 'source' ? [] : [{ stage, uid: head.uid, source: spec.source }];
  });
}

export interface LoggedPlan {
  readonly plan: Plan;
  /** Rung when the log of a source, by its uid, has more. */
  readonly bells: ReadonlyMap<string, Bell>;
}

export function loggedPlan(plan: Plan, { objects, clock }: { readonly objects: ObjectStore; readonly clock: Clock }): LoggedPlan {
  const once = sourcesOf(plan).filter(({ source }) => !source.isRereadable);
  const bells = new Map(once.map(({ uid }) => [uid, new Bell(clock)] as const));
  const stages = plan.stages.map((stage): Stage => {
    const own = once.find((s) => s.stage === stage);
    if (own === undefined) return stage;
    const source = loggedSource(own.source, { objects, clock, uid: own.uid }, bells.get(own.uid));
    return { ...stage, operators: stage.operators.map((operator, i) => (i === 0 ? withSource(operator, source) : operator)) };
  });
  return { plan: { ...plan, stages }, bells };
}

function withSource(operator: PlannedOperator, source: Source<unknown>): PlannedOperator {
  const { node } = operator;
  return node.operator.kind === 'source' ? { ...operator, node: { ...node, operator: { ...node.operator, source } } } : operator;
}
