import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { nodeByteStreams } from '../../../../lib/adapters/embedded/node-byte-streams.ts';
import type { FileReader } from '../../../../lib/core/ports.ts';

const open: { close(): void }[] = [];
afterEach(() => {
  for (const it of open.splice(0)) it.close();
});

async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function textOf(reader: FileReader, max = 1_024): Promise<string> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await reader.read(max);
    expect(piece.length).toBeLessThanOrEqual(max);
    if (piece.length === 0) return Buffer.concat(pieces).toString();
    pieces.push(piece);
  }
}

describe('a socket', () => {
  test('gives every byte in order, in pieces of the size asked for, until the server closes', async () => {
    const sent = Array.from({ length: 5_000 }, (_, i) => `line ${i}\n`).join('');
    const port = await serve((socket) => socket.end(sent));
    expect(await textOf(await nodeByteStreams.connect({ host: '127.0.0.1', port }), 100)).toBe(sent);
  });

  test('rejects when nobody listens', async () => {
    const port = await serve(() => undefined);
    open.splice(0)[0]!.close();
    await expect(nodeByteStreams.connect({ host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('a read that waits ends when the reader is closed', async () => {
    const sockets: Socket[] = [];
    const port = await serve((socket) => void sockets.push(socket));
    const reader = await nodeByteStreams.connect({ host: '127.0.0.1', port });
    const waiting = reader.read(10);
    await reader.close();
    expect(await waiting).toHaveLength(0);
    for (const socket of sockets) socket.destroy();
  });

  test('a connection that is torn down rejects the read', async () => {
    const sockets: Socket[] = [];
    const port = await serve((socket) => {
      sockets.push(socket);
      socket.write('abc');
    });
    const reader = await nodeByteStreams.connect({ host: '127.0.0.1', port });
    expect(Buffer.from(await reader.read(10)).toString()).toBe('abc');
    sockets[0]!.resetAndDestroy();
    await expect(textOf(reader)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

test('standard input gives every byte until its end', async () => {
  const module = join(import.meta.dirname, '../../../../lib/adapters/embedded/node-byte-streams.ts');
  const script = `
    import { nodeByteStreams } from ${JSON.stringify(module)};
    const reader = nodeByteStreams.standardInput();
    for (let piece = await reader.read(7); piece.length > 0; piece = await reader.read(7)) process.stdout.write(piece);
    await reader.close();
    process.stdout.write('|end');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const text = textFrom(child.stdout);
  child.stdin.write('first line\n');
  child.stdin.end('second');
  expect(await text).toBe('first line\nsecond|end');
});

test('standard input that was closed is refused when it is asked for again, instead of kept waiting for', async () => {
  const module = join(import.meta.dirname, '../../../../lib/adapters/embedded/node-byte-streams.ts');
  const script = `
    import { nodeByteStreams } from ${JSON.stringify(module)};
    const reader = nodeByteStreams.standardInput();
    await reader.read(7);
    await reader.close();
    try {
      nodeByteStreams.standardInput();
    } catch (error) {
      process.stdout.write(error.code);
    }
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const text = textFrom(child.stdout);
  child.stdin.end('first line\nsecond');
  expect(await text).toBe('SOURCE_NOT_AVAILABLE');
});

async function textFrom(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const piece of stream) text += String(piece);
  return text;
}
