// Makes a Sluice job of a spec, as a user would write it. Stateful pieces are written with the engine's state; what they must come to is in
// `oracle.ts`.

import {
  type AggregateFunction,
  type Collector,
  type DataStream,
  defineJob,
  type Env,
  FsStateBackend,
  fileSink,
  files,
  type Job,
  type KeyedStream,
  listState,
  MemoryStateBackend,
  mapState,
  ndjson,
  OutputTag,
  RestartStrategies,
  TumblingEventTimeWindows,
  valueState,
  WatermarkStrategy,
} from '../../lib/index.ts';
import { contractSink, twoPhaseSink } from './external-target.ts';
import {
  buckets,
  type Context,
  chain,
  delayChecked,
  delayList,
  type FunctionContext,
  hold,
  running,
  type Surroundings,
  witness,
} from './functions.ts';
import { scriptedSource } from './scripted-source.ts';
import {
  checkpointDirectory,
  copiesOf,
  farFuture,
  inputDirectory,
  isKept,
  type JobSpec,
  type KeyForm,
  keyText,
  mapped,
  type Node,
  type Op,
  outputDirectory,
  type Row,
  type SourceSpec,
} from './spec.ts';

/** Where `split` puts what divides evenly. */
export const side: OutputTag<Row> = new OutputTag<Row>('even');

export function buildJob(spec: JobSpec, around: Surroundings): Job {
  let builds = 0;
  return defineJob(spec.name, (env) => {
    configure(env, spec);
    const build = String(++builds);
    const made: (DataStream<Row> | undefined)[] = [];
    for (const node of spec.nodes) {
      const inputs = node.inputs.map((i) => (i.isSide ? made[i.node]!.getSideOutput(side) : made[i.node]!));
      made.push(attach(env, node, inputs, { ...around, build }));
    }
  });
}

function configure(env: Env, spec: JobSpec): void {
  const c = spec.checkpoints;
  env.setMaxParallelism(spec.maxParallelism);
  if (spec.backend === 'fs') env.setStateBackend(new FsStateBackend(`file:${checkpointDirectory}`));
  else env.setStateBackend(new MemoryStateBackend(64 * 1_048_576, spec.backend === 'memory'));
  env.enableCheckpointing(c.intervalMs, {
    mode: c.mode,
    timeout: c.timeoutMs,
    minPauseBetweenCheckpoints: c.minPauseMs,
    maxConcurrentCheckpoints: c.maxConcurrent,
    tolerableFailures: c.tolerableFailures,
    numRetained: c.numRetained,
    externalizedCleanup: c.cleanup,
    preferCheckpointForRecovery: c.prefersCheckpoint,
  });
  if (spec.restarts === 'none') env.setRestartStrategy(RestartStrategies.none());
  if (spec.restarts === 'fixed') env.setRestartStrategy(RestartStrategies.fixedDelay({ attempts: 5, delay: 10 }));
  if (spec.restarts === 'exponential') env.setRestartStrategy(RestartStrategies.exponentialDelay({ initial: 5, max: 100 }));
  if (spec.restarts === 'rate') env.setRestartStrategy(RestartStrategies.failureRate({ maxFailures: 3, interval: '1 min', delay: 20 }));
}

function attach(env: Env, node: Node, inputs: DataStream<Row>[], ctx: Context): DataStream<Row> | undefined {
  const made = attached(env, node, inputs, ctx);
  if (made === undefined) return undefined;
  if (node.op.kind !== 'source') made.uid(node.uid);
  if (node.parallelism !== undefined) made.setParallelism(node.parallelism);
  return made;
}

function attached(env: Env, node: Node, inputs: DataStream<Row>[], ctx: Context): DataStream<Row> | undefined {
  const { op, uid } = node;
  switch (op.kind) {
    case 'source':
      return source(env, uid, op.source, ctx);
    case 'sink':
      sink(inputs[0]!, node, op, ctx);
      return undefined;
    default:
      return operatorOf(node, inputs, ctx);
  }
}

/** Whatever is neither source nor sink. */
export function operatorOf(node: Node, [input, second]: readonly DataStream<Row>[], ctx: FunctionContext): DataStream<Row> {
  const { op, uid } = node;
  switch (op.kind) {
    case 'union':
      return input!.union(second!).map((r) => r);
    case 'rules':
      return rules(input!, second!, uid, op.key);
    case 'sides':
    case 'pairs':
      return joined(input!, second!, uid, op);
    case 'window':
      return windowed(input!, uid, op);
    default:
      return chained(input!, uid, op, ctx);
  }
}

// Sources and sinks

