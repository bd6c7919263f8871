// state-file.ts owns the bytes of one operator's state on one subtask: a format byte, then the key groups in ascending order, then the
// lists. What lies where is in the handle, not in the file. Small states never become a file: they travel with the handle.

import { join } from 'node:path';
import { SluiceError } from '../core/errors.ts';
import { crc32 } from '../core/hash.ts';
import { formatBytes, KiB, MiB } from '../core/limits.ts';
import type { FileAppender, FileReader, FileSystem } from '../core/ports.ts';
import type { KeyGroupSection, ListSection, OperatorHandle, Section, StatePlace } from './handles.ts';
import { checkFormat, checkpointFormat, damaged, joined } from './sealed.ts';
import type { OperatorSnapshot } from './snapshot.ts';

/** States up to this size lie in `_metadata`: a file of their own would cost more than they do. Flink's `state.storage.fs.memory-threshold`. */
export const inlineBytesMax: number = 20 * KiB;

const bufferBytesMax = 256 * KiB; // written at once: few calls, and never long without a chance for records to flow
const readBytesMax = MiB;

export interface StateFileRequest {
  readonly files: FileSystem;
  readonly directory: string;
  readonly name: string;
  /** All bytes stay with the handle (the memory backend), and may be at most so many for the keyed state and for the lists each. */
  readonly inlineLimit: { readonly bytesMax: number; readonly place: { readonly job: string; readonly subtask: number } } | undefined;
  /** Asked between writes: true when the checkpoint was given up meanwhile. */
  readonly isGivenUp: () => boolean;
}

/** Writes one operator's state, durably. Rejects as the port does, or with `STATE_TOO_LARGE`; then it leaves no file of its own open. */
export async function writeState(operator: OperatorSnapshot, request: StateFileRequest): Promise<OperatorHandle> {
  const lists = operator.lists.map((l) => ({ ...l, length: l.elements.reduce((sum, e) => sum + e.length + 4, 0) }));
  if (request.inlineLimit !== undefined) checkSize(operator, lists, request.inlineLimit);
  const sink = new StateSink(request);
  try {
    const groups: KeyGroupSection[] = [];
    for (const g of operator.keyed?.groups ?? []) groups.push({ group: g.group, ...(await sink.section([g.bytes])) });
    const listSections: ListSection[] = [];
    for (const { name, redistribution, elements } of lists) {
      listSections.push({ name, redistribution, count: elements.length, ...(await sink.section(withLengths(elements))) });
    }
    return {
      uid: operator.uid,
      place: await sink.finish(),
      keyed: operator.keyed && { states: operator.keyed.states, groups },
      lists: listSections,
      sink: operator.sink,
      accumulators: operator.accumulators,
    };
  } catch (e) {
    await sink.giveUp();
    throw e;
  }
}

function checkSize(
  operator: OperatorSnapshot,
  lists: readonly { readonly name: string; readonly length: number }[],
  limit: NonNullable<StateFileRequest['inlineLimit']>,
): void {
  const keyedBytes = operator.keyed?.groups.reduce((sum, g) => sum + g.bytes.length, 0) ?? 0;
  if (keyedBytes > limit.bytesMax) throw tooLarge(operator.uid, operator.keyed!.states.map((s) => s.name).join(', '), keyedBytes, limit);
  const listBytes = lists.reduce((sum, l) => sum + l.length, 0);
  if (listBytes > limit.bytesMax) throw tooLarge(operator.uid, lists.map((l) => l.name).join(', '), listBytes, limit);
}

function tooLarge(
  uid: string,
  state: string,
  bytes: number,
  { bytesMax, place }: NonNullable<StateFileRequest['inlineLimit']>,
): SluiceError {
  return new SluiceError('STATE_TOO_LARGE', {
    message: `state ${state} of operator ${uid} has ${sizes(bytes, bytesMax)[0]} on subtask ${place.subtask}, the limit of the memory backend is ${sizes(bytes, bytesMax)[1]}`,
    next: 'fix-the-job',
    advice: 'use FsStateBackend, raise maxStateSize, or spread the state over more subtasks',
    ...place,
    operator: uid,
    state,
    bytes,
    bytesMax,
  });
}

/** Both sizes, in whole bytes too where rounding would make them look equal. */
function sizes(bytes: number, bytesMax: number): readonly [string, string] {
  const texts = [formatBytes(bytes), formatBytes(bytesMax)] as const;
  return texts[0] === texts[1] ? [`${bytes} bytes`, `${bytesMax} bytes`] : texts;
}

function* withLengths(elements: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const element of elements) {
    const head = new Uint8Array(4);
    new DataView(head.buffer).setUint32(0, element.length, true);
    yield head;
    yield element;
  }
}

/** Collects bytes, and begins a file only when there are too many of them to travel with the handle. */
class StateSink {
  readonly #request: StateFileRequest;
  #file: FileAppender | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #length = 0;

  constructor(request: StateFileRequest) {
    this.#request = request;
    this.#put(Uint8Array.of(checkpointFormat));
  }

