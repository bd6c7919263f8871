// The keyed state of one subtask: cells on top, committed changes that are not materialised below, the base at the bottom. The contract is
// contract.ts; what this file adds is the order in which the layers are told of things.

import { SluiceError } from '../../core/errors.ts';
import type { KeyGroupRange } from '../../core/key-group.ts';
import { formatBytes } from '../../core/limits.ts';
import type { KeyedStateBackend, KeyedStateRequest } from '../../state/backend.ts';
import type { StateAddress, StateDelta, StateWrite, TimerChange } from '../entry.ts';
import { stateValueBytesMax } from '../limits.ts';
import type { Partition, StateBase } from './base.ts';
import type { Flushed, RowBuffer, SubtaskState, VersionTag, VersionView } from './contract.ts';
import { Layers } from './layers.ts';
import { notKnown } from './not-resident.ts';
import { OperatorCells } from './operator-cells.ts';
import { Overlay, partitionText, type UnflushedPiece } from './overlay.ts';
import { rowsState, WaitingRows } from './rows.ts';
import { SizeLimit } from './size-limit.ts';

export type { StateBase } from './base.ts';
export { createBaseOf } from './create-base.ts';

export interface SubtaskStateOptions {
  readonly subtask: string;
  readonly base: StateBase;
  readonly maxParallelism: number;
  /** Key groups whose keys may come here. */
  readonly groups: KeyGroupRange;
  /** Keys of these groups may come to other subtasks of the stage as well: timers lie apart. */
  readonly sharesGroups?: boolean;
}

export function createSubtaskState(options: SubtaskStateOptions): SubtaskState {
  return new LayeredState(options);
}

class LayeredState implements SubtaskState {
  readonly #options: SubtaskStateOptions;
  readonly #timersHolder: string | undefined;
  readonly #overlay: Overlay;
  readonly #layers: Layers;
  readonly #limit: SizeLimit | undefined;
  readonly #operators = new Map<string, OperatorCells>();
  readonly #buffers = new Map<string, WaitingRows>();
  #isOpen = false;
  #newest: VersionTag | undefined;

  constructor(options: SubtaskStateOptions) {
    this.#options = options;
    this.#timersHolder = options.sharesGroups === true ? options.subtask : undefined;
    this.#overlay = new Overlay(options.maxParallelism, this.#timersHolder);
    this.#layers = new Layers(options.base, this.#overlay);
    const { operatorBytesMax } = options.base;
    this.#limit = operatorBytesMax === undefined ? undefined : new SizeLimit(this.#layers, operatorBytesMax, options.subtask);
  }