function source(env: Env, uid: string, spec: SourceSpec, ctx: Context): DataStream<Row> {
  const options = spec.hasWatermarks
    ? { uid, watermarks: WatermarkStrategy.forBoundedOutOfOrderness<Row>(spec.disorderMs).withTimestamps((r) => r.t) }
    : { uid };
  const rows = spec.splits[0]!.rows;
  switch (spec.kind) {
    case 'scripted':
      return env.fromSource(scriptedSource(spec, ctx.process), options);
    case 'files':
      return env.fromSource(files<Row>({ path: `${inputDirectory}/${uid}`, format: ndjson<Row>() }), options);
    case 'collection':
      return env.fromCollection(rows, options);
    case 'generate':
      return env.generate((i) => rows[i]!, { ...options, count: rows.length });
  }
}

/** The files that a `files` source reads: one for each split. */
export function inputFiles(node: Node): readonly { readonly path: string; readonly text: string }[] {
  if (node.op.kind !== 'source' || node.op.source.kind !== 'files') return [];
  return node.op.source.splits.map((s) => ({
    path: `${inputDirectory}/${node.uid}/${s.id}.ndjson`,
    text: s.rows.map((r) => `${JSON.stringify(r)}\n`).join(''),
  }));
}

function sink(input: DataStream<Row>, node: Node, op: Op & { kind: 'sink' }, ctx: Context): void {
  const { uid } = node;
  switch (op.sink) {
    case 'files': {
      const path = `${outputDirectory}/${uid}`;
      const format = ndjson<Row>();
      input.sinkTo(op.rollBytes === undefined ? fileSink({ path, format }) : fileSink({ path, format, rollBytes: op.rollBytes }), { uid });
      return;
    }
    case 'two-phase':
      input.sinkTo(() => twoPhaseSink(ctx.target, uid, ctx.process), { uid });
      return;
    case 'contract':
      input.sinkTo(contractSink(ctx.target, ctx.process), { uid });
      return;
  }
}

// Keys

function keyedBy(input: DataStream<Row>, form: KeyForm, isPinned: boolean): KeyedStream<Row, unknown> {
  return input.keyBy(keySelector(form, isPinned) as (r: Row) => string) as KeyedStream<Row, unknown>;
}

/** One function for each sort of key: who partitions by it and who keys by it can be seen to mean the same. */
export function keySelector(form: KeyForm, isPinned: boolean): (r: Row) => unknown {
  return selectors[form][isPinned ? 'pinned' : 'loose'];
}

const selectors: Readonly<Record<KeyForm, Readonly<Record<'pinned' | 'loose', (r: Row) => unknown>>>> = {
  text: { pinned: (r) => keyText(r, true), loose: (r) => keyText(r, false) },
  tuple: { pinned: (r) => [r.s, r.k], loose: (r) => ['', r.k] },
  object: { pinned: (r) => ({ k: r.k, s: r.s }), loose: (r) => ({ k: r.k, s: '' }) },
  // Texts become numbers that differ: they are short and made of few characters.
  number: { pinned: (r) => numbered(keyText(r, true)), loose: (r) => numbered(keyText(r, false)) },
};

function numbered(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; i++) n = (n * 131 + text.charCodeAt(i)) % 9_007_199_254_740;
  return (n - 4_000_000_000_000) / 8;
}

// Operators

function chained(input: DataStream<Row>, uid: string, op: Op, ctx: FunctionContext): DataStream<Row> {
  switch (op.kind) {
    case 'map':
      return input.map((r) => {
        if (op.mayThrow && ctx.throwsNow(r)) throw new Error('user code throws');
        return mapped(r, op.add);
      });
    case 'filter':
      return input.filter((r) => isKept(r, op.modulus));
    case 'flatMap':
      return input.flatMap(copiesOf);
    case 'spread':
      return spread(input, op.how).map((r) => r);
    case 'split':
      return input.process({
        processElement(r: Row, c, out: Collector<Row>) {
          if (r.v % op.modulus === 0) c.output(side, r);
          else out.collect(r);
        },
      });
    case 'delay':
      return op.form === 'list' ? input.process(() => delayList(op.rows)) : input.process(() => delayChecked(op.rows));
    case 'witness':
      return input.process(() => witness(uid, ctx));
    case 'rolling':
      return rolling(input, op);
    default:
      return keyed(input, uid, op, ctx);
  }
}

function spread(input: DataStream<Row>, how: (Op & { kind: 'spread' })['how']): DataStream<Row> {
  if (how === 'custom')
    return input.partitionCustom(
      (s: string, parallelism) => s.length % parallelism,
      (r) => r.s,
    );
  return input[how]();
}

function keyed(input: DataStream<Row>, uid: string, op: Op, ctx: FunctionContext): DataStream<Row> {
  switch (op.kind) {
    case 'count':
      return keyedBy(input, op.key, false).process({
        state: { n: valueState<number>({ default: () => 0 }) },
        processElement(r, c, out: Collector<Row>) {
          const n = c.state.n.value() + 1;
          c.state.n.update(n);
          out.collect({ id: `${uid}#${r.k}#${n}`, k: r.k, s: '', v: n, t: 0 });
        },
      });
    case 'distinct':
      return keyedBy(input, op.key, false).process({
        state: { seen: mapState<number, boolean>() },
        processElement(r, c, out: Collector<Row>) {
          const v = r.v % op.modulus;
          if (c.state.seen.has(v)) return;
          c.state.seen.put(v, true);
          out.collect({ id: `${uid}#${r.k}#${v}`, k: r.k, s: '', v, t: 0 });
        },
      });
    case 'running':
      return keyedBy(input, op.key, true).process(running(ctx));
    case 'buckets':
      return keyedBy(input, op.key, op.isPinned).process(buckets(uid, op));
    case 'hold':
      return keyedBy(input, op.key, op.isPinned).process(hold(op.holdMs, ctx));
    default:
      throw new Error(`no job for ${op.kind}`);
  }
}

