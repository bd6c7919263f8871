import type { SourceOutput } from '../../api/source.ts';
import { plainLine, SluiceError } from '../../core/errors.ts';
import { formatBytes } from '../../core/limits.ts';
import type { DecoderContext, OnError } from './format.ts';

const excerptCharactersMax = 80; // enough to recognise a record, short enough for a line of a log

/** Does with a record that cannot be read what the format's `onError` says. */
export function handleMalformed(
  ctx: DecoderContext,
  onError: OnError,
  record: { readonly line: number; readonly text: string; readonly reason: string; readonly cause?: unknown },
  out: Pick<SourceOutput<never>, 'side'>,
): void {
  if (onError === 'fail') throw malformed(ctx, record);
  if (onError === 'skip') ctx.countSkipped();
  else out.side(onError, { file: ctx.file, line: record.line, text: record.text, reason: record.reason });
}

/** The error for a record that cannot be read or, with `isStructure`, for a file that is not what its format says, which no option passes over. */
export function malformed(
  ctx: DecoderContext,
  o: { readonly line: number; readonly text: string; readonly reason: string; readonly cause?: unknown; readonly isStructure?: boolean },
): SluiceError {
  const excerpt = excerptOf(o.text);
  const shown = excerpt === '' ? '' : `: ${excerpt}`;
  return new SluiceError('MALFORMED_RECORD', {
    message: `${placeOf(ctx, o.line)}: ${plainLine(o.reason)}${shown}`,
    next: 'fix-the-job',
    advice: o.isStructure
      ? 'repair the input file, or read it with the format that it has'
      : "repair the record, or give the format onError: 'skip' or an OutputTag",
    ...(o.cause === undefined ? {} : { cause: o.cause }),
    file: ctx.file,
    line: o.line,
    excerpt,
  });
}

export function recordTooLarge(ctx: DecoderContext, line: number, bytesMax: number, hint: string): SluiceError {
  return new SluiceError('RECORD_TOO_LARGE', {
    message: `${placeOf(ctx, line)}: the record is longer than ${formatBytes(bytesMax)}; ${hint}`,
    next: 'fix-the-job',
    advice: 'check that the format fits the file, or raise recordBytesMax of the format',
    file: ctx.file,
    line,
    limit: bytesMax,
  });
}

function placeOf(ctx: DecoderContext, line: number): string {
  return ctx.linesFrom === 0 ? `${ctx.file} line ${line}` : `${ctx.file} line ${line} of those from byte ${ctx.linesFrom} on`;
}

function excerptOf(text: string): string {
  const flat = plainLine(text.slice(0, excerptCharactersMax * 2).replace(/\s+/g, ' ')).trim();
  return flat.length <= excerptCharactersMax && text.length <= excerptCharactersMax * 2 ? flat : `${flat.slice(0, excerptCharactersMax)}…`;
}

/** Text of what a parser threw. */
export function reasonOf(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