  /** Adds the pieces as one section. */
  async section(pieces: Iterable<Uint8Array>): Promise<Section> {
    const offset = this.#length;
    let crc = 0;
    for (const piece of pieces) {
      for (let at = 0; at < piece.length; at += bufferBytesMax) {
        const part = piece.subarray(at, at + bufferBytesMax);
        crc = crc32(part, crc);
        this.#put(part);
        if (this.#waitingBytes >= bufferBytesMax && this.#request.inlineLimit === undefined) await this.#write();
      }
    }
    return { offset, length: this.#length - offset, crc };
  }

  async finish(): Promise<StatePlace> {
    if (this.#length === 1) return { kind: 'none' };
    const isInline = this.#request.inlineLimit !== undefined || (this.#file === undefined && this.#length <= inlineBytesMax);
    // A copy always: what a snapshot holds may belong to whoever made it.
    if (isInline) return { kind: 'inline', bytes: joined([new Uint8Array(0), ...this.#waiting], this.#length) };
    await this.#write();
    await this.#file!.sync();
    await this.#file!.close();
    return { kind: 'file', name: this.#request.name, length: this.#length };
  }

  /** Frees the open file; removing it is the work of whoever discards the checkpoint. */
  async giveUp(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined); // the first error is the one to tell
  }

  #put(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#length += bytes.length;
  }

  async #write(): Promise<void> {
    if (this.#request.isGivenUp()) throw givenUp(this.#request.directory);
    this.#file ??= await this.#request.files.createFile(join(this.#request.directory, this.#request.name));
    const bytes = joined(this.#waiting, this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#file.append(bytes);
  }
}

/** What a subtask is told that still writes for a checkpoint which is over. */
export function givenUp(directory: string): SluiceError {
  return new SluiceError('CHECKPOINT_GIVEN_UP', {
    message: `the checkpoint in ${directory} was given up before its state was stored`,
    next: 'try-again',
    path: directory,
  });
}

/** The sections of a handle in the order of their bytes. */
export function sectionsOf(handle: OperatorHandle): readonly Section[] {
  return [...(handle.keyed?.groups ?? []), ...handle.lists].sort((a, b) => a.offset - b.offset);
}

/**
 * Reads every byte that a handle refers to and compares the checksums.
 * @throws SluiceError `CHECKPOINT_DAMAGED` naming the file, `FORMAT_NEWER`
 */
export async function verifyState(files: FileSystem, directory: string, handle: OperatorHandle): Promise<void> {
  if (handle.place.kind === 'file') {
    const path = join(directory, handle.place.name);
    const stat = await files.stat(path);
    if (stat === undefined) throw damaged(path, 'it is missing');
    if (stat.bytes !== handle.place.length) throw damaged(path, `it has ${stat.bytes} bytes, ${handle.place.length} were written`);
  }
  for await (const _ of readState(files, directory, handle, sectionsOf(handle), false)) {
    // The reading is the check.
  }
}

/**
 * Reads sections of a handle, in the order given; ascending offsets are read in one go. With `isWanted` false the bytes are only
 * checked, and what is given is empty.
 * @throws SluiceError `CHECKPOINT_DAMAGED`, `FORMAT_NEWER`
 */
export async function* readState<S extends Section>(
  files: FileSystem,
  directory: string,
  handle: OperatorHandle,
  sections: readonly S[],
  isWanted = true,
): AsyncGenerator<{ readonly section: S; readonly bytes: Uint8Array }> {
  const { place } = handle;
  if (sections.every((s) => s.length === 0)) {
    // Lists that are empty take no bytes, and then there may be no place either.
    for (const section of sections) yield { section, bytes: new Uint8Array(0) };
    return;
  }
  const path = place.kind === 'file' ? join(directory, place.name) : join(directory, `the state of ${handle.uid} in _metadata`);
  if (place.kind === 'none') throw damaged(path, 'state is listed that was not stored');
  const source = place.kind === 'file' ? new FileBytes(files, path) : new InlineBytes(place.bytes);
  try {
    checkFormat((await source.take(0, 1, () => undefined, true))[0], path);
    for (const section of sections) {
      let crc = 0;
      const bytes = await source.take(section.offset, section.length, (part) => (crc = crc32(part, crc)), isWanted);
      if (crc !== section.crc)
        throw damaged(path, `bytes ${section.offset} to ${section.offset + section.length} have changed since they were written`);
      yield { section, bytes };
    }
  } finally {
    await source.close();
  }
}

class InlineBytes {
  readonly #bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }
  async take(offset: number, length: number, seen: (part: Uint8Array) => void, _isWanted: boolean): Promise<Uint8Array> {
    const bytes = this.#bytes.subarray(offset, offset + length);
    seen(bytes);
    return bytes;
  }
  async close(): Promise<void> {}
}

class FileBytes {
  readonly #files: FileSystem;
  readonly #path: string;
  #reader: FileReader | undefined;
  #at = 0;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(files: FileSystem, path: string) {
    this.#files = files;
    this.#path = path;
  }

  async take(offset: number, length: number, seen: (part: Uint8Array) => void, isWanted: boolean): Promise<Uint8Array> {
    if (this.#reader === undefined || offset !== this.#at) await this.#seek(offset);
    const parts: Uint8Array[] = [];
    let missing = length;
    while (missing > 0) {
      if (this.#rest.length === 0) this.#rest = await this.#reader!.read(readBytesMax);
      if (this.#rest.length === 0) throw damaged(this.#path, `it ends at byte ${this.#at}, ${missing} more were written`);
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      this.#at += part.length;
      missing -= part.length;
      seen(part);
      if (isWanted) parts.push(part);
    }
    return isWanted ? joined([new Uint8Array(0), ...parts], length) : new Uint8Array(0);
  }

  async #seek(offset: number): Promise<void> {
    await this.close();
    this.#reader = await this.#files.openReader(this.#path, offset);
    this.#at = offset;
    this.#rest = new Uint8Array(0);
  }

  async close(): Promise<void> {
    const reader = this.#reader;
    this.#reader = undefined;
    await reader?.close();
  }
}
