import { describe, expect, test } from 'vitest';
import { checkCompatible } from '../../../lib/checkpoint/compatibility.ts';
import type { CheckpointMetadata, OperatorHandle } from '../../../lib/checkpoint/handles.ts';
import type { Plan } from '../../../lib/graph/plan.ts';
import { bytes, sampleInfo } from './support/samples.ts';

const group = { group: 0, offset: 1, length: 1, crc: 0 };
const keyed = (name: string, kind = 'value', version = 0): Partial<OperatorHandle> => ({
  keyed: { states: [{ name, kind, version }], groups: [group] },
});
const list = (name: string, count = 1): Partial<OperatorHandle> => ({
  lists: [{ name, redistribution: 'split', count, offset: 1, length: 1, crc: 0 }],
});

function checkpointOf(operators: Record<string, Partial<OperatorHandle>>, maxParallelism = 128): CheckpointMetadata {
  const handles = Object.entries(operators).map(
    ([uid, o]): OperatorHandle => ({ uid, place: { kind: 'none' }, keyed: undefined, lists: [], sink: undefined, accumulators: [], ...o }),
  );
  return {
    ...sampleInfo(),
    job: 'job',
    checkpoint: 4,
    generation: 1,
    backend: 'memory',
    operators: Object.keys(operators).map((uid) => ({ uid, name: uid, parallelism: 1, maxParallelism })),
    subtasks: [{ stage: 0, subtask: 0, bytes: 0, operators: handles }],
  };
}

/** Only what a plan says of uids and maximum parallelism is looked at. */
function planOf(uids: readonly string[], o: { readonly job?: string; readonly maxParallelism?: number } = {}): Plan {
  const operators = uids.map((uid) => ({ uid }));
  return { job: o.job ?? 'job', hash: '', stages: [{ maxParallelism: o.maxParallelism ?? 128, operators }] } as unknown as Plan;
}

const strict = { allowNonRestoredState: false };

