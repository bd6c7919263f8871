// file-sink-detached.ts writes the parts of a transaction from its rows, when it is committed. Any number of processes may do so at once, and one
// that was left behind may go on much later, when somebody has already carried the parts away.
//   D1  Names and cuts derive from the transaction alone: `prepare` fixes them, the counter follows the number of the checkpoint. So whoever
//       commits makes the same files, and in each subtask the order of names is the order of rows.
//   D2  A part is written whole under a hidden name of this process's own, made durable, and gets its visible name by `link`, which never
//       overwrites. A visible name that is taken is ours when its bytes are.
//   D3  When all names are durable a marker is, and only then do the hidden copies go, everybody's. Who has written copies looks for the marker
//       before it links: then either it sees the marker, or its copies are among those that went and its link fails. So no part comes back that
//       was carried away after it was marked. Markers stay for a day, by when no process that was left behind can live.

import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import type { DetachedContext, DetachedSink, DetachedTransaction, SinkContext } from '../../api/sink.ts';
import { createDurableTree } from '../../core/durable-tree.ts';
import { SluiceError } from '../../core/errors.ts';
import type { FileSystem } from '../../core/ports.ts';
import type { Format } from '../formats/format.ts';
import { parsePartName, partName, stagingPrefix } from './staging-directory.ts';

const markerEnding = '.done';
const markersStayMs = 24 * 60 * 60 * 1000;

export interface DetachedFileSinkOptions {
  readonly path: string;
  readonly format: Format<unknown>;
  readonly rollBytes: number | undefined;
  readonly rollEveryMs: number | undefined;
  /** Tells what is wrong with a directory that cannot be written. */
  readonly notWritable: (ctx: SinkContext, cause: unknown) => SluiceError;
}

/** What the directory held before the run. */
interface Started {
  /** The largest counter of a part. */
  readonly after: number;
}

interface PartPlan {
  readonly counter: number;
  readonly extension: string;
  readonly rollBytes: number | undefined;
}

interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export function createDetachedFileSink(o: DetachedFileSinkOptions): DetachedSink<unknown> {
  return {
    kind: 'transactional',
    start: (ctx) => start(o, ctx),
    prepare: (_ctx, t, started): PartPlan => ({
      counter: (started as Started).after + t.checkpoint,
      extension: o.format.extension,
      rollBytes: o.rollBytes,
    }),
    commit: (ctx, t, prepared) => commit(o, ctx, t, partsOf(o.format, t, prepared as PartPlan)),
    abort: () => undefined, // nothing is written before the commit
  };
}

async function start({ path, rollEveryMs, notWritable }: DetachedFileSinkOptions, ctx: DetachedContext): Promise<Started> {
  if (rollEveryMs !== undefined)
    ctx.report(
      `${ctx.uid}: rollEvery has no effect here: the parts of a checkpoint are written when it has completed, none is open before`,
    );
  try {
    await createDurableTree(ctx.files, path);
    const counters = (await ctx.files.list(path)).map((e) => parsePartName(e.name)?.counter ?? 0);
    await createStaging(ctx.files, path, stagingOf(path, ctx));
    return { after: Math.max(0, ...counters) };
  } catch (cause) {
    throw notWritable(ctx, cause);
  }
}

function stagingOf(path: string, ctx: SinkContext): string {
  return join(path, `${stagingPrefix(ctx)}detached`);
}

/** Takes the directory of copies away when only markers lie in it: whoever commits late makes it again, and finds the parts where they are. */
export async function finishDetached(files: FileSystem, path: string, ctx: SinkContext): Promise<void> {
  const staging = stagingOf(path, ctx);
  if ((await files.stat(staging)) === undefined) return;
  if ((await files.list(staging)).every(({ name }) => name.endsWith(markerEnding))) await files.removeTree(staging);
}

/** Its name is made durable with those of the parts: it lies in the same directory. */
async function createStaging(files: FileSystem, path: string, staging: string): Promise<void> {
  if ((await files.stat(path)) === undefined) await createDurableTree(files, path);
  await files.createDirectory(staging);
}

