// Puts the subtasks of an attempt together: hosts, channels between them, source drivers and sink writers.
//   M1  Inputs are checked (enumerated) and sinks settled before any user function opens.
//   M2  When one subtask cannot be opened, whatever was opened before it is given up.
//   M3  A channel exists exactly for the pairs of subtasks that routing can reach.

import type { Sink, SinkContext, SinkWriterContext } from '../../api/sink.ts';
import type { Source, SourceContext, Split } from '../../api/source.ts';
import type { Announcement } from '../../checkpoint/announcements.ts';
import type { SubtaskRestore } from '../../checkpoint/snapshot.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { Exchange, Plan, PlannedOperator, Stage } from '../../graph/plan.ts';
import { SourceOperator } from '../../operators/source-operator.ts';
import { Alignment } from '../../runtime/alignment.ts';
import { OperatorHost } from '../../runtime/host.ts';
import { SubtaskMetrics } from '../../runtime/metrics.ts';
import { reachableTargets } from '../../runtime/routing.ts';
import { sourceOrigin } from '../../runtime/source-progress.ts';
import { WatermarkValve } from '../../runtime/watermarks.ts';
import type { KeyedStateFactory } from '../../state/backend.ts';
import { Channel } from './channel.ts';
import { type Discardable, discardAll } from './discard.ts';
import { InputGate } from './input-gate.ts';
import type { EmbeddedPorts } from './run-types.ts';
import { SinkDriver, sinkFailed } from './sink-driver.ts';
import { freshSplits, SourceDriver, type StoredSplit, splitsOf } from './source-driver.ts';
import type { SourceReservations } from './source-reservations.ts';
import { Subtask, type SubtaskServices } from './subtask.ts';

export interface Assembly {
  readonly plan: Plan;
  readonly ports: EmbeddedPorts;
  readonly generation: number;
  /** When the attempt began, ms. */
  readonly begunMs: number;
  readonly createKeyedState: KeyedStateFactory;
  readonly isAligned: boolean;
  /** The checkpoint restored, 0 when none. */
  readonly restoredCheckpoint: number;
  readonly restoreOf: (stage: number, subtask: number) => SubtaskRestore | undefined;
  /** Encoded transactions to commit and to abort, by sink uid. */
  readonly promised: ReadonlyMap<string, readonly Uint8Array[]>;
  readonly abandoned: ReadonlyMap<string, readonly Uint8Array[]>;
  /** Never rejects. */
  readonly noteTransaction: (after: number, note: Announcement) => Promise<void>;
  readonly print: (line: string) => void;
  readonly report: (line: string) => void;
  readonly count: (counter: string, by: number) => void;
  readonly countLost: (split: string, from: number, to: number) => void;
  /** AT_MOST_ONCE: the reservations of one source subtask. */
  readonly reservationsOf: (stage: number, subtask: number) => SourceReservations | undefined;
  readonly servicesOf: (stage: Stage, subtask: number) => SubtaskServices;
}

export interface Assembled {
  readonly subtasks: readonly Subtask[];
  /** Called once when every writer has committed and closed. */
  readonly tidy: () => Promise<void>;
}

export async function assemble(assembly: Assembly): Promise<Assembled> {
  const { plan } = assembly;
  const splits = await enumerateSources(assembly);
  const sinks = createSinks(plan);
  await recoverSinks(assembly, sinks);
  const channels = new ChannelTable(plan);
  const subtasks: Subtask[] = [];
  const opened: Discardable[] = [];
  try {
    for (const stage of plan.stages) {
      for (let index = 0; index < stage.parallelism; index++)
        subtasks.push(await assembleSubtask(assembly, stage, index, { channels, splits, sinks, opened }));
    }
  } catch (error) {
    await discardAll(opened);
    throw error;
  }
  return { subtasks, tidy: () => tidySinks(assembly, sinks) };
}

/** Keeps the promises of the restored checkpoint and tidies, for a job that has nothing left to run. */
export async function settleSinks(assembly: Assembly): Promise<void> {
  const sinks = createSinks(assembly.plan);
  await recoverSinks(assembly, sinks);
  await tidySinks(assembly, sinks);
}

