// The entry point `sluice`: everything a job file needs, and nothing that runs one. Loading it loads no adapter and no native code.

export type { Binding, BindingKind } from './api/binding.ts';
export type { DeepReadonly, Key } from './api/data-types.ts';
export type { Env, GenerateOptions, SourceOptions } from './api/environment.ts';
export {
  type Accumulator,
  type AggregateFunction,
  type BroadcastProcessFunction,
  type CheckpointedFunction,
  type Collector,
  type Context,
  type CoProcessFunction,
  type Counter,
  type Histogram,
  type InitializeContext,
  type KeyedContext,
  type KeyedProcessFunction,
  keyedProcess,
  type ListCheckpointed,
  type ListKeyedProcessFunction,
  type ListProcessFunction,
  type Metrics,
  type OneOrFactory,
  type OnTimerContext,
  type OperatorState,
  OutputTag,
  type ProcessFunction,
  type RuntimeContext,
  type SnapshotContext,
  type TimerService,
} from './api/functions.ts';
export { defineJob, type Job } from './api/job.ts';
export type { CheckpointMode, CheckpointOptions, ExternalizedCleanup } from './api/options.ts';
export type { Params } from './api/params.ts';
export {
  type ExponentialDelayOptions,
  type FailureRateOptions,
  type FixedDelayOptions,
  RestartStrategies,
  type RestartStrategy,
} from './api/restart-strategy.ts';
export { compareRowTags, type RowTag, rowTagAt } from './api/row-tag.ts';
export type {
  DetachedContext,
  DetachedSink,
  DetachedTransaction,
  ImmediateContext,
  Prepared,
  Sink,
  SinkContext,
  SinkRecovery,
  SinkWriter,
  SinkWriterContext,
  TransactionId,
} from './api/sink.ts';
export type {
  Source,
  SourceContext,
  SourceOutput,
  Split,
  SplitChange,
  SplitEvolution,
  SplitPosition,
  SplitRange,
  SplitReader,
} from './api/source.ts';
export {
  type AppendingState,
  aggregatingState,
  foldingState,
  type Handles,
  type ListState,
  listState,
  type MapState,
  mapState,
  type ReadonlyMapState,
  reducingState,
  type StateDescriptor,
  type StateOptions,
  type StateShape,
  type TtlOptions,
  type ValueState,
  valueState,
} from './api/state.ts';
export {
  DynamoDbStateBackend,
  type DynamoDbStateBackendOptions,
  FsStateBackend,
  MemoryStateBackend,
  type StateBackend,
} from './api/state-backend.ts';
export type { BroadcastConnectedStream, BroadcastStream, ConnectedStreams, DataStream, KeyedStream, SinkOptions } from './api/stream.ts';
export type {
  AppendedRow,
  BucketTarget,
  NotTaken,
  ObjectAnswer,
  QueueTarget,
  StreamPage,
  StreamRecord,
  StreamShard,
  StreamTarget,
  Targets,
} from './api/targets.ts';
export { WatermarkStrategy } from './api/watermark.ts';
export { type TimeWindow, TumblingEventTimeWindows, type WindowAssigner, type WindowedStream } from './api/window.ts';
export { type AppendSinkOptions, kinesisSink, sqsSink } from './connectors/cloud/append-sink.ts';
export { type DynamoDbSinkOptions, dynamoDbSink } from './connectors/cloud/dynamodb-sink.ts';
export { type KafkaOptions, kafka } from './connectors/cloud/kafka.ts';
export { type KinesisOptions, kinesis } from './connectors/cloud/kinesis.ts';
export type { Attributes, TableAttribute } from './connectors/cloud/rows/attributes.ts';
export { type CommitsPlace, type CommittedRow, commitsKey, committedRow } from './connectors/cloud/rows/committed-row.ts';
export { type S3SinkOptions, s3Sink } from './connectors/cloud/s3-sink.ts';
export { type SqsOptions, sqs } from './connectors/cloud/sqs.ts';
export { type CsvOptions, csv } from './connectors/formats/csv.ts';
export type {
  Decoder,
  DecoderContext,
  Encoder,
  Format,
  FormatOptions,
  InputWindow,
  MalformedRecord,
  OnError,
} from './connectors/formats/format.ts';
export { json } from './connectors/formats/json.ts';
export { jsonArray } from './connectors/formats/json-array.ts';
export { lines } from './connectors/formats/lines.ts';
export { ndjson } from './connectors/formats/ndjson.ts';
export { type CollectSink, collect } from './connectors/sinks/collect.ts';
export { type FileSinkOptions, fileSink } from './connectors/sinks/file-sink.ts';
export { type IdempotentSinkOptions, type IdentifiedRow, idempotentSink } from './connectors/sinks/idempotent.ts';
export { print } from './connectors/sinks/print.ts';
export { TwoPhaseCommitSink } from './connectors/sinks/two-phase-commit.ts';
export { GenericWriteAheadSink } from './connectors/sinks/write-ahead.ts';
export { type ByteSize, type FilesOptions, files } from './connectors/sources/files.ts';
export { type SocketOptions, socket, stdin } from './connectors/sources/streams.ts';
export type { RecordBatch } from './core/batch.ts';
export type { Duration, Unit } from './core/duration.ts';
export { isSluiceError, type Next, SluiceError } from './core/errors.ts';
export type { Origins } from './core/origins.ts';
export { average, count } from './operators/aggregates.ts';
