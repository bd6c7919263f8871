// The streams behind the interfaces of stream.ts. A stream is a list of edges that the next operator will read; only an operator is a node.
//   S1  `union`, partitioning and `getSideOutput` give a stream without an operator of its own, so it has no uid and no parallelism.
//   S2  The last partitioning before an operator counts: `keyBy` after `rebalance` cuts by key.
//   S3  The types of records are known to the compiler only; here they are forgotten, in one place.

import { SluiceError } from '../core/errors.ts';
import type { KeyedFactory } from './compositions.ts';
import { BroadcastBuilder, BroadcastConnectedBuilder, ConnectedBuilder, type Connection, type Upstream } from './connected-builder.ts';
import type { ComparableField, Key, NumericField } from './data-types.ts';
import type { Edge, LogicalNode, OperatorSpec, Partitioning } from './description.ts';
import { checkPlainFunction, checkStates, factoryOf, sinkFactoryOf } from './function-checks.ts';
import type {
  AggregateFunction,
  AnyKeyedProcessFunction,
  AnyProcessFunction,
  KeyedProcessFunction,
  OneOrFactory,
  ProcessFunction,
} from './functions.ts';
import { OutputTag } from './functions.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { checkName } from './names.ts';
import { checkOptions } from './option-checks.ts';
import { checkMaxParallelism, checkParallelism } from './options.ts';
import { placeOf } from './places.ts';
import type { Sink } from './sink.ts';
import { checkAggregate, type StateShape } from './state.ts';
import type {
  BroadcastConnectedStream,
  BroadcastStream,
  ConnectedStreams,
  DataStream,
  KeyedStream,
  SinkOptions,
  StreamOperations,
} from './stream.ts';
import { WatermarkStrategy } from './watermark.ts';
import { isWindowAssigner, type WindowAssigner, type WindowedStream } from './window.ts';
import { WindowedBuilder } from './window-builder.ts';

abstract class AnyStream<T> implements StreamOperations<T> {
  readonly graph: GraphBuilder;
  readonly upstreams: readonly Upstream[];

  constructor(graph: GraphBuilder, upstreams: readonly Upstream[]) {
    this.graph = graph;
    this.upstreams = upstreams;
  }

  map<R>(f: (value: T) => R): DataStream<R> {
    checkPlainFunction('map', f);
    return this.append<R>({ kind: 'map', map: f as (value: unknown) => unknown }, 'map');
  }

  flatMap<R>(f: (value: T) => Iterable<R>): DataStream<R> {
    checkPlainFunction('flatMap', f);
    return this.append<R>({ kind: 'flatMap', flatMap: f as (value: unknown) => Iterable<unknown> }, 'flatMap');
  }

  filter<R extends T>(f: (value: T) => value is R): DataStream<R>;
  filter(f: (value: T) => boolean): DataStream<T>;
  filter(f: (value: T) => boolean): DataStream<T> {
    checkPlainFunction('filter', f);
    return this.append<T>({ kind: 'filter', keep: f as (value: unknown) => boolean }, 'filter');
  }

  keyBy<K>(selector: (value: T) => K & Key<K>): KeyedStream<T, K> {
    checkPlainFunction('keyBy', selector);
    return new KeyedStreamBuilder<T, K>(this.graph, this.routed({ kind: 'hash', selector: selector as (value: unknown) => unknown }));
  }

  assignTimestampsAndWatermarks(strategy: WatermarkStrategy<T>): DataStream<T> {
    const label = 'assignTimestampsAndWatermarks';
    checkStrategy(label, strategy);
    if (strategy.idlenessMs !== undefined) throw withoutIdleness(label);
    return this.append<T>({ kind: 'timestamps', watermarks: strategy as WatermarkStrategy<unknown> }, label);
  }

  union(...others: readonly StreamOperations<T>[]): DataStream<T> {
    const upstreams = others.flatMap((other) => {
      if (!(other instanceof AnyStream)) throw invalid('union', 'takes streams of this job');
      checkSameJob('union', this.graph, other.graph);
      return other.upstreams;
    });
    return new DataStreamBuilder<T>(this.graph, [...this.upstreams, ...upstreams], undefined, 'union');
  }

