// node-byte-streams.ts is the port of bytes from outside over Node's streams: TCP connections and standard input.

import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { SluiceError } from '../../core/errors.ts';
import type { ByteStreams, FileReader } from '../../core/ports.ts';

export const nodeByteStreams: ByteStreams = {
  connect: ({ host, port }) =>
    new Promise((resolve, reject) => {
      const connection = connect({ host, port });
      connection.once('error', reject);
      connection.once('connect', () => {
        connection.off('error', reject);
        resolve(readerOf(connection));
      });
    }),
  standardInput: () => {
    const { stdin } = process;
    // Its events are over: nobody would ever hear of them. An end would be a lie, for what was left in the pipe is gone.
    if (stdin.destroyed || stdin.readableEnded) throw readBefore();
    return readerOf(stdin);
  },
};

function readBefore(): SluiceError {
  return new SluiceError('SOURCE_NOT_AVAILABLE', {
    message: 'standard input was read before by this process, and what it held cannot be read again',
    next: 'fix-the-command',
    advice: 'mend what the job failed with before, and give it its input again; from a file it could read again by itself',
  });
}

/** Reads a stream piece by piece. The stream is paused while nobody reads, so a slow job slows its sender down. */
function readerOf(stream: Readable): FileReader {
  let failure: unknown;
  let isDone = false;
  let wake = (): void => {};
  const finish = (error?: unknown): void => {
    failure ??= error;
    isDone = true;
    wake();
  };
  stream.on('error', finish);
  stream.on('end', () => finish());
  stream.on('close', () => finish());
  stream.on('readable', () => wake());
  return {
    async read(max) {
      for (;;) {
        const chunk: Uint8Array | null = stream.read(Math.min(max, stream.readableLength)) ?? stream.read();
        if (chunk !== null && chunk.length > 0) return chunk;
        if (failure !== undefined) throw failure;
        if (isDone) return new Uint8Array(0);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async close() {
      finish();
      stream.destroy();
    },
  };
}
