// The base of the memory and file system backends: everything is in memory, and materialising writes all of it as one new object.
//   S1  The object is read when state is first touched, not when the subtask is opened: a unit that touches none needs none.
//   S2  An object is named by the entry that it goes up to, and written before anything refers to it. Whoever writes it writes the same.
//   S3  The content changes after the object is stored. A write that failed has changed nothing.

import { SluiceError } from '../../core/errors.ts';
import type { StateAddress, TimerChange } from '../entry.ts';
import type { ObjectStore } from '../ports.ts';
import { isOfEngine, type Partition, type StateBase } from './base.ts';
import type { VersionTag, VersionView } from './contract.ts';
import { type NotKnown, notKnown } from './not-resident.ts';
import { partitionText, timersState, type UnflushedPiece } from './overlay.ts';
import { tooLarge } from './size-limit.ts';
import { decodeSnapshot, encodeSnapshot, type StoredPartition } from './snapshot-format.ts';
import { changedTimers } from './value-format.ts';

export interface SnapshotBaseOptions {
  readonly objects: ObjectStore;
  /** The object to begin with; `undefined`: empty. */
  readonly snapshot: string | undefined;
  /** Bytes that one operator may have; `undefined`: no bound. */
  readonly limitBytes: number | undefined;
  readonly subtask: string;
}

interface Held {
  readonly partition: Partition;
  readonly pieces: Map<string, Uint8Array>;
}

export class SnapshotBase implements StateBase {
  readonly isWholeInMemory = true;
  readonly operatorBytesMax: number | undefined;
  snapshot: string | undefined;
  readonly #objects: ObjectStore;
  readonly #subtask: string;
  /** By partition text; `undefined`: not read yet. */
  #held: Map<string, Held> | undefined;

  constructor({ objects, snapshot, limitBytes, subtask }: SnapshotBaseOptions) {
    this.#objects = objects;
    this.snapshot = snapshot;
    this.operatorBytesMax = limitBytes;
    this.#subtask = subtask;
    if (snapshot === undefined) this.#held = new Map();
  }

  checkAddress(): void {}

  peek(address: StateAddress): Uint8Array | undefined | NotKnown {
    if (this.#held === undefined) return notKnown;
    return this.#held.get(partitionText(address))?.pieces.get(address.sub);
  }

  peekAll(partition: Partition): ReadonlyMap<string, Uint8Array> | NotKnown {
    if (this.#held === undefined) return notKnown;
    return this.#held.get(partitionText(partition))?.pieces ?? new Map();
  }

  async read(addresses: readonly StateAddress[]): Promise<readonly (Uint8Array | undefined)[]> {
    const held = await this.#load();
    return addresses.map((address) => held.get(partitionText(address))?.pieces.get(address.sub));
  }

  async readAll(partition: Partition): Promise<ReadonlyMap<string, Uint8Array>> {
    return (await this.#load()).get(partitionText(partition))?.pieces ?? new Map();
  }

  bytesByOperator(): ReadonlyMap<string, number> | undefined {
    return this.#held === undefined ? undefined : bytesOf(this.#held);
  }

  async flush(pieces: readonly UnflushedPiece[], _view: VersionView, through: VersionTag): Promise<ReadonlySet<UnflushedPiece>> {
    await this.writeSnapshot(`snapshot/${through.generation}/${this.#subtask}/${through.n}`, pieces);
    return new Set(pieces);
  }

  async writeSnapshot(name: string, pieces: readonly UnflushedPiece[]): Promise<string> {
    const held = await this.#load();
    const changed = new Map<string, Held>(held);
    for (const piece of pieces) take(changed, held, piece);
    this.#check(changed);
    await this.#objects.putIfAbsent(name, encodeSnapshot(changed));
    for (const [text, { pieces: left }] of changed) if (left.size === 0) changed.delete(text);
    this.#held = changed;
    this.snapshot = name;
    return name;
  }

  #check(held: ReadonlyMap<string, Held>): void {
    if (this.operatorBytesMax === undefined) return;
    for (const [operator, bytes] of bytesOf(held)) {
      if (bytes <= this.operatorBytesMax) continue;
      const states = new Set([...held.values()].flatMap(({ partition: p }) => (p.operator === operator ? [p.state] : [])));
      throw tooLarge(operator, [...states].join(', '), bytes, this.operatorBytesMax, this.#subtask);
    }
  }

  async #load(): Promise<Map<string, Held>> {
    if (this.#held !== undefined || this.snapshot === undefined) return (this.#held ??= new Map());
    const bytes = await this.#objects.get(this.snapshot);
    if (bytes === undefined) {
      throw new SluiceError('OBJECT_MISSING', {
        message: `the state of subtask ${this.#subtask} is gone: object ${this.snapshot} does not exist`,
        next: 'repair-state',
        subtask: this.#subtask,
        object: this.snapshot,
      });
    }
    this.#held ??= new Map(
      decodeSnapshot(bytes).map((p: StoredPartition) => [partitionText(p.partition), { ...p, pieces: new Map(p.pieces) }]),
    );
    return this.#held;
  }
}

/** Takes up one piece in `changed`, whose partitions are those of `held` until they are written to. */
function take(changed: Map<string, Held>, held: ReadonlyMap<string, Held>, piece: UnflushedPiece): void {
  const { operator, state, key, sub } = piece.address;
  const text = partitionText(piece.address);
  let of = changed.get(text);
  if (of === undefined || of === held.get(text)) {
    of = { partition: { operator, state, key }, pieces: new Map(of?.pieces) };
    changed.set(text, of);
  }
  const bytes = piece.kind === 'value' ? piece.versions.at(-1)?.bytes : timersAfter(of.pieces.get(sub), piece.changes, operator);
  if (bytes === undefined) of.pieces.delete(sub);
  else of.pieces.set(sub, bytes);
}

function timersAfter(
  bytes: Uint8Array | undefined,
  changes: readonly { readonly change: TimerChange }[],
  operator: string,
): Uint8Array | undefined {
  return changedTimers(
    bytes,
    changes.map(({ change }) => change),
    operator,
  );
}

function bytesOf(held: ReadonlyMap<string, Held>): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>();
  for (const { partition, pieces } of held.values()) {
    if (partition.state === timersState || isOfEngine(partition)) continue;
    let sum = bytes.get(partition.operator) ?? 0;
    for (const piece of pieces.values()) sum += piece.length;
    bytes.set(partition.operator, sum);
  }
  return bytes;
}