  rebalance(): DataStream<T> {
    return this.#spread({ kind: 'rebalance' });
  }

  rescale(): DataStream<T> {
    return this.#spread({ kind: 'rescale' });
  }

  shuffle(): DataStream<T> {
    return this.#spread({ kind: 'shuffle' });
  }

  forward(): DataStream<T> {
    return this.#spread({ kind: 'forward' });
  }

  global(): DataStream<T> {
    return this.#spread({ kind: 'global' });
  }

  broadcast(): DataStream<T>;
  broadcast<const BS extends StateShape>(states: BS): BroadcastStream<T, BS>;
  broadcast<const BS extends StateShape>(states?: BS): DataStream<T> | BroadcastStream<T, BS> {
    if (states === undefined) return this.#spread({ kind: 'broadcast' });
    checkStates('broadcast', states);
    for (const [name, { kind }] of Object.entries(states)) {
      if (kind !== 'map') throw invalid('broadcast', `holds map states only, and '${name}' is a ${kind} state`);
    }
    return new BroadcastBuilder(this.graph, this.routed({ kind: 'broadcast' }), states) as unknown as BroadcastStream<T, BS>;
  }

  partitionCustom<K>(partition: (key: K, parallelism: number) => number, selector: (value: T) => K): DataStream<T> {
    checkPlainFunction('partitionCustom', partition);
    checkPlainFunction('partitionCustom', selector);
    return this.#spread({
      kind: 'custom',
      partition: partition as (key: unknown, parallelism: number) => number,
      selector: selector as (value: unknown) => unknown,
    });
  }

  sinkTo(sink: OneOrFactory<Sink<T>>, o?: SinkOptions): void {
    if (o !== undefined) checkOptions('sinkTo', o, ['uid', 'name', 'parallelism']);
    const { create, sample } = sinkFactoryOf(sink);
    const label = `sinkTo(${sample.kind})`;
    const spec: OperatorSpec = {
      kind: 'sink',
      create: create as () => Sink<unknown>,
      ...(sample.needsRowIdentity === true ? { needsRowIdentity: true } : {}),
      ...(sample.target === undefined ? {} : { target: sample.target }),
      ...(sample.binding === undefined ? {} : { binding: sample.binding }),
      ...(sample.check === undefined ? {} : { check: (row: unknown) => sample.check?.(row as T) }),
    };
    const node = this.graph.add(spec, this.#edgesTo(sample), label, sample.isStateless !== true);
    if (o?.uid !== undefined) node.uid = checkName('the uid of a sink', o.uid);
    node.name = o?.name;
    if (o?.parallelism !== undefined) node.parallelism = checkParallelism('sinkTo', o.parallelism);
  }

  #edgesTo({ keyedBy }: Sink<T>): readonly Edge[] {
    const edges = this.edges(0);
    if (keyedBy === undefined) return edges;
    const selector = keyedBy as (value: unknown) => unknown;
    return edges.map((edge) => ({ ...edge, partitioning: { kind: 'hash', selector } }));
  }

  #spread(partitioning: Partitioning): DataStream<T> {
    return new DataStreamBuilder<T>(this.graph, this.routed(partitioning), undefined, partitioning.kind);
  }

  protected routed(partitioning: Partitioning): readonly Upstream[] {
    return this.upstreams.map((upstream) => ({ ...upstream, partitioning }));
  }

  edges(input: 0 | 1): readonly Edge[] {
    return this.upstreams.map((upstream) => ({ ...upstream, input }));
  }

  protected append<R>(operator: OperatorSpec, label: string, isStateful = false): DataStream<R> {
    return operatorStream<R>(this.graph, this.graph.add(operator, this.edges(0), label, isStateful));
  }
}

/** The output of a new operator. */
export function operatorStream<R>(graph: GraphBuilder, node: LogicalNode): DataStream<R> {
  return new DataStreamBuilder<R>(graph, [{ from: node.id, sideOutput: undefined, partitioning: { kind: 'auto' } }], node, node.label);
}

