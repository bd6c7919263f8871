// sealed.ts owns the envelope of every small file of a checkpoint directory, and how one is replaced.
//   E1  A file is: one format byte, the length of a JSON text (4 bytes), the text, any bytes that the text refers to, and the CRC-32 of
//       all between the format byte and itself (4 bytes). Numbers are little-endian.
//   E2  A format byte above ours is told apart from damage, so that an older release says "newer" and never guesses. It lies outside the
//       checksum for that; a flipped bit in it can only lead to a refusal.
//   E3  A file is written under a temporary name, synced, renamed, and its directory synced: what has the name is whole.

import { dirname } from 'node:path';
import { SluiceError } from '../core/errors.ts';
import { crc32 } from '../core/hash.ts';
import type { FileAppender, FileSystem } from '../core/ports.ts';
import { temporaryOf } from './layout.ts';

/** The format that this release writes, and the newest that it reads. */
export const checkpointFormat = 1;

const headBytes = 5;
const sealBytes = 4;

/** A place in the bytes behind the JSON text: offset and length. */
export type BlobRef = readonly [offset: number, length: number];

/** Gathers byte strings for the part behind the JSON text. */
export class Blob {
  readonly parts: Uint8Array[] = [];
  length = 0;

  add(bytes: Uint8Array): BlobRef {
    const ref: BlobRef = [this.length, bytes.length];
    this.parts.push(bytes);
    this.length += bytes.length;
    return ref;
  }
}

/** The pieces of a sealed file, in order. */
export function seal(content: unknown, blob: Blob = new Blob()): readonly Uint8Array[] {
  const text = new TextEncoder().encode(JSON.stringify(content));
  const head = new Uint8Array(headBytes);
  head[0] = checkpointFormat;
  new DataView(head.buffer).setUint32(1, text.length, true);
  const tail = new Uint8Array(sealBytes);
  let sum = crc32(text, crc32(head.subarray(1)));
  for (const part of blob.parts) sum = crc32(part, sum);
  new DataView(tail.buffer).setUint32(0, sum, true);
  return [head, text, ...blob.parts, tail];
}

export interface Unsealed {
  readonly content: unknown;
  /** The bytes behind a reference; a view, not a copy. */
  bytes(ref: BlobRef): Uint8Array;
}

/**
 * @param path  for messages
 * @throws SluiceError `FORMAT_NEWER`, `CHECKPOINT_DAMAGED`
 */
export function unseal(file: Uint8Array, path: string): Unsealed {
  checkFormat(file[0], path);
  if (file.length < headBytes + sealBytes) throw damaged(path, `it has only ${file.length} bytes`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = file.length - sealBytes;
  if (crc32(file.subarray(1, end)) !== view.getUint32(end, true)) throw damaged(path, 'its checksum does not match its content');
  const blobAt = headBytes + view.getUint32(1, true);
  if (blobAt > end) throw damaged(path, 'its text is longer than the file');
  let content: unknown;
  try {
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(file.subarray(headBytes, blobAt)));
  } catch (e) {
    throw damaged(path, 'its text cannot be read', e);
  }
  return {
    content,
    bytes([offset, length]) {
      const from = blobAt + offset;
      if (!(offset >= 0 && length >= 0 && from + length <= end)) throw damaged(path, 'it refers to bytes beyond its end');
      return file.subarray(from, from + length);
    },
  };
}

/** @throws SluiceError `FORMAT_NEWER`, `CHECKPOINT_DAMAGED` */
export function checkFormat(format: number | undefined, path: string): void {
  if (format !== undefined && format > checkpointFormat) {
    throw new SluiceError('FORMAT_NEWER', {
      message: `${path} has format ${format}, this release reads formats up to ${checkpointFormat}`,
      next: 'repair-state',
      advice: 'use the release of Sluice that wrote it, or a later one; or choose another checkpoint',
      path,
      format,
    });
  }
  if (format !== checkpointFormat) throw damaged(path, format === undefined ? 'it is empty' : `its format byte is ${format}`);
}

export function damaged(path: string, why: string, cause?: unknown): SluiceError {
  return new SluiceError('CHECKPOINT_DAMAGED', { message: `${path} is damaged: ${why}`, next: 'repair-state', path, cause });
}

/** Writes a sealed file in place of what had its name (E3); the old one stays until the new one is durable. */
export async function writeSealed(files: FileSystem, path: string, content: unknown, blob?: Blob): Promise<void> {
  const temporary = temporaryOf(path);
  const file = await createAnew(files, temporary);
  try {
    for (const piece of coalesced(seal(content, blob))) await file.append(piece);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(temporary, path);
  await files.syncDirectory(dirname(path));
}

/** A name that is taken is left over from a write that failed. */
async function createAnew(files: FileSystem, path: string): Promise<FileAppender> {
  try {
    return await files.createFile(path);
  } catch (e) {
    if ((e as { readonly code?: unknown } | null)?.code !== 'EEXIST') throw e;
    await files.removeFile(path);
    return files.createFile(path);
  }
}

export async function readSealed(files: FileSystem, path: string): Promise<Unsealed> {
  return unseal(await files.readFile(path), path);
}

const coalescedBytesMax = 65_536; // a piece this large is worth a write of its own

/** Joins small pieces, so that a file of many is not as many writes. */
function* coalesced(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length < coalescedBytesMax) continue;
    yield joined(waiting, length);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield joined(waiting, length);
}

/** One array of all the bytes; the only element itself when there is one. */
export function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
