// validate.ts holds a description against what must be true before a plan can be made of it. Everything here names the operator and its place.
//   V1  A job has at least one operator, and each operator that may hold state has a uid.
//   V2  No uid is used twice.
//   V3  Each parallelism is within the operator's maximum parallelism.
//   V4  `forward` joins operators of one parallelism.
//   V5  No two sinks write to one target, if they say what that is.
//   V6  A queue has the parallelism of its lanes, and is partitioned by a key only where its messages have groups.

import type { JobDescription, LogicalNode } from '../api/description.ts';
import { placeOf } from '../api/places.ts';
import { SluiceError } from '../core/errors.ts';

export interface Parallelism {
  readonly parallelism: number;
  readonly maxParallelism: number;
}

/**
 * Checks a description.
 * @throws SluiceError `JOB_EMPTY`, `UID_MISSING`, `UID_DUPLICATE`, `PARALLELISM_INVALID`, `FORWARD_INVALID`, `SINK_TARGET_DUPLICATE`
 */
export function validate(description: JobDescription): void {
  const { job, nodes } = description;
  if (nodes.length === 0) {
    throw new SluiceError('JOB_EMPTY', {
      message: `the job '${job}' has no operators; begin with env.fromSource(…)`,
      next: 'fix-the-job',
      job,
    });
  }
  checkUids(description);
  checkTargets(description);
  for (const node of nodes) {
    checkParallelism(node, description);
    checkForward(node, description);
    checkQueue(node, description);
  }
}

/** The parallelism of an operator: its own, else that of the job. A queue has its lanes. */
export function parallelismOf(node: LogicalNode, { settings }: JobDescription): Parallelism {
  const lanes = node.operator.kind === 'source' ? node.operator.source.queue?.lanes : undefined;
  return { parallelism: node.parallelism ?? lanes ?? settings.parallelism, maxParallelism: node.maxParallelism ?? settings.maxParallelism };
}

function checkUids({ job, nodes }: JobDescription): void {
  const owners = new Map<string, LogicalNode>();
  for (const node of nodes) {
    if (node.uid === undefined) {
      if (node.isStateful) throw missingUid(job, node, nodes);
      continue;
    }
    const other = owners.get(node.uid);
    if (other !== undefined) {
      throw new SluiceError('UID_DUPLICATE', {
        message: `the uid '${node.uid}' is used twice: by ${describePlace(other, nodes)} and by ${describePlace(node, nodes)}`,
        next: 'fix-the-job',
        job,
        operator: node.uid,
      });
    }
    owners.set(node.uid, node);
  }
}

function checkTargets({ job, nodes }: JobDescription): void {
  const owners = new Map<string, LogicalNode>();
  for (const node of nodes) {
    const { operator } = node;
    if (operator.kind !== 'sink' || operator.target === undefined) continue;
    const other = owners.get(operator.target);
    if (other !== undefined) {
      throw new SluiceError('SINK_TARGET_DUPLICATE', {
        message: `two sinks write to ${operator.target}: ${describePlace(other, nodes)} and ${describePlace(node, nodes)}; give each its own, or union the streams before one sink`,
        next: 'fix-the-job',
        job,
        ...(node.uid === undefined ? {} : { operator: node.uid }),
      });
    }
    owners.set(operator.target, node);
  }
}

function missingUid(job: string, node: LogicalNode, nodes: readonly LogicalNode[]): SluiceError {
  const kind = node.operator.kind;
  const how =
    kind === 'source' ? `pass { uid: '…' } to it` : kind === 'sink' ? `write .sinkTo(sink, { uid: '…' })` : `write .uid('…') after it`;
  return new SluiceError('UID_MISSING', {
    message: `${describePlace(node, nodes)} has no uid, so what it keeps could not be found again after a change; ${how}`,
    next: 'fix-the-job',
    job,
    operator: node.name ?? node.label,
  });
}

/** The operator as it was written, and the way to it. */
function describePlace(node: LogicalNode, nodes: readonly LogicalNode[]): string {
  return node.inputs.length === 0 ? node.label : `${node.label} (${placeOf(node, nodes)})`;
}

function checkParallelism(node: LogicalNode, description: JobDescription): void {
  const { parallelism, maxParallelism } = parallelismOf(node, description);
  if (parallelism <= maxParallelism) return;
  throw new SluiceError('PARALLELISM_INVALID', {
    message: `${describePlace(node, description.nodes)} has parallelism ${parallelism}, above its maximum parallelism ${maxParallelism}; lower it, or raise the maximum by setMaxParallelism`,
    next: 'fix-the-job',
    job: description.job,
    parallelism,
    maxParallelism,
  });
}

function checkForward(node: LogicalNode, description: JobDescription): void {
  for (const { from, partitioning } of node.inputs) {
    if (partitioning.kind !== 'forward') continue;
    const sender = description.nodes[from] as LogicalNode;
    const here = parallelismOf(node, description).parallelism;
    const there = parallelismOf(sender, description).parallelism;
    if (here === there) continue;
    throw new SluiceError('FORWARD_INVALID', {
      message: `forward() joins ${describePlace(sender, description.nodes)} at parallelism ${there} to ${node.label} at ${here}; both need one parallelism, or use rebalance() or rescale()`,
      next: 'fix-the-job',
      job: description.job,
    });
  }
}

function checkQueue(node: LogicalNode, { job }: JobDescription): void {
  const { operator } = node;
  if (operator.kind !== 'source' || operator.source.queue === undefined) return;
  const { lanes, order } = operator.source.queue;
  if (!Number.isInteger(lanes) || lanes < 1 || (node.parallelism !== undefined && node.parallelism !== lanes)) {
    throw new SluiceError('PARALLELISM_INVALID', {
      message: `${node.label} is spread over ${lanes} lanes, and has the parallelism ${node.parallelism ?? lanes}; its lanes are its parallelism`,
      next: 'fix-the-job',
      job,
    });
  }
  if (order === 'fifo' || operator.partitionedBy === undefined) return;
  throw new SluiceError('OPTION_INVALID', {
    message: `${node.label} reads a queue without groups, so messages of one key come to different lanes; leave partitionedBy out`,
    next: 'fix-the-job',
    job,
  });
}
