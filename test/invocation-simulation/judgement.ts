// What must have come out at the end of a world: the job's meaning, evaluated by plain loops over its whole input, against what the targets show.
//   I7  In = out: every row that the job makes of its input is there, once where the target can tell.

import { evaluate } from '../simulation/oracle.ts';
import type { JobSpec, Row } from '../simulation/spec.ts';
import { keyOfLatest, type Targets } from './targets.ts';

export interface Ended {
  /** How often an older checkpoint was restored: so often each row of a transaction may have come again. */
  readonly rewinds: number;
  /** Nothing was lost or repeated anywhere: also at-least-once is exact. */
  readonly isCalm: boolean;
  /** Not all of it comes out: the job was cancelled, or a timer that puts out the rest is parked. */
  readonly isCutOff?: boolean;
  /** See `evaluate`. */
  readonly parked: ReadonlyMap<string, number>;
  /** Those of them that nobody ever redrove. What was redriven and is parked again, by a restore, may have been shown between the two. */
  readonly neverRun?: ReadonlyMap<string, number>;
  /** Rows that a delay still holds, by its uid. */
  readonly held: ReadonlyMap<string, number>;
}

interface Allowed {
  readonly mayMiss: number;
  /** Times that each row may come besides the once. */
  readonly mayRepeat: number;
}

export function* judged(spec: JobSpec, targets: Targets, ended: Ended): Generator<string> {
  const { sinks } = evaluate(spec, ended.parked);
  const most = ended.neverRun === undefined ? sinks : evaluate(spec, ended.neverRun).sinks;
  const isParkedAgain = ended.neverRun !== undefined && count(ended.neverRun) < count(ended.parked);
  for (const node of spec.nodes) {
    if (node.op.kind !== 'sink') continue;
    const { sink, isOrdered } = node.op;
    const all = sinks.get(node.uid)!;
    const expected = sink === 'latest' ? [...new Map(all.map((r) => [keyOfLatest(r), r])).values()] : all;
    const slack = ended.held.get(spec.nodes[node.inputs[0]!.node]!.uid) ?? 0;
    const { mode } = spec.checkpoints;
    const lossy = (mode === 'AT_MOST_ONCE' && !ended.isCalm) || ended.isCutOff === true;
    const isKeyed = sink === 'upsert' || sink === 'latest';
    // What a restore undid stands until it is worked out again, which a cancel or a letter that nobody redrives again may keep it from; and where no order
    // is promised, another record may have made the same row by then.
    const isUndone = isKeyed && !isOrdered && (ended.isCutOff === true || isParkedAgain);
    const repeats = (mode === 'AT_LEAST_ONCE' && !ended.isCalm) || sink === 'append' || isUndone;
    const allowed: Allowed = {
      mayMiss: lossy ? Number.POSITIVE_INFINITY : slack,
      mayRepeat: repeats ? Number.POSITIVE_INFINITY : isKeyed ? 0 : ended.rewinds,
    };
    const possible = sinks === most ? expected : most.get(node.uid)!;
    yield* compared(node.uid, { expected, possible }, shownBy(sink, node.uid, targets), allowed);
  }
}

function shownBy(sink: string, uid: string, targets: Targets): readonly Row[] {
  switch (sink) {
    case 'upsert':
    case 'latest':
      return [...(targets.upserted.get(uid)?.values() ?? [])].map(({ row }) => row);
    case 'append':
      return targets.appended.get(uid) ?? [];
    case 'log': {
      // The same rows of the same checkpoint once more are the same call made again.
      const lists = targets.logged.get(uid) ?? [];
      return [...new Map(lists.map((list) => [JSON.stringify(list), list.rows])).values()].flat();
    }
    default:
      return targets.visible.get(uid) ?? [];
  }
}

interface Wanted {
  readonly expected: readonly Row[];
  /** Those and what may be there besides. */
  readonly possible: readonly Row[];
}

function count(times: ReadonlyMap<string, number>): number {
  return [...times.values()].reduce((sum, n) => sum + n, 0);
}

function* compared(uid: string, { expected, possible }: Wanted, actual: readonly Row[], allowed: Allowed): Generator<string> {
  const wanted = tally(expected);
  const known = expected === possible ? wanted : tally(possible);
  const shown = tally(actual);
  const sum = `${expected.length} rows expected, ${actual.length} shown`;
  const missing = [...wanted].map(([text, n]) => [text, n - (shown.get(text) ?? 0)] as const).filter(([, n]) => n > 0);
  const missed = missing.reduce((n, [, times]) => n + times, 0);
  if (missed > allowed.mayMiss) yield `I7: ${uid}: ${missed} rows lost, such as ${missing[0]![0]} (${sum})`;
  const strange = [...shown].filter(([text]) => !known.has(text));
  if (strange.length > 0) yield `I7: ${uid}: ${strange.length} rows that no input makes, such as ${strange[0]![0]} (${sum})`;
  const more = [...shown].filter(([text, n]) => known.has(text) && n > known.get(text)! * (1 + allowed.mayRepeat));
  if (more.length > 0) yield `I7: ${uid}: ${more.length} rows come too often, such as ${more[0]![0]} ${more[0]![1]} times (${sum})`;
}

function tally(rows: readonly Row[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const r of rows) {
    const text = `${r.id} ${r.k} ${r.s} ${r.v} ${r.t}`;
    times.set(text, (times.get(text) ?? 0) + 1);
  }
  return times;
}
