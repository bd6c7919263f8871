// What `build` leaves behind: a description of the job as plain nodes and edges. It runs nothing and knows no runtime; `graph/` checks it
// and turns it into a plan.
//   D1  Node ids grow in the order of the calls, and an edge goes from a smaller id to a larger one: the description is in topological order.
//   D2  Union, partitioning and side outputs are no nodes: they are edges, several of which may lead to one input.
//   D3  `create` gives a fresh function object for a subtask and attempt when the user gave a factory, else always the same one.

import type { Binding } from './binding.ts';
import type { BroadcastProcessFunction, CoProcessFunction, KeyedProcessFunction, ProcessFunction } from './functions.ts';
import type { JobSettings } from './options.ts';
import type { Sink } from './sink.ts';
import type { Source } from './source.ts';
import type { StateShape } from './state.ts';
import type { WatermarkStrategy } from './watermark.ts';

export type Partitioning =
  /** Forward when both sides have one parallelism, else round robin: what Flink does when nothing is said. */
  | { readonly kind: 'auto' }
  | { readonly kind: 'forward' | 'rebalance' | 'rescale' | 'shuffle' | 'broadcast' | 'global' }
  | { readonly kind: 'hash'; readonly selector: (value: unknown) => unknown }
  | {
      readonly kind: 'custom';
      readonly partition: (key: unknown, parallelism: number) => number;
      readonly selector: (value: unknown) => unknown;
    };

export interface Edge {
  readonly from: number;
  /** Id of the output tag when the records are a side output of `from`. */
  readonly sideOutput: string | undefined;
  readonly partitioning: Partitioning;
  /** Which input of the receiving operator: 1 only for the second stream of a `connect`. */
  readonly input: 0 | 1;
}

export type OperatorSpec =
  | {
      readonly kind: 'source';
      readonly source: Source<unknown>;
      readonly watermarks: WatermarkStrategy<unknown> | undefined;
      /** All records of one such key come in one split. */
      readonly partitionedBy?: ((value: unknown) => unknown) | undefined;
    }
  | { readonly kind: 'map'; readonly map: (value: unknown) => unknown }
  | { readonly kind: 'filter'; readonly keep: (value: unknown) => boolean }
  | { readonly kind: 'flatMap'; readonly flatMap: (value: unknown) => Iterable<unknown> }
  | { readonly kind: 'timestamps'; readonly watermarks: WatermarkStrategy<unknown> }
  | { readonly kind: 'process'; readonly create: () => ProcessFunction<unknown, unknown> }
  | {
      readonly kind: 'keyedProcess';
      readonly create: () => KeyedProcessFunction<unknown, unknown, StateShape, unknown>;
      /** What the function declares as `state`; names are unique. */
      readonly state: StateShape;
    }
  | {
      readonly kind: 'coProcess';
      readonly create: () => CoProcessFunction<unknown, unknown, unknown, StateShape, unknown>;
      readonly state: StateShape;
    }
  | {
      readonly kind: 'broadcastProcess';
      readonly state: StateShape;
      readonly create: () => BroadcastProcessFunction<unknown, unknown, unknown, StateShape, StateShape, unknown>;
      readonly broadcastState: StateShape;
    }
  | {
      readonly kind: 'sink';
      readonly create: () => Sink<unknown>;
      /** Its rows come with what caused them. */
      readonly needsRowIdentity?: boolean;
      readonly target?: string;
      readonly binding?: Binding;
      /** Throws for a row that the target can never take. */
      readonly check?: (row: unknown) => void;
    };

export interface LogicalNode {
  readonly id: number;
  readonly operator: OperatorSpec;
  readonly inputs: readonly Edge[];
  /** What the user typed to make it, such as `map` or `window.aggregate`; shown when no name is given. */
  readonly label: string;
  /** It may hold state, so a uid is required. */
  readonly isStateful: boolean;
  uid: string | undefined;
  name: string | undefined;
  parallelism: number | undefined;
  maxParallelism: number | undefined;
}

export interface JobDescription {
  readonly job: string;
  readonly nodes: readonly LogicalNode[];
  readonly settings: JobSettings;
}
