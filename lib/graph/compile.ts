// compile.ts turns a description into the plan that both runtimes execute: it resolves what was left open (partitioning, uids), cuts the graph
// into stages by P1, and numbers stages, exchanges and outlets. The invariants are those of plan.ts.
//   C1  Numbers follow from the description alone: stages in order of their heads, exchanges in order of (receiver, edge), outlets in order of
//       exchange. Compiling twice gives the same plan.

import type { Edge, JobDescription, LogicalNode, Partitioning } from '../api/description.ts';
import { type OriginTracking, trackOrigins } from './origins.ts';
import type { Exchange, Plan, PlannedOperator, Stage, Target } from './plan.ts';
import { planHash } from './plan-hash.ts';
import { deriveUids } from './uids.ts';
import { parallelismOf, validate } from './validate.ts';

type Resolved = Exchange['partitioning'];

/** A stage while its parts are collected. */
interface Draft {
  readonly head: LogicalNode;
  readonly members: LogicalNode[];
  readonly inputs: Exchange[];
  readonly outlets: Exchange[];
}

/** Where the records of an edge go, under the node that sends them. */
interface Outgoing {
  readonly sideOutput: string | undefined;
  readonly target: Target;
}

export interface CompileOptions {
  /** Each split of a source is a subtask for as long as the job runs, so that a source that is partitioned by a key needs no exchange. Default false. */
  readonly keepsPartitions?: boolean;
}

/**
 * Compiles a description.
 * @throws SluiceError as `validate`
 */
export function compile(description: JobDescription, { keepsPartitions = false }: CompileOptions = {}): Plan {
  validate(description);
  const uids = deriveUids(description.nodes);
  const { drafts, stageOf } = cutStages(description, keepsPartitions);
  const tracking = trackOrigins(description, uids);
  const outgoing = connect(description, { drafts, stageOf, tracking, keepsPartitions });
  const stages = drafts.map((draft, id): Stage => {
    const operators = draft.members.map((node, index) => {
      const operator = plan(node, index, uids, outgoing[node.id] as readonly Outgoing[]);
      return tracking.carries[node.id] === true ? { ...operator, carriesOrigins: true } : operator;
    });
    return {
      id,
      name: operators.map(({ name }) => name).join(' → '),
      ...parallelismOf(draft.head, description),
      operators,
      inputs: draft.inputs,
      outlets: draft.outlets,
    };
  });
  return { job: description.job, stages, settings: description.settings, hash: planHash(description, uids) };
}

/** Joins each node to its sender's stage where P1 allows, else begins a stage. */
function cutStages(
  description: JobDescription,
  keepsPartitions: boolean,
): { readonly drafts: readonly Draft[]; readonly stageOf: readonly number[] } {
  const drafts: Draft[] = [];
  const stageOf: number[] = [];
  for (const node of description.nodes) {
    const sender = chainedTo(node, description, keepsPartitions);
    if (sender === undefined) {
      stageOf.push(drafts.length);
      drafts.push({ head: node, members: [node], inputs: [], outlets: [] });
    } else {
      const stage = stageOf[sender] as number;
      stageOf.push(stage);
      drafts[stage]?.members.push(node);
    }
  }
  return { drafts, stageOf };
}

/** The sender in whose stage the node runs, if any (P1). */
function chainedTo(node: LogicalNode, description: JobDescription, keepsPartitions: boolean): number | undefined {
  const [edge, ...others] = node.inputs;
  if (edge === undefined || others.length > 0) return undefined;
  if (keepsPartitions && isPartitioned(edge, description)) return edge.from;
  return resolve(edge, node, description).kind === 'forward' ? edge.from : undefined;
}

function isEvolving({ operator }: LogicalNode): boolean {
  return operator.kind === 'source' && operator.source.evolution !== undefined;
}