describe('whether a checkpoint fits a job', () => {
  test('C16 operators that are new start empty, and stateless ones may come and go', () => {
    expect(checkCompatible(checkpointOf({ a: keyed('s'), gone: {} }), planOf(['a', 'new']), strict)).toEqual({
      nonRestored: [],
      notices: [],
    });
  });

  test('a checkpoint of another job is refused with both names', () => {
    expect(() => checkCompatible(checkpointOf({ a: {} }), planOf(['a'], { job: 'other' }), { allowNonRestoredState: true })).toThrow(
      expect.objectContaining({
        code: 'CHECKPOINT_OF_ANOTHER_JOB',
        message: "checkpoint 4 was taken by job 'job', and this is job 'other'",
      }),
    );
  });

  test('C14 another maximum parallelism is refused where keys depend on it, and only there', () => {
    const wider = planOf(['a'], { maxParallelism: 256 });
    expect(() => checkCompatible(checkpointOf({ a: keyed('s') }), wider, { allowNonRestoredState: true })).toThrow(
      expect.objectContaining({ code: 'MAX_PARALLELISM_CHANGED', message: expect.stringContaining('256') }),
    );
    expect(checkCompatible(checkpointOf({ a: list('l') }), wider, strict).notices).toEqual([]);
  });

  const timers: Partial<OperatorHandle> = { keyed: { states: [], groups: [group] } };
  test('C14, C15 timers without any state count as state under keys', () => {
    expect(() => checkCompatible(checkpointOf({ a: timers }), planOf(['a'], { maxParallelism: 64 }), strict)).toThrow(
      expect.objectContaining({ code: 'MAX_PARALLELISM_CHANGED' }),
    );
    expect(() => checkCompatible(checkpointOf({ a: timers }), planOf(['b']), strict)).toThrow(
      expect.objectContaining({ code: 'STATE_WITHOUT_OPERATOR', message: expect.stringContaining("'a' (timers)") }),
    );
  });

  test('what an operator keeps for itself is no state that anybody would miss', () => {
    expect(checkCompatible(checkpointOf({ a: list('sluice:event-time') }), planOf(['b']), strict).notices).toEqual([]);
  });

  const orphans = {
    kept: keyed('s'),
    rows: list('buffer'),
    counts: keyed('total'),
    out: { sink: { state: bytes(''), transactions: [bytes('t')] } },
    empty: list('none', 0),
  };
  test('C15 state without an operator is refused, with the names of operators and states', () => {
    expect(() => checkCompatible(checkpointOf(orphans), planOf(['kept']), strict)).toThrow(
      expect.objectContaining({
        code: 'STATE_WITHOUT_OPERATOR',
        message:
          "checkpoint 4 holds state that the job no longer has: 'rows' (buffer), 'counts' (total), 'out' (output that is not yet visible)",
        details: expect.objectContaining({ operators: ['rows', 'counts', 'out'] }),
      }),
    );
  });

  test('C15 it is dropped with a notice when that is allowed', () => {
    const found = checkCompatible(checkpointOf(orphans), planOf(['kept']), { allowNonRestoredState: true });
    expect(found.nonRestored).toEqual(['rows', 'counts', 'out']);
    expect(found.notices).toEqual([
      "state without an operator is dropped: 'rows' (buffer), 'counts' (total), 'out' (output that is not yet visible)",
    ]);
  });

  test('C15 a state that its operator no longer declares is refused, or dropped when that is allowed', () => {
    const states = new Map([['a', [{ name: 'other', kind: 'map', version: 0 }]]]);
    const check = (allowNonRestoredState: boolean) =>
      checkCompatible(checkpointOf({ a: keyed('s', 'value', 2) }), planOf(['a']), { allowNonRestoredState, states });
    expect(() => check(false)).toThrow(
      expect.objectContaining({ code: 'STATE_WITHOUT_OPERATOR', message: expect.stringContaining("'s' of 'a'") }),
    );
    expect(check(true).notices).toEqual(["state without an operator is dropped: 's' of 'a'"]);
  });

  test('C15 list state under a uid whose operator keeps none any more is refused, or dropped when that is allowed', () => {
    const check = (allowNonRestoredState: boolean) =>
      checkCompatible(checkpointOf({ a: list('buffer') }), planOf(['a']), { allowNonRestoredState, withoutLists: ['a'] });
    expect(() => check(false)).toThrow(
      expect.objectContaining({ code: 'STATE_WITHOUT_OPERATOR', message: expect.stringContaining("'buffer' of 'a'") }),
    );
    expect(check(true).notices).toEqual(["state without an operator is dropped: 'buffer' of 'a'"]);
  });

  test('what a sink had promised is refused where another one with its uid shows rows at once, or dropped when that is allowed', () => {
    const promising = { sink: { state: undefined, transactions: [bytes('t')] } } as unknown as Partial<OperatorHandle>;
    const check = (allowNonRestoredState: boolean, withoutPromises: readonly string[]) =>
      checkCompatible(checkpointOf({ out: promising }), planOf(['out']), { allowNonRestoredState, withoutPromises });
    expect(() => check(false, ['out'])).toThrow(
      expect.objectContaining({
        code: 'STATE_WITHOUT_OPERATOR',
        message: expect.stringContaining("output that is not yet visible of 'out'"),
      }),
    );
    expect(check(true, ['out']).notices).toEqual(["state without an operator is dropped: output that is not yet visible of 'out'"]);
    expect(check(false, []).notices).toEqual([]);
  });

  test('state under a uid that nobody typed starts anew without a word', () => {
    expect(checkCompatible(checkpointOf({ 'a~timestamps': list('event-time') }), planOf(['a']), strict)).toEqual({
      nonRestored: [],
      notices: [],
    });
  });

  test.each([
    [{ name: 's', kind: 'value', version: 2 }, undefined],
    [{ name: 's', kind: 'value', version: 3 }, undefined],
    [{ name: 's', kind: 'map', version: 2 }, "state 's' of operator 'a' is a map state now, and checkpoint 4 holds it as value"],
    [{ name: 's', kind: 'value', version: 1 }, "state 's' of operator 'a' has version 1 in the code, and version 2 in checkpoint 4"],
  ])('a state declared as %j against a stored value state of version 2', (declared, problem) => {
    const check = () =>
      checkCompatible(checkpointOf({ a: keyed('s', 'value', 2) }), planOf(['a']), { ...strict, states: new Map([['a', [declared]]]) });
    if (problem === undefined) expect(check()).toEqual({ nonRestored: [], notices: [] });
    else
      expect(check).toThrow(
        expect.objectContaining({
          code: 'STATE_INCOMPATIBLE',
          message: problem,
          details: expect.objectContaining({ operator: 'a', state: 's' }),
        }),
      );
  });
});
