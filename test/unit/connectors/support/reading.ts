import type { OutputTag } from '../../../../lib/api/functions.ts';
import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../../../lib/api/source.ts';
import type { Format } from '../../../../lib/connectors/formats/format.ts';
import { DecodingReader } from '../../../../lib/connectors/sources/decoding-reader.ts';
import type { FileReader, FileSystem } from '../../../../lib/core/ports.ts';
import { decodeValue, encodeValue } from '../../../../lib/core/value-codec.ts';
import { fakeFileSystem } from '../../../../lib/testing/fake-file-system.ts';
import { FakeDisk, seededRandom } from '../../../../lib/testing/index.ts';

/** What a reader gave: records in order, the position behind each batch, side outputs and the number of skipped records. */
export interface Read<T> {
  readonly records: T[];
  readonly positions: SplitPosition[];
  readonly side: { readonly tag: string; readonly value: unknown }[];
}

/** Reads until the end, `max` records a call. Positions go through the codec, as through a checkpoint. */
export async function readAll<T>(reader: SplitReader<T>, max = 1024): Promise<Read<T>> {
  const read: Read<T> = { records: [], positions: [], side: [] };
  const out: SourceOutput<T> = {
    values: [],
    count: 0,
    side: <X>(tag: OutputTag<X>, value: X) => void read.side.push({ tag: tag.id, value }),
  };
  for (;;) {
    out.count = 0;
    const count = reader.poll(out, max);
    for (let i = 0; i < count; i++) read.records.push(out.values[i] as T);
    if (count > 0) read.positions.push(decodeValue(encodeValue(reader.position())) as SplitPosition);
    else if (reader.hasEnded) break;
    else await reader.ready();
  }
  await reader.close();
  return read;
}

/** A reader of given bytes, which arrive in the given chunks. */
export function readerOf<T>(
  format: Format<T>,
  chunks: readonly Uint8Array[],
  o: { readonly from?: SplitPosition | undefined; readonly onSkip?: () => void; readonly file?: string } = {},
): DecodingReader<T> {
  const bytes = Buffer.concat(chunks);
  return new DecodingReader<T>({
    format,
    ctx: { file: o.file ?? 'in.txt', linesFrom: 0, countSkipped: o.onSkip ?? (() => undefined) },
    open: async (offset) => chunkReader(chunks, offset),
    from: o.from,
    begin: 0,
    limit: bytes.length,
    end: bytes.length,
    cutShort: (read) => new Error(`cut short at ${read}`),
  });
}

function chunkReader(chunks: readonly Uint8Array[], offset: number): FileReader {
  let skip = offset;
  const left = chunks.flatMap((chunk) => {
    const from = Math.min(skip, chunk.length);
    skip -= from;
    return from === chunk.length ? [] : [chunk.subarray(from)];
  });
  return { read: async () => left.shift() ?? new Uint8Array(0), close: async () => undefined };
}

/** Cuts bytes into chunks of the given sizes, taken in turn. */
export function cut(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? bytes.length);
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  return chunks;
}

/** Records of a text in one chunk. */
export async function recordsOf<T>(format: Format<T>, text: string | Uint8Array): Promise<T[]> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return (await readAll(readerOf(format, bytes.length === 0 ? [] : [bytes]))).records;
}

/** A file system that answers at once, and the disk behind it. */
export function diskOf(contents: Readonly<Record<string, string>>): { readonly disk: FakeDisk; readonly files: FileSystem } {
  const disk = new FakeDisk();
  for (const [path, text] of Object.entries(contents)) {
    disk.makeTree(path.slice(0, path.lastIndexOf('/')) || '/', 'test');
    disk.append(disk.create(path, 'test'), Buffer.from(text));
  }
  const files = fakeFileSystem({ name: 'test', random: seededRandom(1), call: async (_method, _place, effect) => effect(1) }, disk);
  return { disk, files };
}

export function sourceContext(files: FileSystem, onSkip: () => void = () => undefined): SourceContext {
  return { job: 'job', uid: 'in', files, clock: stillClock, countSkipped: onSkip };
}

export const stillClock = { now: () => 0, sleep: () => ({ done: Promise.resolve(), cancel: () => undefined }) };

/** All records of all splits, by split. */
export async function readSource<T>(source: Source<T>, ctx: SourceContext): Promise<{ readonly split: Split; readonly records: T[] }[]> {
  const out: { split: Split; records: T[] }[] = [];
  for (const split of await source.enumerate(ctx))
    out.push({ split, records: (await readAll(source.open(split, undefined, ctx))).records });
  return out;
}
