import { checkOptions } from '../../api/option-checks.ts';
import type { Source, SourceContext, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import { formatBytes, KiB, MiB } from '../../core/limits.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat, checkPath } from '../formats/format-checks.ts';
import { DecodingReader } from './decoding-reader.ts';
import { findInput, type InputFile } from './input-paths.ts';

type SizeUnit = 'B' | 'KiB' | 'MiB' | 'GiB';
/** Bytes as a number, or as text such as `'64 MiB'`. */
export type ByteSize = number | `${number} ${SizeUnit}`;

export interface FilesOptions<T> {
  /** A file, a directory (all files below it; names that begin with `.` or `_` are skipped) or a pattern with `*` and `?`. */
  readonly path: string;
  readonly format: Format<T>;
  /**
   * Cut files into byte ranges that are read in parallel; `ndjson` and `lines` only. A range owns the lines that begin in it, and order
   * holds within a range. Default: a file is one split. At least 64 KiB.
   */
  readonly splitSize?: ByteSize;
}

/** Smaller ranges would spend their time on opening files. */
export const splitBytesMin: number = 64 * KiB;

interface FileSplit extends Split {
  readonly path: string;
  readonly begin: number;
  /** Behind the range. */
  readonly limit: number;
  /** Size of the file when the job began; what is appended later is not read. */
  readonly bytes: number;
}

/**
 * Reads files once, from the first record to the last. The list of files and their sizes are taken when the job first starts and kept in
 * its checkpoints: files that appear or grow later belong to another run, and one that has shrunk is an error.
 *
 * @throws SluiceError `SPLIT_SIZE_INVALID`, `OPTION_UNKNOWN`, `OPTION_INVALID` at once; `INPUT_NOT_FOUND` before any work starts; while the job runs `INPUT_CHANGED` for a file that is
 *   gone or shorter than it was, and what the format throws
 */
export function files<T>(o: FilesOptions<T>): Source<T> {
  checkOptions('files()', o, ['path', 'format', 'splitSize']);
  checkPath('files()', o.path);
  checkFormat('files()', o.format);
  const splitBytes = o.splitSize === undefined ? undefined : parseSplitSize(o.splitSize, o.format);
  return {
    kind: 'files',
    isRereadable: true,
    isBounded: true,
    isEager: false,
    async enumerate(ctx: SourceContext): Promise<readonly Split[]> {
      return (await findInput(ctx.files, o.path)).flatMap((file) => splitsOf(file, splitBytes));
    },
    open: (split, from, ctx) => openSplit(o.format, split as FileSplit, from, ctx),
  };
}

function splitsOf(file: InputFile, splitBytes: number | undefined): readonly FileSplit[] {
  if (splitBytes === undefined || file.bytes <= splitBytes)
    return [{ id: file.path, path: file.path, begin: 0, limit: file.bytes, bytes: file.bytes }];
  const splits: FileSplit[] = [];
  for (let begin = 0; begin < file.bytes; begin += splitBytes) {
    splits.push({
      id: `${file.path}@${begin}`,
      path: file.path,
      begin,
      limit: Math.min(begin + splitBytes, file.bytes),
      bytes: file.bytes,
    });
  }
  return splits;
}

function openSplit<T>(format: Format<T>, split: FileSplit, from: SplitPosition | undefined, ctx: SourceContext): SplitReader<T> {
  const { path, begin, limit, bytes } = split;
  const changed = (why: string, cause?: unknown): SluiceError =>
    new SluiceError('INPUT_CHANGED', {
      message: `input '${path}' ${why}; a job reads the files that were there when it first started`,
      next: 'fix-the-command',
      advice: 'put the file back as it was, or start the job from the beginning',
      ...(cause === undefined ? {} : { cause }),
      path,
    });
  return new DecodingReader<T>({
    format,
    ctx: { file: path, linesFrom: begin, countSkipped: () => ctx.countSkipped() },
    open: async (offset) => {
      try {
        return await ctx.files.openReader(path, offset);
      } catch (e) {
        if ((e as { code?: unknown }).code === 'ENOENT') throw changed('is gone', e);
        throw e;
      }
    },
    from,
    begin,
    limit,
    end: bytes,
    cutShort: (readBytes) => changed(`has ${readBytes} bytes and had ${bytes} when the job began`),
  });
}

const unitBytes: Readonly<Record<SizeUnit, number>> = { B: 1, KiB, MiB, GiB: 1_024 * MiB };

function parseSplitSize(size: ByteSize, format: Format<unknown>): number {
  const invalid = (why: string): SluiceError =>
    new SluiceError('SPLIT_SIZE_INVALID', { message: `files(): splitSize ${JSON.stringify(size)} ${why}`, next: 'fix-the-job' });
  if (!format.isSplittable)
    throw invalid(`cannot be used with ${format.name}(): only ndjson() and lines() can be read from the middle of a file`);
  const match = /^([0-9]+) ?(B|KiB|MiB|GiB)$/.exec(String(size));
  const bytes = typeof size === 'number' ? size : match === null ? Number.NaN : Number(match[1]) * unitBytes[match[2] as SizeUnit];
  if (!Number.isSafeInteger(bytes)) throw invalid("is not a size; write a number of bytes or text such as '64 MiB'");
  if (bytes < splitBytesMin) throw invalid(`is below the least, ${formatBytes(splitBytesMin)}`);
  return bytes;
}
