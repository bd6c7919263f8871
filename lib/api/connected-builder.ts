import type { Edge, OperatorSpec } from './description.ts';
import { checkStates, factoryOf } from './function-checks.ts';
import type { BroadcastProcessFunction, CoProcessFunction, OneOrFactory } from './functions.ts';
import type { GraphBuilder } from './graph-builder.ts';
import type { StateShape } from './state.ts';
import type { BroadcastConnectedStream, ConnectedStreams, DataStream } from './stream.ts';

// connected-builder.ts implements what `connect` gives: two streams that wait for the function that reads both.

/** An edge whose receiver is not there yet. */
export type Upstream = Omit<Edge, 'input'>;

/** The streams to connect, and how their operator is added to the job. */
export interface Connection {
  readonly first: readonly Upstream[];
  readonly second: readonly Upstream[];
  readonly append: <R>(operator: OperatorSpec, inputs: readonly Edge[], label: string) => DataStream<R>;
}

const label = 'connect.process';

function edgesOf({ first, second }: Connection): readonly Edge[] {
  return [...first.map((upstream): Edge => ({ ...upstream, input: 0 })), ...second.map((upstream): Edge => ({ ...upstream, input: 1 }))];
}

export class ConnectedBuilder<A, B, K> implements ConnectedStreams<A, B, K> {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<CoProcessFunction<A, B, O, S, K>>): DataStream<O> {
    const { create, sample } = factoryOf(label, f, ['processElement1', 'processElement2']);
    const operator: OperatorSpec = {
      kind: 'coProcess',
      create: create as () => CoProcessFunction<unknown, unknown, unknown, StateShape, unknown>,
      state: checkStates(label, sample.state),
    };
    return this.#connection.append<O>(operator, edgesOf(this.#connection), label);
  }
}

export class BroadcastConnectedBuilder<A, B, BS, K> implements BroadcastConnectedStream<A, B, BS, K> {
  readonly #connection: Connection;
  readonly #broadcastState: StateShape;

  constructor(connection: Connection, broadcastState: StateShape) {
    this.#connection = connection;
    this.#broadcastState = broadcastState;
  }

  process<O = never, const S extends StateShape = {}>(f: OneOrFactory<BroadcastProcessFunction<A, B, O, BS, S, K>>): DataStream<O> {
    const { create, sample } = factoryOf(label, f, ['processElement', 'processBroadcastElement']);
    const operator: OperatorSpec = {
      kind: 'broadcastProcess',
      create: create as () => BroadcastProcessFunction<unknown, unknown, unknown, StateShape, StateShape, unknown>,
      state: checkStates(label, sample.state),
      broadcastState: this.#broadcastState,
    };
    return this.#connection.append<O>(operator, edgesOf(this.#connection), label);
  }
}

/** A stream with `broadcast(states)`, until it is connected. */
export class BroadcastBuilder {
  readonly graph: GraphBuilder;
  readonly upstreams: readonly Upstream[];
  readonly states: StateShape;

  constructor(graph: GraphBuilder, upstreams: readonly Upstream[], states: StateShape) {
    this.graph = graph;
    this.upstreams = upstreams;
    this.states = states;
  }
}
