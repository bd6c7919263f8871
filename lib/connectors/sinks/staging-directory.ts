// staging-directory.ts owns the directory inside the output in which parts lie until their checkpoint is complete: its name, how an attempt
// takes over what older ones left in it, and how a staged part becomes a visible one.
//   G1  An attempt works in a directory of its own. It comes into being once, in `claim`; nothing later creates it, so every path of an
//       attempt whose directory was taken over leads nowhere.
//   G2  `claim` moves an older attempt's directory before it reads it: what it then reads does not change any more.
//   G3  A staged name is used once, whatever the history of the output: it holds generation, checkpoint, subtask and counter.
//   G4  A part becomes visible by a second name (`link`), which never overwrites; the staged name goes only when the visible one is durable.
//       So a staged name that is gone means: committed before.

import { join } from 'node:path';
import type { SinkContext } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import type { DirectoryEntry, FileSystem } from '../../core/ports.ts';

/** A part that is complete and waits for its checkpoint. Plain data: it lies in the checkpoint. */
export interface StagedPart {
  /** Number of the checkpoint that promised it. */
  readonly checkpoint: number;
  readonly staged: string;
  readonly part: string;
}

/** Where attempts keep what is not visible yet. */
export function stagingPath(output: string, ctx: Pick<SinkContext, 'job' | 'uid' | 'generation'>): string {
  return join(output, `${stagingPrefix(ctx)}${ctx.generation}`);
}

/** Begins the names of all directories that a sink of a job makes inside an output. */
export function stagingPrefix(ctx: Pick<SinkContext, 'job' | 'uid'>): string {
  return `.sluice-${safeName(ctx.job)}-${safeName(ctx.uid).replaceAll('-', '%2D')}-`; // the last hyphen but one separates job and uid
}

/** A name as part of a file name: what could end the name, hide it or collide in it is written as %XX. */
function safeName(name: string): string {
  return encodeURIComponent(name).replace(/[*]/g, '%2A');
}

/**
 * Makes this attempt's staging directory out of what older attempts left, or anew, and says which staged parts it holds now.
 *
 * @returns staged part name to its path
 */
export async function claimStaging(files: FileSystem, output: string, ctx: SinkContext): Promise<ReadonlyMap<string, string>> {
  const own = stagingPath(output, ctx);
  const prefix = stagingPrefix(ctx);
  const generations = (await files.list(output))
    .filter((e) => e.kind === 'directory' && e.name.startsWith(prefix) && /^[0-9]+$/.test(e.name.slice(prefix.length)))
    .map((e) => Number(e.name.slice(prefix.length)))
    .sort((a, b) => b - a);
  const newer = generations.filter((g) => g > ctx.generation);
  if (newer.length > 0) {
    ctx.report(
      `${output} holds the unfinished output of a later run of this job (${newer.map((g) => `${prefix}${g}`).join(', ')}); it is left alone`,
    );
  }
  const older = generations.filter((g) => g < ctx.generation);
  let hasOwn = generations.includes(ctx.generation);
  for (const generation of older) {
    // The newest becomes ours as it is. Further ones, left by attempts that died in this very place, move into it.
    await files.rename(join(output, `${prefix}${generation}`), hasOwn ? await freeName(files, join(own, `older-${generation}`)) : own);
    hasOwn = true;
  }
  if (!hasOwn) await files.createDirectory(own);
  await files.syncDirectory(output);
  const parts = new Map<string, string>();
  await collectParts(files, own, parts);
  return parts;
}

async function freeName(files: FileSystem, path: string): Promise<string> {
  let free = path;
  while ((await files.stat(free)) !== undefined) free += '+';
  return free;
}

async function collectParts(files: FileSystem, directory: string, parts: Map<string, string>): Promise<void> {
  for (const entry of await files.list(directory)) {
    if (entry.kind === 'directory') await collectParts(files, join(directory, entry.name), parts);
    else parts.set(entry.name, join(directory, entry.name));
  }
}

/** Deletes everything in the staging directory. */
export async function emptyStaging(files: FileSystem, output: string, ctx: SinkContext): Promise<void> {
  const own = stagingPath(output, ctx);
  for (const entry of await files.list(own)) await removeEntry(files, own, entry);
}

async function removeEntry(files: FileSystem, directory: string, entry: DirectoryEntry): Promise<void> {
  const path = join(directory, entry.name);
  if (entry.kind === 'directory') await files.removeTree(path);
  else await files.removeFile(path);
}

/**
 * Makes parts visible, in order. Doing it again, from the beginning or from the middle, changes nothing.
 *
 * @param pathOf  where the staged part lies now
 * @throws SluiceError `OUTPUT_CONFLICT` when another file has the name of a part; the staged part stays
 */
export async function commitParts(
  files: FileSystem,
  output: string,
  parts: readonly StagedPart[],
  pathOf: (staged: string) => string | undefined,
): Promise<void> {
  const linked: string[] = [];
  for (const { staged, part } of parts) {
    const path = pathOf(staged);
    if (path !== undefined && (await linkPart(files, path, join(output, part)))) linked.push(path);
  }
  if (linked.length === 0) return;
  await files.syncDirectory(output);
  for (const path of linked) await files.removeFile(path);
}

/** False when the staged name is gone: somebody committed it before. */
async function linkPart(files: FileSystem, staged: string, visible: string): Promise<boolean> {
  try {
    if ((await files.link(staged, visible)) === 'linked') return true;
  } catch (e) {
    if ((e as { code?: unknown }).code === 'ENOENT' && (await files.stat(staged)) === undefined) return false;
    throw e;
  }
  const ours = await files.stat(staged);
  if (ours === undefined) return false;
  if ((await files.stat(visible))?.identity === ours.identity) return true;
  throw new SluiceError('OUTPUT_CONFLICT', {
    message: `'${visible}' exists and is not our file, so the part that should get this name was not made visible`,
    next: 'fix-the-command',
    advice: `move '${visible}' away and run the job again with --from latest, or choose an output directory that only this sink writes to`,
    path: visible,
    staged,
  });
}

const partForm = /^part-([0-9]+)-([0-9]+)(?:\.|$)/;

/** Subtask and counter of the name of a part, or undefined for a file that is none. */
export function parsePartName(name: string): { readonly subtask: number; readonly counter: number } | undefined {
  const match = partForm.exec(name);
  return match === null ? undefined : { subtask: Number(match[1]), counter: Number(match[2]) };
}

/** The counter has ten digits so that the order of names is the order of commits: at one part a second they last for three hundred years. */
export function partName(subtask: number, counter: number, extension: string): string {
  return `part-${subtask}-${String(counter).padStart(10, '0')}.${extension}`;
}