interface Shared {
  readonly channels: ChannelTable;
  /** By stage. */
  readonly splits: ReadonlyMap<number, readonly Split[]>;
  readonly sinks: SinkTable;
  readonly opened: Discardable[];
}

async function assembleSubtask(assembly: Assembly, stage: Stage, subtask: number, shared: Shared): Promise<Subtask> {
  const { channels, splits, sinks, opened } = shared;
  const { plan, ports, createKeyedState } = assembly;
  const services = assembly.servicesOf(stage, subtask);
  const restore = assembly.restoreOf(stage.id, subtask);
  const metrics = new SubtaskMetrics();
  const host = new OperatorHost({
    stage,
    subtask,
    stages: plan.stages,
    createKeyedState,
    metrics,
    random: ports.random,
    now: services.now,
    restore,
  });
  const writers = new Map<number, SinkDriver>();
  opened.push({ host, sinks: writers, source: undefined }); // a source opens with its first record
  await host.open();
  const inputs = channels.inputsOf(stage, subtask);
  const alignment = new Alignment(inputs.length, assembly.isAligned);
  for (const operator of stage.operators) {
    if (operator.node.operator.kind !== 'sink') continue;
    const driver = createWriter(assembly, stage, operator, subtask, sinks, restore);
    writers.set(operator.index, driver);
    await toldOfSink(operator.uid, 'open', () => driver.writer.open());
  }
  const source = createSourceDriver(assembly, stage, subtask, host, splits.get(stage.id) ?? []);
  return new Subtask(
    {
      host,
      metrics,
      source,
      gate: new InputGate(inputs, alignment),
      alignment,
      valve: new WatermarkValve(inputs.length),
      outputs: channels.outputsOf(stage, subtask),
      sinks: writers,
    },
    services,
  );
}

class ChannelTable {
  readonly #channels = new Map<string, Channel>();
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
    for (const stage of plan.stages) {
      for (const exchange of stage.outlets) {
        for (let from = 0; from < stage.parallelism; from++) {
          for (const to of this.#targets(exchange, from)) this.#channels.set(key(exchange.id, from, to), new Channel(exchange.input));
        }
      }
    }
  }

  outputsOf(stage: Stage, subtask: number): readonly ReadonlyMap<number, Channel>[] {
    return stage.outlets.map(
      (exchange) => new Map(this.#targets(exchange, subtask).map((to) => [to, this.#at(exchange.id, subtask, to) as Channel])),
    );
  }

  inputsOf(stage: Stage, subtask: number): readonly Channel[] {
    return stage.inputs.flatMap((exchange) => {
      const from = this.#plan.stages[exchange.fromStage] as Stage;
      return Array.from({ length: from.parallelism }, (_, sender) => this.#at(exchange.id, sender, subtask)).filter(
        (channel) => channel !== undefined,
      );
    });
  }

  #targets(exchange: Exchange, subtask: number): readonly number[] {
    const from = this.#plan.stages[exchange.fromStage] as Stage;
    const to = this.#plan.stages[exchange.toStage] as Stage;
    return reachableTargets(exchange, subtask, from.parallelism, to.parallelism);
  }

  #at(exchange: number, from: number, to: number): Channel | undefined {
    return this.#channels.get(key(exchange, from, to));
  }
}

function key(exchange: number, from: number, to: number): string {
  return `${exchange}/${from}/${to}`;
}

// Sources

function sourceOf(stage: Stage): { readonly operator: PlannedOperator; readonly source: Source<unknown> } | undefined {
  const operator = stage.operators[0];
  return operator?.node.operator.kind === 'source' ? { operator, source: operator.node.operator.source } : undefined;
}

function sourceContext(assembly: Assembly, uid: string): SourceContext {
  const { plan, ports, count } = assembly;
  return { job: plan.job, uid, files: ports.files, clock: ports.clock, streams: ports.streams, countSkipped: () => count('skipped', 1) };
}

async function enumerateSources(assembly: Assembly): Promise<ReadonlyMap<number, readonly Split[]>> {
  const splits = new Map<number, readonly Split[]>();
  for (const stage of assembly.plan.stages) {
    const head = sourceOf(stage);
    if (head === undefined || hasStoredSplits(assembly.restoreOf(stage.id, 0), head.operator.uid)) continue;
    splits.set(stage.id, await head.source.enumerate(sourceContext(assembly, head.operator.uid)));
  }
  return splits;
}

