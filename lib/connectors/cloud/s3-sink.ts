// The transactional sink to a bucket: the rows of a subtask between two barriers are one object, which appears when the checkpoint has completed.
//   S1  The name of an object is chosen when its transaction is prepared, derives from the transaction, and carries the time at which the run of the
//       job began: a run that is deployed anew takes no name of an earlier one.
//   S2  Large objects are uploaded when they are prepared and completed at the commit. Small ones are put at the commit, from the rows that the runtime
//       keeps: one request and not three.
//   S3  Without rows there is no object.

import { Buffer } from 'node:buffer';
import { checkName } from '../../api/names.ts';
import { checkOptions, checkWhole } from '../../api/option-checks.ts';
import type { DetachedTransaction, Sink, SinkContext } from '../../api/sink.ts';
import type { BucketTarget, ObjectAnswer } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import { MiB } from '../../core/limits.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { fileSink } from '../sinks/file-sink.ts';
import { targetsOf } from './append-sink.ts';
import { type KeptTransaction, RowCommitWriter } from './rows/commit-writer.ts';
import { decideCommit, type Look } from './s3-commit.ts';

export interface S3SinkOptions<T> {
  readonly format: Format<T>;
  /** Size of a part of an upload, bytes; what is smaller is put as one. 5 MiB to 64 MiB, default 8 MiB. */
  readonly partBytes?: number;
}

const partBytesDefault = 8 * MiB;
const partBytesMin = 5 * MiB; // S3 refuses smaller parts, but for the last
const partBytesMax = 64 * MiB;
const partsMax = 10_000;
const requestsMax = 3; // in one commit; whoever commits comes again

/** What `start` gives. */
interface Started {
  /** When the run began, as letters. */
  readonly run: string;
}

/** What `prepare` gives: plain data. */
interface PreparedObject {
  /** `undefined`: there are no rows. */
  readonly object: string | undefined;
  readonly mark: string;
  readonly upload?: { readonly id: string; readonly parts: readonly string[] } | undefined;
}

/**
 * Writes objects to an S3 bucket: `s3Sink('out', { format: ndjson() })`. The name is bound outside the job, to a bucket and a prefix.
 *
 * An object `part-<run>-<subtask>-<checkpoint>-<generation>.<ext>` has the rows of one subtask up to one checkpoint, appears whole when this has completed,
 * and is never changed. Leave objects where they are for a day: a process that was left behind would put one that is gone there again. Uploads of
 * processes that died stay until a lifecycle rule of the bucket (`AbortIncompleteMultipartUpload`) takes them; let it wait for longer than the job may
 * stand still, since it would take what was promised too, which then is uploaded anew.
 *
 * @throws SluiceError at once: `OPTION_INVALID`, `OPTION_UNKNOWN`, `FORMAT_NOT_WRITABLE`; while the job runs: `VALUE_NOT_ENCODABLE`, `OUTPUT_CONFLICT` when somebody else's
 *   object has the name, and those of the service
 */
export function s3Sink<T>(name: string, o: S3SinkOptions<T>): Sink<T> {
  checkName('the name of s3Sink()', name);
  checkOptions('s3Sink()', o, ['format', 'partBytes']);
  const { format, partBytes = partBytesDefault } = o;
  checkFormat('s3Sink()', format);
  checkWhole('s3Sink()', 'partBytes', partBytes, partBytesMin, partBytesMax);
  format.createEncoder(); // says whether rows can be written at all
  const bucketOf = (ctx: SinkContext): BucketTarget => targetsOf(ctx, name).bucket(name);
  const placeOf = (ctx: SinkContext): Place => ({ bucket: bucketOf(ctx), format, partBytes });

  return {
    kind: 's3Sink',
    binding: { name, kinds: ['s3'] },
    toFiles: (path) => fileSink({ path, format }),
    recover: async (ctx) => {
      for (const t of ctx.promised as readonly KeptTransaction[]) await commitKept(placeOf(ctx), t);
    },
    createWriter: (ctx) => new RowCommitWriter(ctx, { prepare: () => Promise.resolve(), commit: (t) => commitKept(placeOf(ctx), t) }),
    detached: {
      kind: 'transactional',
      start: (ctx): Started => ({ run: runText(ctx.clock.now()) }),
      prepare: (ctx, t, started) => prepare(placeOf(ctx), t, started as Started),
      commit: (ctx, t, prepared) => commit(placeOf(ctx), t, prepared as PreparedObject),
      abort: async (ctx, _t, prepared) => {
        const { object, upload } = (prepared ?? {}) as Partial<PreparedObject>;
        if (object !== undefined && upload !== undefined) await bucketOf(ctx).abortUpload(object, upload.id);
      },
    },
  };
}

