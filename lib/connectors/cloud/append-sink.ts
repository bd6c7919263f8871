// Sinks whose target is only appended to. Rows are sent when the entry that made them is committed, and again by whoever delivers it again; under an
// identity, by which a target that looks for it drops what it has.

import { checkName } from '../../api/names.ts';
import { checkFunction, checkOptions } from '../../api/option-checks.ts';
import type { Sink, SinkContext } from '../../api/sink.ts';
import type { AppendedRow, NotTaken, Targets } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import { MiB } from '../../core/limits.ts';
import type { Encoder, Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { json } from '../formats/json.ts';
import { fileSink } from '../sinks/file-sink.ts';
import { idempotentSink } from '../sinks/idempotent.ts';
import { type AppendLimits, checkAppended, checkMessageText, RowAppender, rowId } from './append-rows.ts';

export interface AppendSinkOptions<T> {
  /** How a row lies in a message. Default `json()`. */
  readonly format?: Format<T>;
  /** Rows of one key arrive in order: the message group of a FIFO queue, the partition key of a stream. Default: each row on its own. */
  readonly key?: (row: T) => string;
}

/**
 * Sends rows to an SQS queue: `sqsSink('orders', { key: (o) => o.user })`. The name is bound outside the job.
 *
 * A FIFO queue drops rows that it got in the last five minutes, so that a crash repeats none within this time; a standard queue may get rows twice after a
 * crash or a restore. Rows of different subtasks have no order. A row is known by the name of the job and what it was made of, so a queue takes rows of
 * two jobs of one name for repeats of each other.
 *
 * @throws SluiceError at once: `OPTION_INVALID`, `OPTION_UNKNOWN`; while the job runs: `RECORD_TOO_LARGE` above 1 MiB, `VALUE_NOT_ENCODABLE`,
 *   `SINK_NOT_WRITTEN`
 */
export function sqsSink<T>(name: string, o: AppendSinkOptions<T> = {}): Sink<T> {
  return appendSink(name, o, {
    kind: 'sqsSink',
    bindingKind: 'sqs',
    limits: { rowsMax: 10, bytesMax: MiB, rowBytesMax: MiB },
    checkText: checkMessageText,
    sendTo: (targets) => {
      const queue = targets.queue(name);
      return (rows) => queue.send(rows);
    },
  });
}

/**
 * Appends rows to a Kinesis stream: `kinesisSink('clicks', { key: (c) => c.user })`. The name is bound outside the job.
 *
 * A stream drops nothing: rows may be there twice after a crash or a restore. Rows of different subtasks have no order.
 *
 * @throws SluiceError at once: `OPTION_INVALID`, `OPTION_UNKNOWN`; while the job runs: `RECORD_TOO_LARGE` above 1 MiB, `VALUE_NOT_ENCODABLE`,
 *   `SINK_NOT_WRITTEN`
 */
export function kinesisSink<T>(name: string, o: AppendSinkOptions<T> = {}): Sink<T> {
  return appendSink(name, o, {
    kind: 'kinesisSink',
    bindingKind: 'kinesis',
    limits: { rowsMax: 500, bytesMax: 5 * MiB, rowBytesMax: MiB },
    sendTo: (targets) => {
      const stream = targets.stream(name);
      return (rows) => stream.append(rows);
    },
  });
}

interface AppendTarget {
  readonly kind: 'sqsSink' | 'kinesisSink';
  readonly bindingKind: 'sqs' | 'kinesis';
  readonly limits: AppendLimits;
  /** @throws SluiceError of a text that the target takes from nobody */
  readonly checkText?: (shown: string, text: string) => void;
  readonly sendTo: (targets: Targets) => (rows: readonly AppendedRow[]) => Promise<readonly NotTaken[]>;
}

function appendSink<T>(name: string, o: AppendSinkOptions<T>, { kind, bindingKind, limits, checkText, sendTo }: AppendTarget): Sink<T> {
  checkName(`the name of ${kind}()`, name);
  checkOptions(`${kind}()`, o, ['format', 'key']);
  const format = o.format ?? json<T>();
  checkFormat(`${kind}()`, format);
  if (o.key !== undefined) checkFunction(`${kind}(): key`, o.key);
  const shown = `${kind}('${name}')`;
  const rowOf = (id: string, value: T, encoder: Encoder<T>): AppendedRow => ({
    ...{ id, key: o.key === undefined ? id : keyOf(shown, o.key(value)), body: encoder.encode(value).replace(/\r?\n$/, '') },
  });

  const into = (ctx: SinkContext): Sink<T> => {
    const encoder = format.createEncoder();
    const appender = new RowAppender(shown, limits, sendTo(targetsOf(ctx, name)));
    return idempotentSink<T>({
      write: async (rows) =>
        appender.append(
          rows,
          rows.map(({ id, value }) => rowOf(rowId(ctx.job, id), value, encoder)),
        ),
    });
  };
  return {
    kind,
    binding: { name, kinds: [bindingKind] },
    needsRowIdentity: true,
    // What is committed is sent until it is there, and nothing goes before it: a row that can never be sent is refused when the job makes it.
    check: (value) => {
      const row = rowOf(rowId('', ''), value, format.createEncoder());
      checkAppended(shown, row, limits);
      checkText?.(shown, row.body);
    },
    toFiles: (path) => fileSink({ path, format }),
    recover: () => undefined,
    createWriter: (ctx) => into(ctx).createWriter(ctx),
    detached: {
      kind: 'immediate',
      write: (ctx, rows) => {
        const { detached } = into(ctx);
        return detached?.kind === 'immediate' ? detached.write(ctx, rows) : undefined;
      },
    },
  };
}

const keyCharactersMax = 128; // of a message group; a partition key may be twice as long

function keyOf(shown: string, key: unknown): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= keyCharactersMax) return key;
  throw new SluiceError('OPTION_INVALID', {
    message: `${shown}: key gives a text of 1 to ${keyCharactersMax} characters, not ${typeof key === 'string' ? `one of ${key.length}` : String(key)}`,
    next: 'fix-the-job',
  });
}

export function targetsOf({ targets, uid }: Pick<SinkContext, 'targets' | 'uid'>, name: string): Targets {
  if (targets !== undefined) return targets;
  throw new SluiceError('BIND_MISSING', {
    message: `the sink '${name}' is bound to nothing`,
    next: 'fix-the-command',
    advice: `give a directory for its rows, --bind ${name}=DIRECTORY, or deploy the job with a target of that name in bind`,
    operator: uid,
  });
}
