// The oracle: what a job of the language of `spec.ts` must put out, evaluated one operator after the other over whole arrays, with plain loops
// and plain maps. It knows nothing of batches, subtasks, time or failure, and shares no code with the engine.

import { bucketEnd, copiesOf, type Input, isKept, type JobSpec, keyText, mapped, type Node, type Op, type Row } from './spec.ts';

export interface Expected {
  /** By uid of the sink: every row that must come out, as often as it must; rows of one (split, key) in order. */
  readonly sinks: ReadonlyMap<string, readonly Row[]>;
  /** Rows that each witness passes on, by uid. */
  readonly witnessed: ReadonlyMap<string, number>;
}

interface Streams {
  readonly main: readonly Row[];
  readonly side: readonly Row[];
}

/** @param parked  rows that an operator was given and never processed: `<uid> <text of the row>` → how many of them */
export function evaluate(spec: JobSpec, parked: ReadonlyMap<string, number> = new Map()): Expected {
  const made: Streams[] = [];
  const sinks = new Map<string, readonly Row[]>();
  const witnessed = new Map<string, number>();
  const rowsOf = (input: Input): readonly Row[] => made[input.node]![input.isSide ? 'side' : 'main'];
  for (const node of spec.nodes) {
    const left = new Map(parked);
    const inputs = node.inputs.map((input) => withoutParked(node.uid, rowsOf(input), left));
    const all = applied(node, inputs);
    const out = node.op.kind === 'source' ? withoutParked(node.uid, all as readonly Row[], left) : all;
    made.push(Array.isArray(out) ? { main: out, side: [] } : (out as Streams));
    if (node.op.kind === 'sink') sinks.set(node.uid, inputs[0]!);
    if (node.op.kind === 'witness') witnessed.set(node.uid, inputs[0]!.length);
  }
  return { sinks, witnessed };
}

export function rowText(r: Row): string {
  return `${r.id} ${r.k} ${r.s} ${r.v} ${r.t}`;
}

function withoutParked(uid: string, rows: readonly Row[], left: Map<string, number>): readonly Row[] {
  if (left.size === 0) return rows;
  return rows.filter((r) => {
    const name = `${uid} ${rowText(r)}`;
    const times = left.get(name) ?? 0;
    left.set(name, times - 1);
    return times <= 0;
  });
}

function applied(node: Node, inputs: readonly (readonly Row[])[]): readonly Row[] | Streams {
  const { op, uid } = node;
  const rows = inputs[0] ?? [];
  switch (op.kind) {
    case 'source':
      return op.source.splits.flatMap((s) => s.rows);
    case 'map':
      return rows.map((r) => mapped(r, op.add));
    case 'filter':
      return rows.filter((r) => isKept(r, op.modulus));
    case 'flatMap':
      return rows.flatMap(copiesOf);
    case 'spread':
      return op.how === 'broadcast' ? rows.flatMap((r) => Array.from({ length: node.parallelism! }, () => r)) : rows;
    case 'split':
      return { main: rows.filter((r) => r.v % op.modulus !== 0), side: rows.filter((r) => r.v % op.modulus === 0) };
    case 'union':
      return [...rows, ...inputs[1]!];
    case 'delay':
    case 'witness':
    case 'hold':
    case 'sink':
      return rows;
    case 'rules':
      return withRules(uid, node.parallelism!, rows, inputs[1]!);
    case 'sides':
      return [...counted(`${uid}#1`, rows), ...counted(`${uid}#2`, inputs[1]!)];
    case 'pairs':
      return paired(rows, inputs[1]!, op.modulus);
    default:
      return keyed(op, uid, rows);
  }
}

function keyed(op: Op, uid: string, rows: readonly Row[]): readonly Row[] {
  switch (op.kind) {
    case 'count':
      return counted(uid, rows);
    case 'distinct':
      return distinct(uid, rows, op.modulus);
    case 'running':
      return running(rows);
    case 'rolling':
      return rolling(op.by, rows);
    case 'buckets':
      return bucketed(uid, rows, op.sizeMs, op.isPinned);
    case 'window':
      return windowed(uid, rows, op.sizeMs, op.by);
    default:
      throw new Error(`no meaning for ${op.kind}`);
  }
}

function grouped(rows: readonly Row[], keyOf: (r: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const r of rows) {
    const key = keyOf(r);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [r]);
    else group.push(r);
  }
  return groups;
}

function counted(uid: string, rows: readonly Row[]): readonly Row[] {
  const out: Row[] = [];
  for (const [k, group] of grouped(rows, (r) => r.k)) {
    for (let n = 1; n <= group.length; n++) out.push({ id: `${uid}#${k}#${n}`, k, s: '', v: n, t: 0 });
  }
  return out;
}

function distinct(uid: string, rows: readonly Row[], modulus: number): readonly Row[] {
  const seen = new Map<string, Row>();
  for (const r of rows) {
    const v = r.v % modulus;
    seen.set(`${r.k}#${v}`, { id: `${uid}#${r.k}#${v}`, k: r.k, s: '', v, t: 0 });
  }
  return [...seen.values()];
}

