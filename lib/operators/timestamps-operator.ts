// assignTimestampsAndWatermarks: stamps records and replaces the watermarks of its input by its own. A watermark follows the batch in which
// the count since the last one reached `batchRecordsMax`.

import type { WatermarkStrategy } from '../api/watermark.ts';
import type { OperatorRestore } from '../checkpoint/snapshot.ts';
import { batchRecordsMax, noWatermark, type RecordBatch } from '../core/batch.ts';
import type { OperatorEnvironment, OperatorSnapshotInProgress } from './operator.ts';
import { OperatorState } from './operator-state.ts';
import { BatchOperator } from './stateless.ts';
import { WatermarkGenerator } from './watermark-generator.ts';

const stateName = 'event-time';

interface StoredTime {
  /** Whose it was. */
  readonly subtask: number;
  readonly parallelism: number;
  readonly largest: number;
  /** Records since the last watermark. */
  readonly sinceLast: number;
  /** The last watermark. */
  readonly emitted: number;
}

export class TimestampsOperator extends BatchOperator {
  readonly #strategy: WatermarkStrategy<unknown>;
  #generator: WatermarkGenerator;
  #sinceLast = 0;
  #emitted = noWatermark;
  #state: OperatorState | undefined;

  constructor(environment: OperatorEnvironment, strategy: WatermarkStrategy<unknown>) {
    super(environment);
    this.#strategy = strategy;
    this.#generator = new WatermarkGenerator(strategy, environment.uid);
  }

  override open(restore: OperatorRestore | undefined): void {
    this.#state = new OperatorState(this.environment.uid, this.environment.subtask.index, restore);
    const stored = this.#state.list(stateName, 'union').get() as readonly StoredTime[];
    const restored = restoredTime(stored, this.environment.subtask);
    if (restored === undefined) return;
    this.#generator = new WatermarkGenerator(this.#strategy, this.environment.uid, restored.largest);
    this.#sinceLast = restored.sinceLast;
    this.#emitted = restored.emitted;
  }

  override restoredWatermark(): number | undefined {
    return this.#emitted === noWatermark ? undefined : this.#emitted;
  }

  override get forwardsWatermarks(): boolean {
    return false;
  }

  transform(batch: RecordBatch): RecordBatch {
    const { values, count, timestamps } = batch;
    const stamped: RecordBatch = { values, count, keys: undefined, timestamps, origins: batch.origins };
    this.#generator.stamp(stamped);
    this.#sinceLast += count;
    return stamped;
  }

  override ownWatermark(): number | undefined {
    if (this.#sinceLast < batchRecordsMax) return undefined;
    this.#sinceLast = 0;
    const watermark = this.#generator.current();
    if (watermark === noWatermark || watermark <= this.#emitted) return undefined;
    this.#emitted = watermark;
    return watermark;
  }

  override snapshot(): OperatorSnapshotInProgress {
    const list = this.#state?.list(stateName, 'union');
    const { index, parallelism } = this.environment.subtask;
    const own: StoredTime = {
      subtask: index,
      parallelism,
      largest: this.#generator.largest,
      sinceLast: this.#sinceLast,
      emitted: this.#emitted,
    };
    list?.update([own]);
    return { lists: this.#state?.snapshot() ?? [], keyed: undefined };
  }
}

/** At unchanged parallelism each subtask goes on from its own; else none may run ahead of what any of the old ones had seen. */
function restoredTime(
  stored: readonly StoredTime[],
  subtask: { readonly index: number; readonly parallelism: number },
): StoredTime | undefined {
  const own = stored.find((time) => time.subtask === subtask.index && time.parallelism === subtask.parallelism);
  if (own !== undefined || stored.length === 0) return own;
  return {
    subtask: subtask.index,
    parallelism: subtask.parallelism,
    largest: Math.min(...stored.map(({ largest }) => largest)),
    sinceLast: Math.max(...stored.map(({ sinceLast }) => sinceLast)),
    emitted: Math.min(...stored.map(({ emitted }) => emitted)),
  };
}