function rolling(input: DataStream<Row>, op: Op & { kind: 'rolling' }): DataStream<Row> {
  const stream = keyedBy(input, op.key, true);
  switch (op.by) {
    case 'reduce':
      return stream.reduce((a, b) => ({ ...b, v: (a.v * 31 + b.v) % 1_009 }));
    case 'aggregate':
      return stream.aggregate(chain);
    default:
      return stream[op.by]('v');
  }
}

function windowed(input: DataStream<Row>, uid: string, op: Op & { kind: 'window' }): DataStream<Row> {
  const windows = keyedBy(input, op.key, false).window(TumblingEventTimeWindows.of(op.sizeMs));
  type Acc = { readonly k: string; readonly v: number };
  const sum: AggregateFunction<Row, Acc, Acc> = {
    createAccumulator: () => ({ k: '', v: 0 }),
    add: (r, acc) => ({ k: r.k, v: acc.v + (op.by === 'count' ? 1 : r.v) }),
    getResult: (acc) => acc,
    merge: (a, b) => ({ k: a.k, v: a.v + b.v }),
  };
  if (op.by === 'reduce') {
    return windows.reduce(
      (a, b) => ({ id: a.id, k: a.k, s: a.s, v: Math.max(a.v, b.v), t: a.t }),
      (_key, w, [r]) => ({ id: '', k: r.k, s: '', v: r.v, t: w.end - 1 }),
    );
  }
  return windows.aggregate(sum, (_key, w, [acc]) => ({ id: `${uid}#${acc.k}#${w.end - 1}`, k: acc.k, s: '', v: acc.v, t: w.end - 1 }));
}

function joined(a: DataStream<Row>, b: DataStream<Row>, uid: string, op: Op & { kind: 'sides' | 'pairs' }): DataStream<Row> {
  const connected = keyedBy(a, op.key, false).connect(keyedBy(b, op.key, false));
  if (op.kind === 'sides') {
    return connected.process({
      state: { first: valueState<number>({ default: () => 0 }), second: valueState<number>({ default: () => 0 }) },
      processElement1(r, c, out: Collector<Row>) {
        const n = c.state.first.value() + 1;
        c.state.first.update(n);
        out.collect({ id: `${uid}#1#${r.k}#${n}`, k: r.k, s: '', v: n, t: 0 });
      },
      processElement2(r, c, out) {
        const n = c.state.second.value() + 1;
        c.state.second.update(n);
        out.collect({ id: `${uid}#2#${r.k}#${n}`, k: r.k, s: '', v: n, t: 0 });
      },
    });
  }
  const pair = (x: Row, y: Row): Row => ({ id: `${x.id}*${y.id}`, k: x.k, s: '', v: (x.v + y.v) % 1_000, t: 0 });
  return connected.process({
    state: { first: listState<Row>(), second: listState<Row>() },
    processElement1(r, c, out: Collector<Row>) {
      if (r.v % op.modulus !== 0) return;
      c.state.first.add(r);
      for (const other of c.state.second.get()) out.collect(pair(r, other));
    },
    processElement2(r, c, out) {
      if (r.v % op.modulus !== 0) return;
      c.state.second.add(r);
      for (const other of c.state.first.get()) out.collect(pair(other, r));
    },
  });
}

function rules(input: DataStream<Row>, from: DataStream<Row>, uid: string, key: KeyForm): DataStream<Row> {
  const broadcast = { rules: mapState<string, number>() };
  return keyedBy(input, key, false)
    .connect(from.broadcast(broadcast))
    .process({
      state: { waiting: listState<Row>() },
      processElement(r, c, out: Collector<Row>) {
        c.state.waiting.add(r);
        c.timerService.registerEventTimeTimer(farFuture);
      },
      processBroadcastElement(rule, c, out) {
        c.broadcast.rules.put(rule.id, rule.v);
        out.collect({ id: `${uid}!${rule.id}`, k: rule.k, s: '', v: [...c.broadcast.rules.keys()].length, t: 0 });
      },
      onTimer(_at, c, out) {
        let sum = 0;
        for (const v of c.broadcast.rules.values()) sum += v;
        for (const r of c.state.waiting.get()) out.collect({ ...r, s: '', v: (r.v + sum) % 1_000, t: 0 });
        c.state.waiting.clear();
      },
    });
}