function hasStoredSplits(restore: SubtaskRestore | undefined, uid: string): boolean {
  return restore?.operators.some((operator) => operator.uid === uid && operator.lists.length > 0) ?? false;
}

function createSourceDriver(
  assembly: Assembly,
  stage: Stage,
  subtask: number,
  host: OperatorHost,
  fresh: readonly Split[],
): SourceDriver | undefined {
  const head = sourceOf(stage);
  const operator = host.operators[0];
  if (head === undefined || !(operator instanceof SourceOperator) || head.operator.node.operator.kind !== 'source') return undefined;
  const { uid } = head.operator;
  const stored = operator.restoredPositions() as readonly StoredSplit[];
  const splits = splitsOf(stored.length > 0 ? stored : freshSplits(fresh), subtask, stage.parallelism);
  const driver = new SourceDriver(
    {
      source: head.source,
      context: sourceContext(assembly, uid),
      watermarks: head.operator.node.operator.watermarks,
      side: (tag, value, cause) => host.emitSide(tag, value, Number.NEGATIVE_INFINITY, cause),
      origins: head.operator.carriesOrigins === true ? sourceOrigin(uid, head.source, assembly.generation) : undefined,
      reservations: assembly.reservationsOf(stage.id, subtask),
      countLost: assembly.countLost,
    },
    splits,
  );
  operator.positions = () => driver.stored();
  return driver;
}

// Sinks: subtask 0's object of each sink settles what earlier attempts left.

type SinkTable = ReadonlyMap<string, readonly Sink<unknown>[]>;

function createSinks(plan: Plan): SinkTable {
  const table = new Map<string, readonly Sink<unknown>[]>();
  for (const stage of plan.stages) {
    for (const { uid, node } of stage.operators) {
      const spec = node.operator;
      if (spec.kind === 'sink')
        table.set(
          uid,
          Array.from({ length: stage.parallelism }, () => spec.create()),
        );
    }
  }
  return table;
}

function sinkContext(assembly: Assembly, uid: string): SinkContext {
  const { plan, ports, generation, begunMs, print, report } = assembly;
  return { job: plan.job, uid, generation, begunMs, files: ports.files, clock: ports.clock, targets: ports.targets, print, report };
}

async function recoverSinks(assembly: Assembly, sinks: SinkTable): Promise<void> {
  for (const [uid, [first]] of sinks) {
    const promised = (assembly.promised.get(uid) ?? []).map(decodeValue);
    const abandoned = (assembly.abandoned.get(uid) ?? []).map(decodeValue);
    await toldOfSink(uid, 'recover', () => first?.recover({ ...sinkContext(assembly, uid), promised, abandoned }));
  }
}

async function tidySinks(assembly: Assembly, sinks: SinkTable): Promise<void> {
  for (const [uid, [first]] of sinks) await toldOfSink(uid, 'finish', () => first?.finish?.(sinkContext(assembly, uid)));
}

async function toldOfSink(uid: string, method: string, call: () => void | Promise<void> | undefined): Promise<void> {
  try {
    await call();
  } catch (cause) {
    throw sinkFailed(uid, method, cause);
  }
}

function createWriter(
  assembly: Assembly,
  stage: Stage,
  { uid }: PlannedOperator,
  subtask: number,
  sinks: SinkTable,
  restore: SubtaskRestore | undefined,
): SinkDriver {
  const restored = restore?.operators.find((operator) => operator.uid === uid);
  const context: SinkWriterContext = {
    ...sinkContext(assembly, uid),
    subtask,
    parallelism: stage.parallelism,
    restoredCheckpoint: assembly.restoredCheckpoint,
    note: (after, transaction) =>
      assembly.noteTransaction(after, { stage: stage.id, subtask, uid, transactions: [encodeValue(transaction)] }),
    restoredStates: restored?.sinkStates.map(decodeValue) ?? [],
  };
  const sink = sinks.get(uid)?.[subtask] as Sink<unknown>;
  return new SinkDriver(uid, sink.createWriter(context));
}
