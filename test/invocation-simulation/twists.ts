// What befalls some worlds besides: things that people and jobs do which change what must come out, so that not every job can have them.
//   W1  A world has one twist at most, drawn from a stream of its own: worlds without one are what they would be if there were none.
//   W2  A twist is only drawn for a job of which the oracle still knows the output:
//       a redriven record, or what a redriven timer puts out, comes behind others, so nothing in the job may depend on their order or on event time;
//       a split that is idle holds no watermark back, so what depends on event time may stem from one split only;
//       a job that is cancelled shows a part of its rows, so none of them may take the place of another.

import { type SeededRandom, seededRandom } from '../../lib/testing/index.ts';
import type { JobSpec, Node, Op } from '../simulation/spec.ts';
import type { Setting } from './random-job.ts';

export type TwistName = 'records are redriven' | 'sources fall idle' | 'timers throw' | 'a restore is cancelled';

export interface Twist {
  readonly name: TwistName;
  /** The job as it is with it. */
  readonly setting: Setting;
  readonly random: SeededRandom;
  /** How likely each subtask is ticked by a pulse, at least. */
  readonly tick?: number;
}

/** Seeds below have none, and of the others every second one: what seeds are known for stays as it is. */
const firstSeed = 2_001;

/** @param setting  as the seed draws it */
export function drawTwist(seed: number, setting: Setting): Twist | undefined {
  if (seed < firstSeed || seed % 2 === 0) return undefined;
  const random = seededRandom(seed).fork('twist');
  const suitable = (Object.keys(suits) as TwistName[]).filter((one) => suits[one](setting.spec));
  if (suitable.length === 0) return undefined;
  const name = random.pick(suitable.flatMap((one) => Array.from({ length: weights[one] }, () => one)));
  // Silence is found by a second tick in a row without a record between them, and most timers fire by a tick.
  const tick = name === 'sources fall idle' || name === 'timers throw' ? { tick: 0.7 } : {};
  return { name, setting: changed[name](setting, random), random, ...tick };
}

/** Few jobs suit those that come first. */
const weights: Readonly<Record<TwistName, number>> = {
  'records are redriven': 6,
  'timers throw': 3,
  'sources fall idle': 1,
  'a restore is cancelled': 1,
};

const kindsOf = ({ nodes }: JobSpec): readonly Op['kind'][] => nodes.map(({ op }) => op.kind);
const hasSink = ({ nodes }: JobSpec, sink: string): boolean => nodes.some(({ op }) => op.kind === 'sink' && op.sink === sink);

const ofOrder: ReadonlySet<Op['kind']> = new Set(['running', 'rolling', 'rules']);
const ofTime: ReadonlySet<Op['kind']> = new Set(['buckets', 'window']);

const hasNoOrder = (spec: JobSpec): boolean =>
  !hasSink(spec, 'latest') && kindsOf(spec).every((kind) => !ofOrder.has(kind) && !ofTime.has(kind));

const suits: Readonly<Record<TwistName, (spec: JobSpec) => boolean>> = {
  'records are redriven': (spec) =>
    spec.checkpoints.mode === 'EXACTLY_ONCE' && hasNoOrder(spec) && spec.nodes.some(({ op }) => op.kind === 'map' && op.mayThrow),
  'sources fall idle': ({ nodes }) =>
    nodes.some(hasWatermarks) && nodes.every((node, at) => !ofTime.has(node.op.kind) || splitsAbove(nodes, at) === 1),
  'timers throw': (spec) => hasNoOrder(spec) && kindsOf(spec).includes('hold'),
  'a restore is cancelled': (spec) => !hasSink(spec, 'latest') && spec.checkpoints.mode === 'EXACTLY_ONCE',
};

const changed: Readonly<Record<TwistName, (setting: Setting, random: SeededRandom) => Setting>> = {
  'records are redriven': (setting, random) => ({ ...setting, poison: throwing(setting.spec, random) }),
  'sources fall idle': (setting, random) => {
    const nodes = setting.spec.nodes.map((node): Node => {
      if (node.op.kind !== 'source' || !hasWatermarks(node)) return node;
      return { ...node, op: { ...node.op, source: { ...node.op.source, idleMs: random.pick([5, 20, 60]) } } };
    });
    return { ...setting, spec: { ...setting.spec, nodes } };
  },
  'timers throw': (setting) => setting,
  // Letters of a job whose changelogs may be gone are not read.
  'a restore is cancelled': (setting) => ({ ...setting, poison: new Map() }),
};

function throwing({ nodes }: JobSpec, random: SeededRandom): Setting['poison'] {
  const ids = nodes.flatMap(({ op }) => (op.kind === 'source' ? op.source.splits.flatMap(({ rows }) => rows.map(({ id }) => id)) : []));
  return new Map(ids.filter(() => random.chance(0.25)).map((id) => [id, random.chance(0.85) ? 'throws' : 'kills'] as const));
}

function hasWatermarks({ op }: Node): boolean {
  return op.kind === 'source' && op.source.hasWatermarks;
}

/** Splits that a node's rows stem from. */
function splitsAbove(nodes: readonly Node[], at: number): number {
  const node = nodes[at]!;
  if (node.op.kind === 'source') return node.op.source.splits.length;
  return node.inputs.reduce((sum, input) => sum + splitsAbove(nodes, input.node), 0);
}
