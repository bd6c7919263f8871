// The rules of keyed state, asked of the state of a subtask over a snapshot: each batch is a unit that is committed. Over the table the same cells
// are loaded first, which needs waiting, and the suite does not wait: test/property/invocation/state has that side.

import { describe, test } from 'vitest';
import type { MapState } from '../../lib/api/state.ts';
import { encodedOf, keyOfEncoded, type StateKey } from '../../lib/core/key-codec.ts';
import type { OperatorCells } from '../../lib/invocation/state/operator-cells.ts';
import { SnapshotBase } from '../../lib/invocation/state/snapshot-base.ts';
import { createSubtaskState } from '../../lib/invocation/state/subtask-state.ts';
import type { KeyedStateBackend, KeyedStateRequest, RunningSnapshot } from '../../lib/state/backend.ts';
import { HeapState } from '../../lib/state/heap/heap-state.ts';
import { FakeService, fakePorts } from '../../lib/testing/index.ts';
import { stateBackendSuite } from '../../lib/testing/suites/state-backend-suite.ts';

interface Opened {
  readonly cells: OperatorCells;
  /** Ends the unit and begins another. */
  readonly commit: () => void;
}

/** @param atEnd  called when a batch, or a restore, is over */
function opened(request: KeyedStateRequest, atEnd: (opened: Opened) => void): Opened {
  const { objects } = fakePorts(new FakeService());
  const base = new SnapshotBase({ objects, snapshot: undefined, limitBytes: undefined, subtask: '0-0' });
  const groups = { first: 0, last: request.maxParallelism - 1 };
  const state = createSubtaskState({ subtask: '0-0', base, maxParallelism: request.maxParallelism, groups });
  const cells = state.createKeyedState(request) as OperatorCells;
  let n = 0;
  state.beginUnit();
  const commit = (): void => {
    state.commitUnit({ generation: 0, epoch: 1 + Math.floor(n / 3), n: ++n }, state.takeDelta());
    state.beginUnit();
  };
  const made = { cells, commit };
  const { restore } = cells;
  cells.restore = (states, groups) => {
    cells.endBatch = () => {};
    restore.call(cells, states, groups);
    cells.endBatch = () => atEnd(made);
    cells.endBatch();
  };
  cells.endBatch = () => atEnd(made);
  return made;
}

/** A subtask's snapshot is its changelog; that of the heap underneath shows what the cells hold. */
const snapshotOfCells = (cells: OperatorCells): RunningSnapshot => HeapState.prototype.startSnapshot.call(cells);

function keepingCells(request: KeyedStateRequest): KeyedStateBackend {
  const { cells } = opened(request, ({ commit }) => commit());
  cells.startSnapshot = () => snapshotOfCells(cells);
  return cells;
}

/** Every unit begins without cells, so that it sees what the units before it have encoded. */
function forgettingCells(request: KeyedStateRequest): KeyedStateBackend {
  const { cells, commit } = opened(request, (o) => {
    o.commit();
    o.cells.evict(Number.MAX_SAFE_INTEGER);
  });
  const known = new Set<string>();
  const { resolve, selectKey, keyCount } = cells;
  cells.resolve = (keys, count, slots) => {
    for (let i = 0; i < count; i++) known.add(encodedOf(keys[i] as StateKey));
    resolve.call(cells, keys, count, slots);
  };
  cells.selectKey = (key) => {
    known.add(encodedOf(key));
    selectKey.call(cells, key);
  };
  const readEverything = (): void => {
    for (const key of known) {
      selectKey.call(cells, keyOfEncoded(key));
      for (const handle of Object.values(cells.handles)) if ('keys' in (handle as object)) (handle as MapState<unknown, unknown>).keys();
    }
    commit();
  };
  cells.keyCount = () => {
    readEverything();
    return keyCount.call(cells);
  };
  cells.startSnapshot = () => {
    readEverything();
    const whole = snapshotOfCells(cells);
    while (!whole.advance(100));
    const groups = whole.groups();
    return { advance: () => true, groups: () => groups, cancel: () => {} };
  };
  return cells;
}

const runner = { describe, test };
stateBackendSuite('a subtask of the invocation runtime', runner, async () => ({ create: keepingCells }));
stateBackendSuite('a subtask whose cells are forgotten after each unit', runner, async () => ({ create: forgettingCells }));
