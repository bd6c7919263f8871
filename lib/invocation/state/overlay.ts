// What is committed and not yet in the base: the newest value of each address for each epoch, and the changes of timers in order.
//   O1  Of one epoch the newest value counts; epochs are kept apart, because a restore may go back to the end of each.
//   O2  A piece is settled only if it is what was flushed: one that was written again meanwhile stays.
//   O3  For the entries up to some number to be in the base, it needs those pieces of which a reader may ask for a version that is that old. What
//       was written again since, and no restore can go back to, never has to be stored.

import { keyGroupOf } from '../../core/key-group.ts';
import type { StateAddress, StateDelta, TimerChange } from '../entry.ts';
import { mergeVersions } from '../versions.ts';
import type { Partition } from './base.ts';
import type { VersionTag, VersionView } from './contract.ts';
import { type NotKnown, notKnown } from './not-resident.ts';

export interface TaggedValue {
  readonly tag: VersionTag;
  /** `undefined`: it is there no more. */
  readonly bytes: Uint8Array | undefined;
}

export interface TaggedTimerChange {
  readonly tag: VersionTag;
  readonly change: TimerChange;
}

/** What one item of the base has to take up; both lists in order of entries. */
export type UnflushedPiece =
  | { readonly kind: 'value'; readonly address: StateAddress; readonly versions: readonly TaggedValue[] }
  /** Timers of one key group. */
  | { readonly kind: 'timers'; readonly address: StateAddress; readonly changes: readonly TaggedTimerChange[] };

export const timersState = '#timers';

/**
 * Timers of one key group, in one item.
 * @param holder  subtask whose timers they are, where a key group is not one subtask's alone: two writers of one item would each take the other's
 *   changes for changes that it has
 */
export function timersAddress(operator: string, group: number, holder?: string): StateAddress {
  return { operator, state: timersState, key: holder === undefined ? `${group}` : `${group}/${holder}`, sub: '' };
}

/** The key group of such an address. */
function groupOf({ key }: StateAddress): number {
  return Number.parseInt(key, 10);
}

/** Injective. */
export function partitionText({ operator, state, key }: Partition): string {
  return `${operator.length}.${state.length}.${operator}${state}${key}`;
}

type ValuePiece = Extract<UnflushedPiece, { kind: 'value' }>;

export class Overlay {
  readonly #maxParallelism: number;
  readonly #timersHolder: string | undefined;
  /** By partition, then by `sub`. A piece is never changed, only replaced. */
  readonly #values = new Map<string, Map<string, ValuePiece>>();
  /** By operator, then by key group. */
  readonly #timers = new Map<string, Map<number, { readonly address: StateAddress; changes: TaggedTimerChange[] }>>();
  #size = 0;

  /** @param timersHolder  see `timersAddress` */
  constructor(maxParallelism: number, timersHolder?: string) {
    this.#maxParallelism = maxParallelism;
    this.#timersHolder = timersHolder;
  }

  /** Pieces that are not in the base. */
  get size(): number {
    let groups = 0;
    for (const byGroup of this.#timers.values()) groups += byGroup.size;
    return this.#size + groups;
  }

  add(tag: VersionTag, delta: StateDelta): void {
    for (const { address, value } of delta.writes) this.#write(tag, address, value);
    for (const change of delta.timers) {
      const byGroup = this.#timers.get(change.operator) ?? new Map();
      this.#timers.set(change.operator, byGroup);
      const group = keyGroupOf(change.key, this.#maxParallelism);
      const of = byGroup.get(group) ?? { address: timersAddress(change.operator, group, this.#timersHolder), changes: [] };
      byGroup.set(group, of);
      of.changes.push({ tag, change });
    }
  }

  #write(tag: VersionTag, address: StateAddress, bytes: Uint8Array | undefined): void {
    const text = partitionText(address);
    let partition = this.#values.get(text);
    if (partition === undefined) {
      partition = new Map();
      this.#values.set(text, partition);
    }
    const before = partition.get(address.sub);
    if (before === undefined) this.#size += 1;
    const kept = before?.versions.filter(({ tag: { epoch } }) => epoch !== tag.epoch) ?? [];
    partition.set(address.sub, { kind: 'value', address, versions: [...kept, { tag, bytes }] });
  }

  /** @param partition  `partitionText` of the address */
  peek(partition: string, sub: string): Uint8Array | undefined | NotKnown {
    const piece = this.#values.get(partition)?.get(sub);
    return piece === undefined ? notKnown : piece.versions.at(-1)?.bytes;
  }

  /** What is known of a partition, by `sub`. */
  *ofPartition(partition: string): IterableIterator<readonly [sub: string, bytes: Uint8Array | undefined]> {
    for (const [sub, { versions }] of this.#values.get(partition) ?? []) yield [sub, versions.at(-1)?.bytes];
  }

  /** Every change of timers of an operator. Of one key they are in order. */
  *timersOf(operator: string): IterableIterator<TimerChange> {
    for (const { changes } of this.#timers.get(operator)?.values() ?? []) for (const { change } of changes) yield change;
  }

  pieces(): readonly UnflushedPiece[] {
    const pieces: UnflushedPiece[] = [];
    for (const partition of this.#values.values()) for (const piece of partition.values()) pieces.push(piece);
    for (const byGroup of this.#timers.values()) {
      for (const { address, changes } of byGroup.values()) pieces.push({ kind: 'timers', address, changes: [...changes] });
    }
    return pieces;
  }

  /** What has to be in the base for every entry up to `through` to be flushed. Of the other pieces, what nobody may ask for is forgotten. */
  due(through: number, view: VersionView): readonly UnflushedPiece[] {
    const due: UnflushedPiece[] = [];
    for (const partition of this.#values.values()) {
      for (const [sub, piece] of partition) {
        const versions = neededOf(piece.versions, view);
        if (versions.some(({ tag }) => tag.n <= through)) due.push(piece);
        else if (versions.length < piece.versions.length) partition.set(sub, { ...piece, versions });
      }
    }
    for (const byGroup of this.#timers.values()) {
      for (const { address, changes } of byGroup.values()) {
        if (changes.some(({ tag }) => tag.n <= through)) due.push({ kind: 'timers', address, changes: [...changes] });
      }
    }
    return due;
  }

  /** The base has this piece. */
  settle(piece: UnflushedPiece): void {
    if (piece.kind === 'value') this.#settleValue(piece);
    else this.#settleTimers(piece.address, piece.changes);
  }

  #settleValue(piece: ValuePiece): void {
    const text = partitionText(piece.address);
    const partition = this.#values.get(text);
    if (partition?.get(piece.address.sub) !== piece) return;
    partition.delete(piece.address.sub);
    this.#size -= 1;
    if (partition.size === 0) this.#values.delete(text);
  }

  #settleTimers(address: StateAddress, flushed: readonly TaggedTimerChange[]): void {
    const byGroup = this.#timers.get(address.operator);
    const group = groupOf(address);
    const of = byGroup?.get(group);
    if (byGroup === undefined || of === undefined || of.changes[0] !== flushed[0]) return;
    of.changes = of.changes.slice(flushed.length);
    if (of.changes.length === 0) byGroup.delete(group);
  }
}

/** The versions that an item would keep. */
function neededOf(versions: readonly TaggedValue[], view: VersionView): readonly TaggedValue[] {
  const byTag = new Map(versions.map((v) => [{ ...v.tag, value: v.bytes, object: undefined }, v] as const));
  const kept = new Set(mergeVersions([], [...byTag.keys()], view));
  return [...byTag].flatMap(([version, tagged]) => (kept.has(version) ? [tagged] : []));
}
