// node-byte-streams.ts is the port of bytes from outside over Node's streams: TCP connections and standard input.

import { connect } from 'node:net';
import type { Readable } from 'node:stream';
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
  standardInput: () => readerOf(process.stdin),
};

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
