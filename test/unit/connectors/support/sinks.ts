import type { Prepared, Sink, SinkContext, SinkWriter } from '../../../../lib/api/sink.ts';
import type { RecordBatch } from '../../../../lib/core/batch.ts';
import type { FileSystem } from '../../../../lib/core/ports.ts';
import { decodeValue, encodeValue } from '../../../../lib/core/value-codec.ts';
import type { FakeDisk } from '../../../../lib/testing/index.ts';
import { diskOf, stillClock } from './reading.ts';

export function batch(...rows: readonly unknown[]): RecordBatch {
  return { values: [...rows], count: rows.length, keys: undefined, timestamps: undefined };
}

/** What a checkpoint keeps of a sink: one entry for each subtask, as bytes, so that only plain data survives. */
export interface KeptSink {
  readonly checkpoint: number;
  readonly states: readonly Uint8Array[];
  readonly transactions: readonly Uint8Array[];
}

export const nothingKept: KeptSink = { checkpoint: 0, states: [], transactions: [] };

export function keep(checkpoint: number, prepared: readonly Prepared[]): KeptSink {
  return {
    checkpoint,
    states: prepared.map((p) => encodeValue(p.state)),
    transactions: prepared.flatMap((p) => p.transactions.map(encodeValue)),
  };
}

export interface AttemptOptions {
  readonly uid?: string;
  readonly files?: FileSystem;
  readonly generation?: number;
  readonly parallelism?: number;
  readonly from?: KeptSink;
  readonly abandoned?: readonly unknown[];
  readonly report?: (line: string) => void;
  readonly print?: (line: string) => void;
  readonly now?: () => number;
  /** Collects what writers note when they begin a transaction. */
  readonly noted?: { readonly after: number; readonly transaction: unknown }[];
}

/** One attempt as the runtime runs it: recover once, then open the writers. */
export async function attempt(create: () => Sink<never>, o: AttemptOptions = {}): Promise<readonly SinkWriter[]> {
  const from = o.from ?? nothingKept;
  const ctx: SinkContext = {
    job: 'late-flights',
    uid: o.uid ?? 'out',
    generation: o.generation ?? 1,
    files: o.files ?? diskOf({}).files,
    clock: { ...stillClock, now: o.now ?? (() => 0) },
    report: o.report ?? (() => undefined),
    print: o.print ?? (() => undefined),
  };
  await create().recover({ ...ctx, promised: from.transactions.map(decodeValue), abandoned: o.abandoned ?? [] });
  const writers: SinkWriter[] = [];
  for (let subtask = 0; subtask < (o.parallelism ?? 1); subtask++) {
    const writer = create().createWriter({
      ...ctx,
      subtask,
      parallelism: o.parallelism ?? 1,
      restoredCheckpoint: from.checkpoint,
      restoredStates: from.states.map(decodeValue),
      note: (after, transaction) => Promise.resolve(o.noted?.push({ after, transaction })).then(() => undefined),
    });
    await writer.open();
    writers.push(writer);
  }
  return writers;
}

export function contextOfGeneration(files: FileSystem, generation: number): SinkContext {
  return { job: 'late-flights', uid: 'out', generation, files, clock: stillClock, report: () => undefined, print: () => undefined };
}

/** Names of visible files, in order. */
export function visible(disk: FakeDisk, directory = '/out'): readonly string[] {
  return disk.stat(directory) === undefined ? [] : disk.list(directory).flatMap((e) => (e.name.startsWith('.') ? [] : [e.name]));
}

/** The text of all visible files, joined in name order. */
export function joinedText(disk: FakeDisk, directory = '/out'): string {
  return visible(disk, directory)
    .map((name) => disk.text(`${directory}/${name}`))
    .join('');
}

/** Files of ours that are not visible. */
export function hidden(disk: FakeDisk, directory = '/out'): readonly string[] {
  return disk.walk(directory).filter((path) => path.slice(directory.length).includes('/.'));
}
