import { describe, expect, test } from 'vitest';
import type { SourceContext } from '../../../../lib/api/source.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { socket, stdin } from '../../../../lib/connectors/sources/streams.ts';
import type { ByteStreams, FileReader } from '../../../../lib/core/ports.ts';
import { diskOf, readAll, sourceContext } from '../support/reading.ts';

function scripted(...chunks: readonly string[]): FileReader {
  const left = chunks.map((c) => Buffer.from(c));
  return { read: async () => left.shift() ?? new Uint8Array(0), close: async () => undefined };
}

function contextOf(streams: Partial<ByteStreams>): SourceContext {
  const none = (): never => {
    throw new Error('not expected');
  };
  return { ...sourceContext(diskOf({}).files), streams: { connect: none, standardInput: none, ...streams } };
}

describe('stdin', () => {
  test('a line is handed out as soon as it is there, and the last one at the end', async () => {
    const ctx = contextOf({ standardInput: () => scripted('a\nb', 'c\nd') });
    const source = stdin({ format: lines() });
    const [split] = await source.enumerate(ctx);
    const reader = source.open(split!, undefined, ctx);
    const out = { values: [] as (string | undefined)[], count: 0, side: () => undefined };
    reader.poll(out, 10);
    await reader.ready();
    expect(reader.poll(out, 10)).toBe(1);
    await reader.ready();
    expect(reader.poll(out, 10)).toBe(1);
    await reader.ready();
    expect(reader.poll(out, 10)).toBe(1);
    expect(out.values).toEqual(['a', 'bc', 'd']);
    expect(reader.hasEnded).toBe(true);
    expect(reader.position()).toEqual({ index: 3, at: { offset: 6, line: 4 } });
  });

  test('it is eager and cannot be read again', () => {
    expect(stdin({ format: lines() })).toMatchObject({ isEager: true, isRereadable: false });
  });

  test('after a restore it goes on with what comes, and counts on', async () => {
    const ctx = contextOf({ standardInput: () => scripted('next\n') });
    const reader = stdin({ format: lines() }).open({ id: 'stdin' }, { index: 7, at: { offset: 40, line: 8 } }, ctx);
    const { records, positions } = await readAll(reader);
    expect(records).toEqual(['next']);
    expect(positions).toEqual([{ index: 8, at: { offset: 45, line: 9 } }]);
  });

  test('a runtime without streams refuses it before the job starts', async () => {
    await expect(stdin({ format: lines() }).enumerate(sourceContext(diskOf({}).files))).rejects.toMatchObject({
      code: 'SOURCE_NOT_AVAILABLE',
    });
  });
});

describe('socket', () => {
  test('it reads until the server closes', async () => {
    const asked: unknown[] = [];
    const connect: ByteStreams['connect'] = async (p) => {
      asked.push(p);
      return scripted('a\n', 'b');
    };
    const ctx = contextOf({ connect });
    const source = socket({ host: 'localhost', port: 9_000, format: lines() });
    expect((await readAll(source.open({ id: 'x' }, undefined, ctx))).records).toEqual(['a', 'b']);
    expect(asked).toEqual([{ host: 'localhost', port: 9_000 }]);
  });

  test('a connection that fails or breaks is SOCKET_FAILED with its address', async () => {
    const refused = new Error('ECONNREFUSED');
    const source = socket({ host: 'localhost', port: 9_000, format: lines() });
    const cannot = contextOf({ connect: () => Promise.reject(refused) });
    await expect(readAll(source.open({ id: 'x' }, undefined, cannot))).rejects.toMatchObject({
      code: 'SOCKET_FAILED',
      cause: refused,
      details: { address: 'localhost:9000' },
    });
    const breaks = contextOf({ connect: async () => ({ read: () => Promise.reject(refused), close: async () => undefined }) });
    await expect(readAll(source.open({ id: 'x' }, undefined, breaks))).rejects.toMatchObject({ code: 'SOCKET_FAILED' });
  });

  test.each([[0], [65_536], [1.5], [Number.NaN]])('port %d is refused at once', (port) => {
    expect(() => socket({ host: 'h', port, format: lines() })).toThrow(expect.objectContaining({ code: 'SOCKET_OPTIONS_INVALID' }));
  });
});