  readonly createKeyedState = (request: KeyedStateRequest): KeyedStateBackend => {
    const known = this.#operators.get(request.operator);
    if (known !== undefined) {
      known.reopen(request.shape);
      return known;
    }
    const cells = new OperatorCells(request, this.#layers, { groups: this.#options.groups, timersHolder: this.#timersHolder });
    this.#operators.set(request.operator, cells);
    if (this.#isOpen) cells.beginUnit();
    return cells;
  };

  get isSuspended(): boolean {
    return this.#layers.isSuspended;
  }

  get unflushed(): number {
    return this.#overlay.size;
  }

  get residentKeys(): number {
    let keys = 0;
    for (const cells of this.#operators.values()) keys += cells.keyCount();
    return keys;
  }

  buffer(name: string): RowBuffer {
    const known = this.#buffers.get(name);
    if (known !== undefined) return known;
    const rows = new WaitingRows(this.#layers, name, this.#options.subtask);
    this.#buffers.set(name, rows);
    return rows;
  }

  beginUnit(): void {
    if (this.#isOpen) this.abandonUnit();
    this.#isOpen = true;
    this.#layers.isSuspended = false;
    for (const cells of this.#operators.values()) cells.beginUnit();
  }

  abandonUnit(): void {
    this.#isOpen = false;
    if (!this.#layers.isSuspended) this.#layers.forgetLoaded();
    this.#layers.isSuspended = false;
    for (const cells of this.#operators.values()) cells.abandonUnit();
    for (const rows of this.#buffers.values()) rows.abandonUnit();
  }

  loadMissing(): Promise<void> {
    return this.#layers.load();
  }

  takeDelta(): StateDelta {
    const writes: StateWrite[] = [];
    const timers: TimerChange[] = [];
    for (const cells of this.#operators.values()) cells.writeDelta(writes, timers);
    for (const rows of this.#buffers.values()) rows.writeDelta(writes);
    for (const write of writes) this.#check(write);
    this.#limit?.check(writes);
    return { writes, timers };
  }

  commitUnit(tag: VersionTag, delta: StateDelta): void {
    this.#add(tag, delta);
    this.#isOpen = false;
    for (const cells of this.#operators.values()) cells.commitUnit();
    for (const rows of this.#buffers.values()) rows.commitUnit();
  }

  catchUp(tag: VersionTag, delta: StateDelta): void {
    this.#add(tag, delta);
    for (const write of delta.writes) {
      if (write.address.operator === rowsState) this.#buffers.get(write.address.state)?.forget();
      else this.#operators.get(write.address.operator)?.learn(write);
    }
    for (const change of delta.timers) this.#operators.get(change.operator)?.learnTimer(change);
  }

  #add(tag: VersionTag, delta: StateDelta): void {
    this.#layers.forgetLoaded();
    this.#limit?.add(delta.writes);
    this.#overlay.add(tag, delta);
    this.#newest = tag;
  }

  async flush(view: VersionView, through?: number): Promise<Flushed> {
    const { base } = this.#options;
    const isPartial = through !== undefined && !base.isWholeInMemory;
    const pieces = isPartial ? this.#overlay.due(through, view) : this.#overlay.pieces();
    const flushed: Flushed = { kind: 'flushed', snapshot: base.snapshot, through: isPartial ? through : undefined };
    if (pieces.length === 0 || this.#newest === undefined) return flushed;
    const stored = await base.flush(pieces, view, this.#newest);
    this.#settle(stored);
    if (stored.size < pieces.length) return { kind: 'incomplete' };
    return { ...flushed, snapshot: base.snapshot };
  }

  async snapshotAtBarrier(name: string): Promise<string | undefined> {
    const pieces = this.#overlay.pieces();
    const written = await this.#options.base.writeSnapshot(name, pieces);
    if (written !== undefined) this.#settle(pieces);
    return written;
  }

  #settle(pieces: Iterable<UnflushedPiece>): void {
    this.#layers.forgetLoaded();
    for (const piece of pieces) this.#overlay.settle(piece);
  }

  async read(address: StateAddress): Promise<Uint8Array | undefined> {
    const [bytes] = await this.readMany([address]);
    return bytes;
  }

  async readMany(addresses: readonly StateAddress[]): Promise<readonly (Uint8Array | undefined)[]> {
    const { base } = this.#options;
    const committed = addresses.map((address) => this.#overlay.peek(partitionText(address), address.sub));
    const missing = addresses.filter((_, at) => committed[at] === notKnown);
    const read = missing.length === 0 ? [] : await base.read(missing);
    let next = 0;
    return committed.map((bytes) => (bytes === notKnown ? read[next++] : bytes));
  }

  hasUnflushed(partition: Partition): boolean {
    return this.#overlay.ofPartition(partitionText(partition)).next().done !== true;
  }

  async list(partition: Partition): Promise<readonly (readonly [sub: string, value: Uint8Array])[]> {
    const all = new Map<string, Uint8Array | undefined>(await this.#options.base.readAll(partition));
    for (const [sub, bytes] of this.#overlay.ofPartition(partitionText(partition))) all.set(sub, bytes);
    return [...all].flatMap(([sub, bytes]) => (bytes === undefined ? [] : [[sub, bytes] as const])).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  evict(keysMax: number): void {
    let tooMany = this.residentKeys - keysMax;
    for (const cells of this.#operators.values()) {
      if (tooMany <= 0) return;
      const keys = cells.keyCount();
      cells.evict(tooMany);
      tooMany -= keys;
    }
  }

  #check({ address, value }: StateWrite): void {
    this.#options.base.checkAddress(address);
    if (value === undefined || value.length <= stateValueBytesMax) return;
    const { operator, state } = address;
    throw new SluiceError('STATE_TOO_LARGE', {
      message: `state ${state} of ${operator} has a value of ${formatBytes(value.length)}, more than the ${formatBytes(stateValueBytesMax)} that can be kept`,
      next: 'fix-the-job',
      operator,
      state,
    });
  }
}
