import { checkOptions } from '../../api/option-checks.ts';
import type { Source, SourceContext } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { ByteStreams, FileReader } from '../../core/ports.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { DecodingReader } from './decoding-reader.ts';

export interface SocketOptions<T> {
  readonly host: string;
  /** 1 to 65,535 */
  readonly port: number;
  readonly format: Format<T>;
}

/**
 * Reads records from a TCP server until it closes the connection. For trying things out: what was read since the last checkpoint is lost
 * when the job restarts, because a socket cannot be read again.
 *
 * @throws SluiceError `SOCKET_OPTIONS_INVALID` at once; while the job runs `SOCKET_FAILED` when the connection cannot be made or breaks, and
 *   what the format throws
 */
export function socket<T>(o: SocketOptions<T>): Source<T> {
  checkOptions('socket()', o, ['host', 'port', 'format']);
  checkFormat('socket()', o.format);
  if (typeof o.host !== 'string' || o.host === '') throw invalid('host is empty');
  if (!Number.isInteger(o.port) || o.port < 1 || o.port > 65_535) throw invalid(`port ${o.port} is not a whole number from 1 to 65535`);
  const name = `${o.host}:${o.port}`;
  return streamSource('socket', name, o.format, async (streams) => {
    const failed = (cause: unknown): SluiceError =>
      new SluiceError('SOCKET_FAILED', { message: `the connection to ${name} failed`, next: 'try-again', cause, address: name });
    const reader = await streams.connect({ host: o.host, port: o.port }).catch((e: unknown) => {
      throw failed(e);
    });
    return {
      read: (max) =>
        reader.read(max).catch((e: unknown) => {
          throw failed(e);
        }),
      close: () => reader.close(),
    };
  });
}

/**
 * Reads records from standard input until it ends. What was read since the last checkpoint is lost when the job restarts. A job has one
 * such source at most.
 *
 * @throws SluiceError while the job runs: what the format throws
 */
export function stdin<T>(o: { readonly format: Format<T> }): Source<T> {
  checkOptions('stdin()', o, ['format']);
  checkFormat('stdin()', o.format);
  return streamSource('stdin', 'stdin', o.format, async (streams) => streams.standardInput());
}

function streamSource<T>(kind: string, name: string, format: Format<T>, connect: (streams: ByteStreams) => Promise<FileReader>): Source<T> {
  return {
    kind,
    isRereadable: false,
    isBounded: false,
    isEager: true,
    enumerate: async (ctx) => {
      streamsOf(ctx, kind);
      return [{ id: name }];
    },
    open: (_split, from, ctx) =>
      new DecodingReader<T>({
        format,
        ctx: { file: name, linesFrom: 0, countSkipped: () => ctx.countSkipped() },
        // The stream goes on where it stands; index and line go on counting from the position.
        open: () => connect(streamsOf(ctx, kind)),
        from,
        begin: 0,
        limit: Number.POSITIVE_INFINITY,
        end: undefined,
        cutShort: () => new Error('a stream has no known end'),
      }),
  };
}

function streamsOf(ctx: SourceContext, kind: string): ByteStreams {
  if (ctx.streams !== undefined) return ctx.streams;
  throw new SluiceError('SOURCE_NOT_AVAILABLE', {
    message: `${kind}() cannot be read in this runtime: it has no sockets and no standard input`,
    next: 'fix-the-job',
    operator: ctx.uid,
  });
}

function invalid(message: string): SluiceError {
  return new SluiceError('SOCKET_OPTIONS_INVALID', { message: `socket(): ${message}`, next: 'fix-the-job' });
}