/** Whether the records of a hash edge come from a source that is partitioned by the same key, with nothing between that changes them. */
function isPartitioned(edge: Edge, description: JobDescription): boolean {
  if (edge.partitioning.kind !== 'hash' || edge.sideOutput !== undefined) return false;
  let from = description.nodes[edge.from] as LogicalNode;
  while (from.operator.kind === 'filter' || from.operator.kind === 'timestamps') {
    const [input, ...others] = from.inputs;
    if (input === undefined || others.length > 0 || input.sideOutput !== undefined) return false;
    if (resolve(input, from, description).kind !== 'forward') return false;
    from = description.nodes[input.from] as LogicalNode;
  }
  if (from.operator.kind !== 'source' || from.operator.partitionedBy === undefined) return false;
  const { selector } = edge.partitioning;
  // Most people write the selector twice, so functions of one text are one selector: what such a text refers to is the same module's.
  return selector === from.operator.partitionedBy || plainText(selector) === plainText(from.operator.partitionedBy);
}

/** The text of a function without its layout and the name of its argument, which are not the same before and behind a bundler. */
function plainText(selector: (value: unknown) => unknown): string {
  const text = String(selector);
  if (/["'`/]/.test(text)) return text; // blanks may be part of what it says
  const [, argument, body] = /^\(?(\w+)\)?=>(.*)$/.exec(text.replace(/\s+/g, '')) ?? [];
  if (argument === undefined || body === undefined) return text;
  return body.replace(new RegExp(`(?<![.\\w$])${argument}(?![\\w$:])`, 'g'), '$$');
}

/** What `auto` stands for: forward at one parallelism, else round robin. */
function resolve(edge: Edge, to: LogicalNode, description: JobDescription): Resolved {
  const { partitioning } = edge;
  if (partitioning.kind !== 'auto') return partitioning satisfies Exclude<Partitioning, { kind: 'auto' }>;
  const from = description.nodes[edge.from] as LogicalNode;
  const isEven = parallelismOf(from, description).parallelism === parallelismOf(to, description).parallelism;
  return { kind: isEven ? 'forward' : 'rebalance' };
}

/** Makes a target of each edge: an operator of the same stage, or an exchange. @returns what each node sends, by node id */
function connect(
  description: JobDescription,
  p: {
    readonly drafts: readonly Draft[];
    readonly stageOf: readonly number[];
    readonly tracking: OriginTracking;
    readonly keepsPartitions: boolean;
  },
): readonly (readonly Outgoing[])[] {
  const { drafts, stageOf, keepsPartitions } = p;
  const { marks } = p.tracking;
  const outgoing: Outgoing[][] = description.nodes.map(() => []);
  let exchanges = 0;
  for (const node of description.nodes) {
    const toStage = stageOf[node.id] as number;
    const receiver = drafts[toStage] as Draft;
    for (const [index, edge] of node.inputs.entries()) {
      const { from, sideOutput } = edge;
      if (receiver.head !== node) {
        const { partitioning } = edge;
        const selector = partitioning.kind === 'hash' ? { selector: partitioning.selector } : {};
        outgoing[from]?.push({ sideOutput, target: { kind: 'operator', operator: receiver.members.indexOf(node), ...selector } });
        continue;
      }
      const fromStage = stageOf[from] as number;
      const sender = drafts[fromStage] as Draft;
      const outlet = sender.outlets.length;
      const originMark = marks[node.id]?.[index];
      const exchange: Exchange = {
        id: exchanges++,
        fromStage,
        outlet,
        toStage,
        input: edge.input,
        partitioning: resolve(edge, node, description),
        ...(originMark === undefined ? {} : { originMark }),
        ...(keepsPartitions && isEvolving(sender.head) ? { fromEvolving: true } : {}),
      };
      sender.outlets.push(exchange);
      receiver.inputs.push(exchange);
      outgoing[from]?.push({ sideOutput, target: { kind: 'exchange', outlet } });
    }
  }
  return outgoing;
}

function plan(node: LogicalNode, index: number, uids: readonly string[], outgoing: readonly Outgoing[]): PlannedOperator {
  const targets: Target[] = [];
  const sideTargets = new Map<string, Target[]>();
  for (const { sideOutput, target } of outgoing) {
    if (sideOutput === undefined) targets.push(target);
    else sideTargets.set(sideOutput, [...(sideTargets.get(sideOutput) ?? []), target]);
  }
  const uid = uids[node.id] as string;
  return { index, uid, name: node.name ?? node.uid ?? node.label, node, targets, sideTargets };
}
