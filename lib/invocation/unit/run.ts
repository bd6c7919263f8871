// Run: the operators work on a batch, in memory. What they leave behind is a proposal; nothing outside has changed.
//   R1  A run that touched state which is not resident is worth nothing. It is abandoned, with the operators that it ran on, what it missed is
//       loaded for all its records together, and the unit runs again from the beginning.
//   R2  An error of a suspended run means nothing either: user code saw state that was not there.
//   R3  Rows of sinks that wait for a barrier are state of the subtask; rows of other sinks lie in the entry until it is delivered.

import { partOfBatch, type RecordBatch } from '../../core/batch.ts';
import type { Effects } from '../../runtime/effects.ts';
import type { OperatorHost } from '../../runtime/host.ts';
import { emptyDelta, type ImmediateRows, nextEpoch, type StateDelta } from '../entry.ts';
import { waitingRowsBytesMax } from '../limits.ts';
import { encodeRows } from '../rows-codec.ts';
import { operatorStateOf } from './operator-state.ts';
import { dropOperators, operatorsOf, storedOperatorState } from './operators.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export interface Ran<W> {
  readonly kind: 'ran';
  /** What the work answered. */
  readonly value: W;
  readonly effects: Effects;
  readonly delta: StateDelta;
  readonly rows: readonly ImmediateRows[];
  /** For all sinks. */
  readonly rowCount: number;
  readonly operatorWatermarks: readonly number[];
  /** Encoded, and what was stored before. */
  readonly operatorState: Uint8Array | undefined;
  readonly operatorStateBefore: Uint8Array | undefined;
}

export type RunOutcome<W> = Ran<W> | { readonly kind: 'failed'; readonly error: unknown };

/** Loads that a unit may need: each finds at least one piece of state more, and a record that walks along a chain of keys needs one for each. */
const loadsMax = 10_000;

/** @param work  synchronous; may be called several times, and only the last call counts */
export async function run<W>(warm: WarmSubtask, services: UnitServices, work: (host: OperatorHost) => W): Promise<RunOutcome<W>> {
  for (let loads = 0; ; loads++) {
    const before = await storedOperatorState(warm, services);
    const host = await operatorsOf(warm, services);
    warm.state.beginUnit();
    let outcome: RunOutcome<W>;
    try {
      outcome = runOnce(host, warm, services, work, before);
    } catch (error) {
      outcome = { kind: 'failed', error };
    }
    if (outcome.kind === 'ran' && !warm.state.isSuspended) return outcome;
    const { isSuspended } = warm.state;
    warm.state.abandonUnit();
    await dropOperators(warm);
    if (!isSuspended || loads === loadsMax) return outcome;
    await warm.state.loadMissing();
  }
}

function runOnce<W>(
  host: OperatorHost,
  warm: WarmSubtask,
  services: UnitServices,
  work: (host: OperatorHost) => W,
  operatorStateBefore: Uint8Array | undefined,
): Ran<W> {
  const value = work(host);
  const effects = host.takeEffects();
  const rows: ImmediateRows[] = [];
  for (const { operator, rows: batch } of effects.sinkRows) {
    const planned = warm.stage.operators[operator]!;
    if (services.isImmediate(planned)) rows.push({ sink: planned.uid, bytes: encodeRows(batch) });
    else for (const part of waitingParts(batch)) warm.state.buffer(planned.uid).append(part);
  }
  return {
    kind: 'ran',
    value,
    effects,
    delta: warm.state.isSuspended ? emptyDelta : warm.state.takeDelta(),
    rows,
    rowCount: effects.sinkRows.reduce((sum, sink) => sum + sink.rows.count, 0),
    operatorWatermarks: host.operators.map(({ watermark }) => watermark),
    operatorState: operatorStateOf(host, nextEpoch(warm.newest.head), services.clock.now()),
    operatorStateBefore,
  };
}

/** A batch may be larger than a piece of state can be. */
function* waitingParts(batch: RecordBatch): Generator<Uint8Array> {
  const bytes = encodeRows(batch);
  const { count } = batch;
  if (bytes.length <= waitingRowsBytesMax || count === 1) {
    yield bytes;
    return;
  }
  const middle = Math.floor(count / 2);
  yield* waitingParts(partOfBatch(batch, 0, middle));
  yield* waitingParts(partOfBatch(batch, middle, count));
}
