// Puts an environment together from a plan and the ports of its place: a worker process, a Lambda function, a simulated one.

import type { CheckpointMode } from '../../api/options.ts';
import type { SourceContext } from '../../api/source.ts';
import type { Targets } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { ByteStreams, Clock, FileSystem, Random } from '../../core/ports.ts';
import type { Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import {
  flushBelowSlots,
  heldBytesMax,
  inlineBytesMax,
  inlineOperatorStateBytesMax,
  messageBytesMax,
  positionMarginMs,
  residentKeysMax,
} from '../limits.ts';
import { type Patience, patient } from '../patience.ts';
import type { InvocationPorts } from '../ports.ts';
import { subtaskNumber } from '../sinks/transaction-names.ts';
import { createBaseOf } from '../state/subtask-state.ts';
import { Environment } from './environment.ts';
import type { UnitLimits, UnitObserver, UnitServices } from './services.ts';

export interface EnvironmentOptions {
  readonly plan: Plan;
  /** Asked again by the environment where that is harmless. */
  readonly ports: InvocationPorts;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: FileSystem;
  readonly streams?: ByteStreams | undefined;
  /** What names of the job are bound to. */
  readonly targets?: Targets | undefined;
  /** One line for the user. */
  readonly report: (line: string) => void;
  /** One line of output, for `print`. */
  readonly print: (line: string) => void;
  readonly limits?: Partial<UnitLimits>;
  readonly patience?: Omit<Patience, 'clock' | 'random'>;
  /** Where a replay reads, for sources whose input was kept because it cannot be read again. By default, the source itself. */
  readonly openSplit?: UnitServices['openSplit'];
  readonly observer?: UnitObserver | undefined;
  readonly printerOf?: UnitServices['printerOf'];
}

/** Tries of a record that fails, before it becomes a dead letter. */
export const attemptsMaxDefault = 3;

const limitsDefault: UnitLimits = {
  inlineBytesMax,
  messageBytesMax,
  heldBytesMax,
  inlineOperatorStateBytesMax,
  attemptsMax: attemptsMaxDefault,
  flushBelowSlots,
  residentKeysMax,
  positionMarginMs,
};

export function createEnvironment(o: EnvironmentOptions): Environment {
  return new Environment(createServices(o));
}

export function createServices(o: EnvironmentOptions): UnitServices {
  const { plan, clock, random, files, report, print } = o;
  const patience: Patience = { ...o.patience, clock, random };
  const ports = patient(o.ports, patience);
  const name = `${random.bits().toString(36)}${random.bits().toString(36)}`;
  let writers = 0;
  const sourceContext = (uid: string): SourceContext => ({
    job: plan.job,
    uid,
    files,
    clock,
    streams: o.streams,
    targets: o.targets,
    countSkipped: () => undefined,
  });
  return {
    plan,
    mode: modeOf(plan),
    ports,
    clock,
    random,
    patience,
    limits: { ...limitsDefault, ...o.limits },
    keepsInput: plan.settings.checkpoints !== undefined,
    newWriter: () => `${name}.${++writers}`,
    createBase: createBaseOf({ ports, patience, backend: plan.settings.backend }),
    isImmediate: immediateSinks(plan),
    sinkContext: ({ uid }, owner, stage, generation) => ({
      job: plan.job,
      uid,
      generation,
      files,
      clock,
      targets: o.targets,
      report,
      print,
      subtask: subtaskNumber(owner.subtask),
      parallelism: stage.parallelism,
    }),
    openSplit: o.openSplit ?? openAtSource,
    sourceContext,
    observer: o.observer,
    printerOf: o.printerOf,
  };
}

function modeOf(plan: Plan): CheckpointMode {
  return plan.settings.checkpoints?.mode ?? 'EXACTLY_ONCE';
}

/** Looked at once for each sink: making one to look at it costs as much as its user likes. */
function immediateSinks(plan: Plan): UnitServices['isImmediate'] {
  const known = new Map<string, boolean>();
  for (const { uid, node } of plan.stages.flatMap(({ operators }: Stage): readonly PlannedOperator[] => operators)) {
    if (node.operator.kind === 'sink') known.set(uid, node.operator.create().detached?.kind === 'immediate');
  }
  return ({ uid }) => known.get(uid) === true;
}

const openAtSource: UnitServices['openSplit'] = ({ stage, split, from, context }) => {
  const spec = stage.operators[0]?.node.operator;
  if (spec?.kind !== 'source') throw new SluiceError('SUBTASK_UNKNOWN', { message: `${stage.name} reads no source`, next: 'report-a-bug' });
  return spec.source.open(split, from, context);
};