/** One number that all kinds of keyed state of `running` go into. */
export const runningDigest = (
  sum: number,
  last3: readonly number[],
  perRest: readonly (readonly [number, number])[],
  max: number,
  mean: number,
  trace: number,
): number => {
  let digest = sum * 7 + max * 11 + Math.floor(mean * 100) * 13 + trace;
  for (const v of last3) digest = (digest * 31 + v) % 1_000_003;
  for (const [rest, n] of perRest) digest = (digest * 37 + rest * 5 + n) % 1_000_003;
  return digest % 1_000_003;
};

function running(rows: readonly Row[]): readonly Row[] {
  const before = new Map<string, Row[]>();
  return rows.map((r) => {
    const key = keyText(r, true);
    const all = before.get(key) ?? [];
    all.push(r);
    before.set(key, all);
    const values = all.map((x) => x.v);
    const sum = values.reduce((a, b) => a + b, 0);
    // What is seen twice leaves the map, so that removal is exercised.
    const rests = new Map<number, number>();
    for (const v of values) {
      const rest = v % 5;
      if ((rests.get(rest) ?? 0) >= 3) rests.delete(rest);
      else rests.set(rest, (rests.get(rest) ?? 0) + 1);
    }
    const perRest = [...rests].sort((x, y) => x[0] - y[0]);
    const trace = values.reduce((acc, v) => (acc * 17 + v) % 10_007, 1);
    return { ...r, v: runningDigest(sum, values.slice(-3), perRest, Math.max(...values), sum / values.length, trace) };
  });
}

function rolling(by: (Op & { kind: 'rolling' })['by'], rows: readonly Row[]): readonly Row[] {
  const last = new Map<string, Row>();
  return rows.map((r) => {
    const key = keyText(r, true);
    const before = last.get(key);
    const now = before === undefined ? (by === 'aggregate' ? { ...r, id: `${key}#1` } : r) : rolled(by, before, r, key);
    last.set(key, now);
    return now;
  });
}

function rolled(by: (Op & { kind: 'rolling' })['by'], a: Row, b: Row, key: string): Row {
  switch (by) {
    case 'reduce':
      return { ...b, v: (a.v * 31 + b.v) % 1_009 };
    case 'sum':
      return { ...a, v: a.v + b.v };
    case 'min':
      return { ...a, v: Math.min(a.v, b.v) };
    case 'max':
      return { ...a, v: Math.max(a.v, b.v) };
    case 'minBy':
      return b.v < a.v ? b : a;
    case 'maxBy':
      return b.v > a.v ? b : a;
    case 'aggregate': {
      const n = Number(a.id.slice(a.id.lastIndexOf('#') + 1)) + 1;
      return { ...b, id: `${key}#${n}`, v: (a.v * 3 + b.v) % 1_013 };
    }
  }
}

function bucketed(uid: string, rows: readonly Row[], sizeMs: number, isPinned: boolean): readonly Row[] {
  const out: Row[] = [];
  for (const [key, group] of grouped(rows, (r) => keyText(r, isPinned))) {
    const ends = [...grouped(group, (r) => String(bucketEnd(r.t, sizeMs)))].sort((x, y) => Number(x[0]) - Number(y[0]));
    for (const [end, inside] of ends) {
      const { k, s } = inside[0]!;
      out.push({ id: `${uid}#${key}#${end}`, k, s: isPinned ? s : '', v: inside.reduce((a, r) => a + r.v, inside.length), t: Number(end) });
    }
  }
  return out;
}

function windowed(uid: string, rows: readonly Row[], sizeMs: number, by: 'count' | 'sum' | 'reduce'): readonly Row[] {
  const out: Row[] = [];
  for (const [k, group] of grouped(rows, (r) => r.k)) {
    for (const [end, inside] of grouped(group, (r) => String(bucketEnd(r.t, sizeMs)))) {
      const values = inside.map((r) => r.v);
      const v = by === 'count' ? values.length : by === 'sum' ? values.reduce((a, b) => a + b, 0) : Math.max(...values);
      if (by === 'reduce') out.push({ id: '', k, s: '', v, t: Number(end) });
      else out.push({ id: `${uid}#${k}#${end}`, k, s: '', v, t: Number(end) });
    }
  }
  return out;
}

function paired(a: readonly Row[], b: readonly Row[], modulus: number): readonly Row[] {
  const other = grouped(
    b.filter((r) => r.v % modulus === 0),
    (r) => r.k,
  );
  return a
    .filter((r) => r.v % modulus === 0)
    .flatMap((x) => (other.get(x.k) ?? []).map((y) => ({ id: `${x.id}*${y.id}`, k: x.k, s: '', v: (x.v + y.v) % 1_000, t: 0 })));
}

/** Each subtask tells of each rule once, with the size of the map that it saw; rows are told at the end, when all rules are known. */
function withRules(uid: string, parallelism: number, rows: readonly Row[], rules: readonly Row[]): readonly Row[] {
  const told = rules.map((r, i) => ({ id: `${uid}!${r.id}`, k: r.k, s: '', v: i + 1, t: 0 }));
  const sum = rules.reduce((n, r) => n + r.v, 0);
  return [...Array.from({ length: parallelism }, () => told).flat(), ...rows.map((r) => ({ ...r, s: '', v: (r.v + sum) % 1_000, t: 0 }))];
}