/** The rows in parts. A part is closed behind the row that filled it; without a bound all rows are one part. */
function partsOf(format: Format<unknown>, t: DetachedTransaction<unknown>, plan: PartPlan): readonly Part[] {
  const { counter, extension, rollBytes } = plan;
  const encoder = format.createEncoder();
  const parts: Part[] = [];
  let text = encoder.head;
  let bytes = Buffer.byteLength(text);
  let rows = 0;
  const close = (): void => {
    const within = rollBytes === undefined ? '' : `${String(parts.length + 1).padStart(6, '0')}.`;
    parts.push({ name: partName(t.id.subtask, counter, within + extension), bytes: Buffer.from(text, 'utf8') });
    text = encoder.head;
    bytes = Buffer.byteLength(text);
    rows = 0;
  };
  for (const row of t.rows) {
    const encoded = encoder.encode(row);
    text += encoded;
    rows++;
    if (rollBytes === undefined) continue;
    bytes += Buffer.byteLength(encoded);
    if (bytes >= rollBytes) close();
  }
  if (rows > 0) close();
  return parts;
}

async function commit(
  o: DetachedFileSinkOptions,
  ctx: DetachedContext,
  t: DetachedTransaction<unknown>,
  parts: readonly Part[],
): Promise<void> {
  const { files } = ctx;
  const staging = stagingOf(o.path, ctx);
  // The time tells the transactions of another run apart, which has the same numbers.
  const { generation, subtask, checkpoint } = t.id;
  const name = [generation, subtask, checkpoint, t.checkpoint, t.timestamp].join('.');
  const marker = join(staging, markerOf(name));
  await createStaging(files, o.path, staging);
  const copies: string[] = [];
  try {
    if ((await files.stat(marker)) !== undefined) return await tidy(files, staging, name, ctx.clock.now());
    const now = ctx.clock.now(); // so that the name of a copy that went is not taken again
    for (const part of parts) copies.push(await writeCopy(files, part, (n) => join(staging, `${name}.${now}-${n}.${part.name}`)));
    if ((await files.stat(marker)) === undefined) {
      for (const [i, part] of parts.entries()) await linkPart(files, copies[i]!, join(o.path, part.name), part.bytes);
      await files.syncDirectory(o.path);
      await mark(files, staging, marker);
    }
  } catch (e) {
    for (const copy of copies) await files.removeFile(copy).catch(() => undefined);
    if ((e as { code?: unknown }).code === 'ENOENT' && (await files.stat(marker)) !== undefined) return;
    throw e;
  }
  await tidy(files, staging, name, ctx.clock.now());
}

function markerOf(name: string): string {
  return `${name}${markerEnding}`;
}

/** A durable file that no other process writes. @returns its path */
async function writeCopy(files: FileSystem, part: Part, pathOf: (n: number) => string): Promise<string> {
  for (let n = 0; ; n++) {
    const path = pathOf(n);
    try {
      const file = await files.createFile(path);
      try {
        await file.append(part.bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      return path;
    } catch (e) {
      if ((e as { code?: unknown }).code === 'EEXIST') continue; // somebody's who commits too, or did not get to the end
      await files.removeFile(path).catch(() => undefined);
      throw e;
    }
  }
}

async function linkPart(files: FileSystem, copy: string, visible: string, bytes: Uint8Array): Promise<void> {
  if ((await files.link(copy, visible)) === 'linked') return;
  if (Buffer.compare(await files.readFile(visible), bytes) === 0) return;
  throw new SluiceError('OUTPUT_CONFLICT', {
    message: `'${visible}' exists and does not hold our rows, so the part that should get this name was not made visible`,
    next: 'fix-the-command',
    advice: `move '${visible}' away; the rows are kept, and the part is written when the checkpoint is committed again`,
    path: visible,
  });
}

async function mark(files: FileSystem, staging: string, marker: string): Promise<void> {
  try {
    await (await files.createFile(marker)).close();
  } catch (e) {
    if ((e as { code?: unknown }).code !== 'EEXIST') throw e;
  }
  await files.syncDirectory(staging);
}

/** Takes away all copies of a transaction that is marked, and what is left of others after a day. */
async function tidy(files: FileSystem, staging: string, name: string, now: number): Promise<void> {
  for (const entry of await files.list(staging)) {
    const isOfThis = entry.name.startsWith(`${name}.`) && entry.name !== markerOf(name);
    const passedAt = Number(entry.name.split('.')[4]);
    if (isOfThis || passedAt < now - markersStayMs) await files.removeFile(join(staging, entry.name));
  }
}