const withSideOutputs: ReadonlySet<OperatorSpec['kind']> = new Set(['source', 'process', 'keyedProcess', 'coProcess', 'broadcastProcess']);

class DataStreamBuilder<T> extends AnyStream<T> implements DataStream<T> {
  readonly #node: LogicalNode | undefined;
  readonly #label: string;

  constructor(graph: GraphBuilder, upstreams: readonly Upstream[], node: LogicalNode | undefined, label: string) {
    super(graph, upstreams);
    this.#node = node;
    this.#label = label;
  }

  uid(uid: string): this {
    this.#operator('uid').uid = checkName(`the uid of ${this.#label}`, uid);
    return this;
  }

  name(name: string): this {
    if (typeof name !== 'string' || name === '') throw invalid('name', 'is text that is not empty');
    this.#operator('name').name = name;
    return this;
  }

  setParallelism(n: number): this {
    this.#operator('setParallelism').parallelism = checkParallelism(`setParallelism of ${this.#label}`, n);
    return this;
  }

  setMaxParallelism(n: number): this {
    this.#operator('setMaxParallelism').maxParallelism = checkMaxParallelism(`setMaxParallelism of ${this.#label}`, n);
    return this;
  }

  process<O = never>(f: OneOrFactory<AnyProcessFunction<T, O>>): DataStream<O> {
    const { create, sample } = factoryOf('process', f, ['processElement']);
    if (sample.state !== undefined || 'onTimer' in sample) {
      throw invalid(
        'process',
        `has ${sample.state === undefined ? 'onTimer' : 'state'}, but the stream has no keys; write keyBy(…) before it`,
      );
    }
    const spec: OperatorSpec = { kind: 'process', create: create as () => ProcessFunction<unknown, unknown> };
    return this.append<O>(spec, 'process', typeof f === 'function');
  }

  getSideOutput<X>(tag: OutputTag<X>): DataStream<X> {
    const node = this.#operator('getSideOutput');
    if (!(tag instanceof OutputTag)) throw invalid('getSideOutput', 'takes an OutputTag');
    if (!withSideOutputs.has(node.operator.kind)) {
      throw invalid(
        'getSideOutput',
        `asks ${node.label} for the side output '${tag.id}', but only sources and process functions have some`,
      );
    }
    const upstream: Upstream = { from: node.id, sideOutput: tag.id, partitioning: { kind: 'auto' } };
    return new DataStreamBuilder<X>(this.graph, [upstream], undefined, 'getSideOutput');
  }

  #operator(call: string): LogicalNode {
    this.graph.checkOpen();
    if (this.#node !== undefined) return this.#node;
    const node = this.graph.nodes[this.upstreams[0]?.from ?? -1];
    throw new SluiceError('STREAM_WITHOUT_OPERATOR', {
      message: `${call}: ${this.#label} is no operator of its own; call it on the operator before${node === undefined ? '' : ` (${placeOf(node, this.graph.nodes)})`} or after`,
      next: 'fix-the-job',
    });
  }
}

