// The sinks of a plan as this runtime sees them.

import type { DetachedContext, Sink } from '../../api/sink.ts';
import type { Targets } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Clock, FileSystem } from '../../core/ports.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import type { PendingTransaction } from '../entry.ts';
import { subtaskNumber, transactionName } from './transaction-names.ts';

export interface PlannedSink {
  readonly stage: Stage;
  readonly operator: PlannedOperator;
  /** A sink object of one's own, when the user gave a factory. */
  create(): Sink<unknown>;
}

export function sinksOf(plan: Plan): readonly PlannedSink[] {
  return plan.stages.flatMap((stage) =>
    stage.operators.flatMap((operator): readonly PlannedSink[] => {
      const spec = operator.node.operator;
      return spec.kind === 'sink' ? [{ stage, operator, create: spec.create }] : [];
    }),
  );
}

/** @throws SluiceError `STATE_WITHOUT_OPERATOR` when the plan has no such sink */
export function sinkOfTransaction(plan: Plan, t: PendingTransaction): PlannedSink {
  const found = sinksOf(plan).find((s) => s.operator.uid === t.sink);
  if (found !== undefined) return found;
  throw new SluiceError('STATE_WITHOUT_OPERATOR', {
    message: `transaction ${transactionName(t)} belongs to sink '${t.sink}', which the job does not have`,
    next: 'fix-the-job',
    operator: t.sink,
  });
}

/** Before a job starts. @throws SluiceError `FEATURE_NOT_AVAILABLE` naming the first sink that needs a writer that lives on */
export function checkDetached(plan: Plan): void {
  for (const { operator, create } of sinksOf(plan)) {
    const sink = create();
    if (sink.detached !== undefined) continue;
    throw new SluiceError('FEATURE_NOT_AVAILABLE', {
      message: `sink '${operator.uid}' (${sink.kind}) has no 'detached', so it cannot be used where nothing lives between two invocations`,
      next: 'fix-the-job',
      advice: 'give the sink a `detached`, or run the job embedded',
      operator: operator.uid,
    });
  }
}

export interface SinkSurroundings {
  readonly plan: Plan;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly targets?: Targets | undefined;
  report(line: string): void;
  print(line: string): void;
}

/** What the settler asks for: the context of the sink of a transaction. */
export function createContextOf(o: SinkSurroundings): (t: PendingTransaction) => DetachedContext {
  const { plan, files, clock, targets, report, print } = o;
  return (t) => ({
    job: plan.job,
    uid: t.sink,
    generation: t.generation,
    files,
    clock,
    targets,
    report,
    print,
    subtask: subtaskNumber(t.subtask),
    parallelism: sinkOfTransaction(plan, t).stage.parallelism,
  });
}
