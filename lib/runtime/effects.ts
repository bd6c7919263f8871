// What a step of the host leaves behind. The host changes nothing outside itself; whoever drives it carries these out.

import type { RecordBatch, StreamElement } from '../core/batch.ts';

export interface Emission {
  /** Index among the stage's outlets. */
  readonly outlet: number;
  readonly target: number;
  readonly element: StreamElement;
}

export interface SinkRows {
  /** Index of the sink operator in its stage. */
  readonly operator: number;
  readonly rows: RecordBatch;
}

export class Effects {
  emissions: Emission[] = [];
  sinkRows: SinkRows[] = [];

  emit(outlet: number, target: number, element: StreamElement): void {
    this.emissions.push({ outlet, target, element });
  }
}
