// file-sink.ts is the transactional sink to a directory: what `fileSink` checks, and what an attempt does before its writers open. The
// writer is file-sink-writer.ts, names and moves are staging-directory.ts, and file-sink-detached.ts does without a writer.

import { normalize } from 'node:path';
import { checkOptions } from '../../api/option-checks.ts';
import type { Sink, SinkContext, SinkRecovery, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import { createDurableTree } from '../../core/durable-tree.ts';
import { type Duration, parseDuration } from '../../core/duration.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat, checkPath } from '../formats/format-checks.ts';
import { createDetachedFileSink, finishDetached } from './file-sink-detached.ts';
import { FileSinkWriter } from './file-sink-writer.ts';
import { claimStaging, commitParts, emptyStaging, type StagedPart, stagingPath } from './staging-directory.ts';

export interface FileSinkOptions<T> {
  /** The output directory; made when it is missing. Parts of an earlier run in it stay, new ones are numbered above them. */
  readonly path: string;
  readonly format: Format<T>;
  /** Close a part when it has this many bytes; a row is never cut. Default: only checkpoints close parts. */
  readonly rollBytes?: number;
  /** Close a part when this long has passed since its first row, looked at when rows arrive. Default: only checkpoints close parts. */
  readonly rollEvery?: Duration;
}

/**
 * Writes files `part-<subtask>-<counter>.<ext>`. They appear when the checkpoint that covers them has completed, once, and are final; in
 * each subtask the order of names is the order of rows. Everything unfinished, and every other file of ours, has a name that begins with a dot.
 *
 * In the invocation runtime the counter follows the number of the checkpoint, a part with `rollBytes` has its number in the checkpoint behind it
 * (`part-0-0000000007.000002.csv`), and `rollEvery` has no effect.
 *
 * Without checkpoints the parts appear at the end of the job. The directory must lie on one file system that has hard links.
 *
 * @throws SluiceError at once: `OPTION_UNKNOWN`, `OPTION_INVALID`, `FORMAT_NOT_WRITABLE`, `FILE_SINK_OPTIONS_INVALID`, `DURATION_INVALID`; before the job starts: `OUTPUT_NOT_WRITABLE`;
 *   while it runs: `VALUE_NOT_ENCODABLE`, `OUTPUT_CONFLICT` when a foreign file has the name of a part, `OUTPUT_TAKEN_OVER` when another run has
 *   taken over the output
 */
export function fileSink<T>(o: FileSinkOptions<T>): Sink<T> {
  checkOptions('fileSink()', o, ['path', 'format', 'rollBytes', 'rollEvery']);
  checkPath('fileSink()', o.path);
  checkFormat('fileSink()', o.format);
  if (o.path === '') throw invalid('the path is empty');
  if (o.rollBytes !== undefined && !(Number.isSafeInteger(o.rollBytes) && o.rollBytes > 0))
    throw invalid(`rollBytes ${o.rollBytes} is not a whole number of bytes above 0`);
  const rollEveryMs = o.rollEvery === undefined ? undefined : parseDuration(o.rollEvery, { name: 'rollEvery' });
  if (rollEveryMs === 0) throw invalid('rollEvery is 0; leave it out to close parts at checkpoints only');
  o.format.createEncoder(); // a format that cannot be written is found while the job is described
  return {
    kind: 'fileSink',
    target: `directory ${normalize(`${o.path}/.`)}`,
    recover: (ctx) => recover(o.path, ctx),
    createWriter: (ctx: SinkWriterContext): SinkWriter =>
      new FileSinkWriter(ctx, { path: o.path, format: o.format as Format<unknown>, rollBytes: o.rollBytes, rollEveryMs }),
    detached: createDetachedFileSink({
      path: o.path,
      format: o.format as Format<unknown>,
      rollBytes: o.rollBytes,
      rollEveryMs,
      notWritable: (ctx, cause) => notWritable(o.path, ctx, cause),
    }),
    finish: (ctx) => finish(o.path, ctx),
  };
}

/** K4: takes over what older attempts staged, commits what the checkpoint promises and deletes the rest. */
async function recover(path: string, ctx: SinkRecovery): Promise<void> {
  const staged = await claim(path, ctx);
  await commitParts(ctx.files, path, ctx.promised as readonly StagedPart[], (name) => staged.get(name));
  await emptyStaging(ctx.files, path, ctx);
}

/** Making the staging directory is also the proof that the output can be written. */
async function claim(path: string, ctx: SinkContext): Promise<ReadonlyMap<string, string>> {
  try {
    await createDurableTree(ctx.files, path);
    if ((await ctx.files.stat(path))?.kind !== 'directory') throw new Error('it is not a directory');
    return await claimStaging(ctx.files, path, ctx);
  } catch (cause) {
    throw notWritable(path, ctx, cause);
  }
}

function notWritable(path: string, ctx: SinkContext, cause: unknown): SluiceError {
  return new SluiceError('OUTPUT_NOT_WRITABLE', {
    message: `output '${path}' cannot be written`,
    next: 'fix-the-command',
    advice: 'choose a directory in which this user may create files',
    cause,
    operator: ctx.uid,
    path,
  });
}

/** The staging directory goes with the job that needed it, unless something still lies in it. */
async function finish(path: string, ctx: SinkContext): Promise<void> {
  await finishDetached(ctx.files, path, ctx);
  const own = stagingPath(path, ctx);
  if ((await ctx.files.stat(own)) === undefined || (await ctx.files.list(own)).length > 0) return;
  await ctx.files.removeTree(own);
}

function invalid(message: string): SluiceError {
  return new SluiceError('FILE_SINK_OPTIONS_INVALID', { message: `fileSink(): ${message}`, next: 'fix-the-job' });
}