interface Place {
  readonly bucket: BucketTarget;
  readonly format: Format<unknown>;
  readonly partBytes: number;
}

function runText(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-:.]/g, '');
}

/**
 * Of a transaction whose rows lie in the checkpoint: nothing is at the bucket before the commit, and whoever commits again finds the object by its mark.
 */
async function commitKept(place: Place, { id, run, rows }: KeptTransaction): Promise<void> {
  const t = { id, checkpoint: id.checkpoint, timestamp: run, rows };
  const prepared = await prepare(place, t, { run: runText(run) });
  const { object, upload } = prepared;
  try {
    await commit(place, t, prepared);
  } finally {
    // Where the object is there already, or something else was in the way, the parts would stay for ever.
    if (object !== undefined && upload !== undefined) await place.bucket.abortUpload(object, upload.id).catch(() => undefined);
  }
}

async function prepare({ bucket, format, partBytes }: Place, t: DetachedTransaction<unknown>, { run }: Started): Promise<PreparedObject> {
  const { job, uid, generation, subtask } = t.id;
  const mark = `${job}/${uid}/${generation}/${subtask}/${t.checkpoint}`;
  if (t.rows.length === 0) return { object: undefined, mark };
  const object = `part-${run}-${subtask}-${String(t.checkpoint).padStart(10, '0')}-${generation}.${format.extension}`;
  const bytes = bytesOf(format, t.rows);
  if (bytes.length <= partBytes) return { object, mark };
  const size = Math.max(partBytes, Math.ceil(bytes.length / partsMax));
  const id = await bucket.beginUpload(object, mark);
  const parts: string[] = [];
  for (let from = 0; from < bytes.length; from += size)
    parts.push(await bucket.uploadPart(object, id, parts.length + 1, bytes.subarray(from, from + size)));
  return { object, mark, upload: { id, parts } };
}

async function commit({ bucket, format }: Place, t: DetachedTransaction<unknown>, { object, mark, upload }: PreparedObject): Promise<void> {
  if (object === undefined) return;
  const request = (): Promise<ObjectAnswer> =>
    upload === undefined ? bucket.putAbsent(object, bytesOf(format, t.rows), mark) : bucket.completeUpload(object, upload.id, upload.parts);
  const how = upload === undefined ? 'put' : 'upload';
  let answer: ObjectAnswer = { kind: 'done' };
  for (let tries = 0; tries < requestsMax; tries++) {
    answer = await request();
    let look: Look;
    let decision = decideCommit({ answer: answer.kind, how, look });
    if (decision === 'look') {
      look = await lookAt(bucket, object, mark);
      decision = decideCommit({ answer: answer.kind, how, look });
    }
    switch (decision) {
      case 'committed':
        return;
      case 'prepare-again':
        throw forgotten(bucket, object, answer);
      case 'foreign':
        throw conflict(bucket, object);
      case 'look':
      case 'again':
    }
  }
  throw new SluiceError('STORE_UNCERTAIN', {
    message: `${bucket.name}${object} is not committed yet: ${answer.kind}${answer.kind === 'unknown' ? ` (${answer.reason})` : ''}`,
    next: 'retry-invocation',
  });
}

async function lookAt(bucket: BucketTarget, object: string, mark: string): Promise<Look> {
  const seen = await bucket.markOf(object);
  if (seen.kind === 'absent') return 'absent';
  return seen.mark === mark ? 'ours' : 'foreign';
}

function bytesOf(format: Format<unknown>, rows: readonly unknown[]): Uint8Array {
  const encoder = format.createEncoder();
  return Buffer.from(encoder.head + rows.map((row) => encoder.encode(row)).join(''), 'utf8');
}

function forgotten({ name }: BucketTarget, object: string, { kind }: ObjectAnswer): SluiceError {
  return new SluiceError('SINK_TRANSACTION_FORGOTTEN', {
    message: `the upload of ${name}${object} cannot be completed (${kind}); it is made anew`,
    next: 'retry-invocation',
  });
}

function conflict({ name }: BucketTarget, object: string): SluiceError {
  return new SluiceError('OUTPUT_CONFLICT', {
    message: `'${name}${object}' exists and is not ours, so the object that should get this name was not made`,
    next: 'fix-the-command',
    advice: `move '${object}' away; the rows are kept, and the object is made when the checkpoint is committed again`,
    path: object,
  });
}
