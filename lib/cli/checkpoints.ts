// `sluice checkpoints list|show`: what checkpoints there are, and what one holds. Both only read, so they may be called beside a run.
import { nodeFileSystem } from '../adapters/embedded/node-file-system.ts';
import type { CheckpointMetadata, OperatorHandle } from '../checkpoint/handles.ts';
import { stateBytesOf } from '../checkpoint/handles.ts';
import {
  type CheckpointSummary,
  checkpointDirectoryOf,
  loadCheckpoint,
  listCheckpoints as readCheckpoints,
  readMetadata,
} from '../checkpoint/reading.ts';
import { type CheckpointPlace, findCheckpointPlace } from './checkpoint-place.ts';
import type { Call, Command } from './commands.ts';
import { findInvocationsJob } from './invocations-job.ts';
import { bytesText, countText, spanText } from './progress.ts';
import { tableText } from './table.ts';
import { timeText } from './time-text.ts';

export const listCheckpoints: Command = async (call) => {
  const { output } = call;
  const told = await ofInvocations(call, 'tellCheckpoints');
  if (told !== undefined) return told;
  const summaries = await whileItMoves(async () => summariesAt(await findCheckpointPlace(call)));
  const oldestFirst = [...summaries].reverse();
  if (oldestFirst.length === 0) output.text('no completed checkpoint');
  else output.text(tableText(['number', 'trigger', 'taken', 'duration', 'size', 'path'], oldestFirst.map(rowOf), [0, 3, 4]));
  for (const { checkpoint, problem } of oldestFirst) if (problem !== undefined) output.text(`${checkpoint} is damaged: ${problem.message}`);
  output.object({ job: oldestFirst.at(-1)?.metadata?.job, state: 'done', checkpoints: oldestFirst.map(summaryFields) });
  return 0;
};

/** The answer when the call means a job of `--runtime invocations`. */
async function ofInvocations(call: Call, tell: 'tellCheckpoints' | 'tellCheckpoint'): Promise<number | undefined> {
  const opened = await findInvocationsJob(call);
  if (opened === undefined) return undefined;
  try {
    return await (await import('./invocation-checkpoints.ts'))[tell](opened, call.output);
  } finally {
    opened.close();
  }
}

async function summariesAt(place: CheckpointPlace): Promise<readonly CheckpointSummary[]> {
  if (!place.isSingle) return await readCheckpoints(nodeFileSystem, place.path);
  const metadata = await readMetadata(nodeFileSystem, place.path);
  return [{ checkpoint: metadata.checkpoint, path: place.path, metadata, bytes: stateBytesOf(metadata.subtasks), problem: undefined }];
}

function rowOf({ checkpoint, path, metadata, bytes }: CheckpointSummary): readonly string[] {
  if (metadata === undefined) return [String(checkpoint), 'damaged', '', '', '', path];
  return [String(checkpoint), metadata.trigger, timeText(metadata.timestamp), spanText(metadata.durationMs), bytesText(bytes), path];
}

function summaryFields({ checkpoint, path, metadata, bytes, problem }: CheckpointSummary): Readonly<Record<string, unknown>> {
  if (metadata === undefined) return { checkpoint, path, isDamaged: true, problem: problem?.message };
  const { trigger, timestamp, durationMs, isFinished, mode, backend, generation } = metadata;
  return { checkpoint, trigger, timestamp, durationMs, bytes, isFinished, mode, backend, generation, path };
}

export const showCheckpoint: Command = async (call) => {
  const { output } = call;
  const told = await ofInvocations(call, 'tellCheckpoint');
  if (told !== undefined) return told;
  const { metadata, directory } = await whileItMoves(async () => {
    const place = await findCheckpointPlace(call);
    return await loadCheckpoint(nodeFileSystem, await checkpointDirectoryOf(nodeFileSystem, place.path));
  });
  const { job, checkpoint, trigger, timestamp, durationMs, mode, backend, generation, isFinished, planHash } = metadata;
  const bytes = stateBytesOf(metadata.subtasks);
  const operators = operatorsOf(metadata);
  output.text(
    [
      `checkpoint ${checkpoint} of ${job}${isFinished ? ', which had finished' : ''}`,
      `  trigger   ${trigger}`,
      `  taken     ${timeText(timestamp)}`,
      `  duration  ${spanText(durationMs)}`,
      `  size      ${bytesText(bytes)}`,
      `  mode      ${mode}, ${backend} backend, generation ${generation}`,
      `  path      ${directory}`,
      '',
      tableText(
        ['operator', 'subtasks', 'size', 'state'],
        operators.map((o) => [o.uid, String(o.parallelism), bytesText(o.bytes), contentText(o)]),
        [1, 2],
      ),
    ].join('\n'),
  );
  output.object({
    job,
    state: 'done',
    checkpoint,
    trigger,
    timestamp,
    durationMs,
    bytes,
    mode,
    backend,
    generation,
    isFinished,
    planHash,
    path: directory,
    operators,
  });
  return 0;
};

