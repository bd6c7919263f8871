import { SluiceError } from '../core/errors.ts';
import type { Compositions } from './compositions.ts';
import type { Edge, LogicalNode, OperatorSpec } from './description.ts';

// graph-builder.ts collects the nodes of a job under construction. Streams add to it; when `build` has returned it is closed.

export class GraphBuilder {
  readonly job: string;
  readonly compositions: Compositions;
  readonly nodes: LogicalNode[] = [];
  #isClosed = false;

  constructor(job: string, compositions: Compositions) {
    this.job = job;
    this.compositions = compositions;
  }

  /** @throws SluiceError `JOB_ALREADY_BUILT` */
  add(operator: OperatorSpec, inputs: readonly Edge[], label: string, isStateful: boolean): LogicalNode {
    this.checkOpen();
    const node: LogicalNode = {
      id: this.nodes.length,
      operator,
      inputs,
      label,
      isStateful,
      uid: undefined,
      name: undefined,
      parallelism: undefined,
      maxParallelism: undefined,
    };
    this.nodes.push(node);
    return node;
  }

  /** @throws SluiceError `JOB_ALREADY_BUILT` */
  checkOpen(): void {
    if (!this.#isClosed) return;
    throw new SluiceError('JOB_ALREADY_BUILT', {
      message: `the job '${this.job}' is built already; streams are made while the build function runs, not later`,
      next: 'fix-the-job',
      job: this.job,
    });
  }

  close(): void {
    this.#isClosed = true;
  }
}
