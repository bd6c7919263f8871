// The end of a chain: rows pass through as they are; what becomes of them is the sink writer's part, which lies with the runtime.

import type { RecordBatch } from '../core/batch.ts';
import { BatchOperator } from './stateless.ts';

export class SinkOperator extends BatchOperator {
  transform(batch: RecordBatch): RecordBatch {
    return batch;
  }
}