interface OperatorReport {
  readonly uid: string;
  readonly name: string;
  readonly parallelism: number;
  readonly maxParallelism: number;
  readonly bytes: number;
  /** The same of each subtask. */
  readonly subtasks: readonly { readonly subtask: number; readonly bytes: number }[];
  readonly keyed: readonly { readonly name: string; readonly kind: string; readonly version: number }[];
  readonly keyGroups: number;
  /** Operator state, its elements added up over the subtasks. */
  readonly lists: readonly { readonly name: string; readonly redistribution: string; readonly elements: number }[];
  readonly pendingTransactions: number;
}

/** What a checkpoint holds of each operator, over all its subtasks. */
function operatorsOf(metadata: CheckpointMetadata): readonly OperatorReport[] {
  return metadata.operators.map(({ uid, name, parallelism, maxParallelism }) => {
    const parts = metadata.subtasks.flatMap(({ subtask, operators }) =>
      operators.filter((operator) => operator.uid === uid).map((handle) => ({ subtask, handle })),
    );
    const handles = parts.map(({ handle }) => handle);
    const keyed = new Map(handles.flatMap((h) => h.keyed?.states ?? []).map((state) => [state.name, state] as const));
    const lists = new Map<string, { readonly name: string; readonly redistribution: string; readonly elements: number }>();
    for (const { name: list, redistribution, count } of handles.flatMap((h) => h.lists)) {
      lists.set(list, { name: list, redistribution, elements: (lists.get(list)?.elements ?? 0) + count });
    }
    return {
      uid,
      name,
      parallelism,
      maxParallelism,
      bytes: sum(handles, bytesOf),
      subtasks: parts.map(({ subtask, handle }) => ({ subtask, bytes: bytesOf(handle) })),
      keyed: [...keyed.values()].map((state) => ({ name: state.name, kind: state.kind, version: state.version })),
      keyGroups: sum(handles, (h) => h.keyed?.groups.length ?? 0),
      lists: [...lists.values()],
      pendingTransactions: sum(handles, (h) => h.sink?.transactions.length ?? 0),
    };
  });
}

function bytesOf({ place, sink, accumulators }: OperatorHandle): number {
  const own = place.kind === 'file' ? place.length : place.kind === 'inline' ? place.bytes.byteLength : 0;
  const ofSink = sink === undefined ? 0 : sink.state.byteLength + sum(sink.transactions, (t) => t.byteLength);
  return own + ofSink + sum(accumulators, (a) => a.value.byteLength);
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

function contentText({ keyed, keyGroups, lists, pendingTransactions }: OperatorReport): string {
  const parts = keyed.map(({ name, kind }) => `${name} (${kind})`);
  if (keyed.length > 0) parts.push(`in ${keyGroups} key groups`);
  for (const { name, redistribution, elements } of lists) parts.push(`${name} (${redistribution}, ${counted(elements, 'element')})`);
  if (pendingTransactions > 0) parts.push(`${counted(pendingTransactions, 'transaction')} to commit`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/** A run that restarts gives the directory another name; who reads beside it looks again where it is now. */
async function whileItMoves<T>(read: () => Promise<T>): Promise<T> {
  const looksMax = 3;
  for (let look = 1; ; look++) {
    try {
      return await read();
    } catch (error) {
      if (look === looksMax || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

function counted(n: number, thing: string): string {
  return `${countText(n)} ${thing}${n === 1 ? '' : 's'}`;
}