class KeyedStreamBuilder<T, K> extends AnyStream<T> implements KeyedStream<T, K> {
  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<AnyKeyedProcessFunction<T, O, S, K>>): DataStream<O> {
    const { create, sample } = factoryOf('keyBy.process', f, ['processElement']);
    const state = checkStates('keyBy.process', sample.state);
    return this.append<O>({ kind: 'keyedProcess', create: create as KeyedFactory, state }, 'keyBy.process', true);
  }

  connect<B>(other: KeyedStream<B, K>): ConnectedStreams<T, B, K>;
  connect<B, BS extends StateShape>(other: BroadcastStream<B, BS>): BroadcastConnectedStream<T, B, BS, K>;
  connect<B, BS extends StateShape>(
    other: KeyedStream<B, K> | BroadcastStream<B, BS>,
  ): ConnectedStreams<T, B, K> | BroadcastConnectedStream<T, B, BS, K> {
    const second: unknown = other;
    if (second instanceof BroadcastBuilder) {
      checkSameJob('connect', this.graph, second.graph);
      return new BroadcastConnectedBuilder<T, B, BS, K>(this.#connection(second.upstreams), second.states);
    }
    if (!(second instanceof KeyedStreamBuilder)) {
      throw invalid('connect', 'takes a keyed stream or a broadcast one: connect(other.keyBy(…)) or connect(other.broadcast({ … }))');
    }
    checkSameJob('connect', this.graph, second.graph);
    return new ConnectedBuilder<T, B, K>(this.#connection(second.upstreams));
  }

  #connection(second: readonly Upstream[]): Connection {
    const { graph, upstreams: first } = this;
    return { first, second, append: (operator, inputs, label) => operatorStream(graph, graph.add(operator, inputs, label, true)) };
  }

  window<W>(assigner: WindowAssigner<W>): WindowedStream<T, K, W> {
    if (!isWindowAssigner(assigner)) throw invalid('window', 'takes a window assigner, such as TumblingEventTimeWindows.of(size)');
    const { compositions } = this.graph;
    return new WindowedBuilder<T, K, W>({ assigner, compositions, append: (label, factory) => this.composed(label, factory) });
  }

  reduce(reduce: (a: T, b: T) => T): DataStream<T> {
    checkPlainFunction('reduce', reduce);
    return this.composed('reduce', this.graph.compositions.reduce(reduce as (a: unknown, b: unknown) => unknown));
  }

  aggregate<Acc, R>(aggregate: AggregateFunction<T, Acc, R>): DataStream<R> {
    checkAggregate('aggregate', aggregate);
    return this.composed('aggregate', this.graph.compositions.aggregate(aggregate as AggregateFunction<unknown, unknown, unknown>));
  }

  sum(field: NumericField<T>): DataStream<T> {
    return this.composed(`sum(${String(field)})`, this.graph.compositions.sum(field));
  }

  min(field: ComparableField<T>): DataStream<T> {
    return this.composed(`min(${String(field)})`, this.graph.compositions.extreme('least', field));
  }

  max(field: ComparableField<T>): DataStream<T> {
    return this.composed(`max(${String(field)})`, this.graph.compositions.extreme('greatest', field));
  }

  minBy(field: ComparableField<T>, first = true): DataStream<T> {
    return this.composed(`minBy(${String(field)})`, this.graph.compositions.extremeBy('least', field, first));
  }

  maxBy(field: ComparableField<T>, first = true): DataStream<T> {
    return this.composed(`maxBy(${String(field)})`, this.graph.compositions.extremeBy('greatest', field, first));
  }

  protected composed<R>(label: string, factory: KeyedFactory): DataStream<R> {
    const { create, sample } = factoryOf<KeyedProcessFunction<unknown, unknown, StateShape, unknown>>(label, factory, ['processElement']);
    return this.append<R>({ kind: 'keyedProcess', create, state: sample.state ?? {} }, label, true);
  }
}

/** @throws SluiceError `FUNCTION_INVALID` for what is no `WatermarkStrategy` */
export function checkStrategy(owner: string, strategy: unknown): void {
  if (!(strategy instanceof WatermarkStrategy))
    throw invalid(owner, 'takes a WatermarkStrategy, such as WatermarkStrategy.forBoundedOutOfOrderness(…)');
}

function withoutIdleness(owner: string): SluiceError {
  return new SluiceError('FEATURE_NOT_AVAILABLE', {
    message: `${owner}: withIdleness is known to sources only; give it to the watermarks of the source, whose silence then holds nobody back here either`,
    next: 'fix-the-job',
  });
}

function checkSameJob(owner: string, a: GraphBuilder, b: GraphBuilder): void {
  if (a !== b) throw invalid(owner, `takes streams of one job, not of '${a.job}' and of '${b.job}' or of two builds`);
}

function invalid(owner: string, rule: string): SluiceError {
  return new SluiceError('FUNCTION_INVALID', { message: `${owner} ${rule}`, next: 'fix-the-job' });
}
