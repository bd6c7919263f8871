// The keyed state of a snapshot as pieces of the versioned table, and back: the same pieces under the same addresses as invocations write.

import type { KeyGroupSnapshot, StateInfo } from '../../../checkpoint/snapshot.ts';
import { keyGroupOf } from '../../../core/key-group.ts';
import type { ValueReader, ValueWriter } from '../../../core/value-codec.ts';
import type { StateAddress, TimerChange } from '../../../invocation/entry.ts';
import { timersAddress, timersState } from '../../../invocation/state/overlay.ts';
import {
  changedTimers,
  chunkAddresses,
  chunkSub,
  decodeCell,
  decodeEntry,
  decodeList,
  decodeTimers,
  emptyListLayout,
  encodeCell,
  encodeList,
} from '../../../invocation/state/value-format.ts';
import { type CellKind, storedUndefined, writeCell } from '../../../state/heap/cells.ts';
import { itemTag, newChunk, openChunk } from '../../../state/keyed-format.ts';

export interface Piece {
  readonly address: StateAddress;
  readonly bytes: Uint8Array;
}

function cellKindOf({ kind }: StateInfo): CellKind {
  return kind === 'list' || kind === 'map' ? kind : 'single';
}

export function* piecesOf(operator: string, states: readonly StateInfo[], groups: readonly KeyGroupSnapshot[]): Generator<Piece> {
  for (const { group, bytes } of groups) {
    const reader = openChunk(bytes, operator);
    const timers: TimerChange[] = [];
    while (reader.remaining > 0) {
      const tag = reader.readByte();
      if (tag === itemTag.entry) yield* piecesOfKey(operator, states, reader);
      else timers.push(timerOf(operator, tag, reader));
    }
    const encoded = changedTimers(undefined, timers, operator);
    if (encoded !== undefined) yield { address: timersAddress(operator, group), bytes: encoded };
  }
}

function timerOf(operator: string, tag: number, reader: ValueReader): TimerChange {
  const isEvent = tag === itemTag.eventTimer || tag === itemTag.causedEventTimer;
  const hasCause = tag === itemTag.causedEventTimer || tag === itemTag.causedProcessingTimer;
  if (!isEvent && !hasCause && tag !== itemTag.processingTimer) throw reader.damaged(`item tag ${tag} is unknown`);
  const time = reader.readValue() as number;
  const key = reader.readBinaryString();
  const cause = hasCause ? (reader.readValue() as string) : undefined;
  return { operator, domain: isEvent ? 'event' : 'processing', isSet: true, time, key, cause };
}

function* piecesOfKey(operator: string, states: readonly StateInfo[], reader: ValueReader): Generator<Piece> {
  const key = reader.readBinaryString();
  for (let index = reader.readVarint(); index > 0; index = reader.readVarint()) {
    const info = states[index - 1];
    if (info === undefined) throw reader.damaged(`state index ${index - 1} is unknown`);
    yield* piecesOfCell({ operator, state: info.name, key, sub: '' }, info, reader);
  }
}

function* piecesOfCell(address: StateAddress, info: StateInfo, reader: ValueReader): Generator<Piece> {
  const { version } = info;
  switch (cellKindOf(info)) {
    case 'single': {
      const value = reader.readStored();
      yield { address, bytes: encodeCell(value === undefined ? storedUndefined : value, version) };
      return;
    }
    case 'list': {
      const items: unknown[] = [];
      for (let left = reader.readVarint(); left > 0; left--) items.push(reader.readStored());
      const { head, chunks } = encodeList(items, items.length, version, emptyListLayout);
      yield { address, bytes: head };
      for (const [i, bytes] of chunks.entries()) yield { address: { ...address, sub: chunkSub(i) }, bytes };
      return;
    }
    case 'map':
      for (let left = reader.readVarint(); left > 0; left--) {
        const sub = reader.readBinaryString();
        yield { address: { ...address, sub }, bytes: encodeCell(reader.readStored(), version) };
      }
  }
}

/** By state, then by `sub`. */
type KeyPieces = Map<string, Map<string, Uint8Array>>;

/** @param pieces  of this operator @returns in order of groups */
export function groupsOf(
  operator: string,
  states: readonly StateInfo[],
  pieces: Iterable<Piece>,
  maxParallelism: number,
): readonly KeyGroupSnapshot[] {
  const byGroup = new Map<number, { readonly keys: Map<string, KeyPieces>; timers: Uint8Array | undefined }>();
  const at = (group: number): { readonly keys: Map<string, KeyPieces>; timers: Uint8Array | undefined } => {
    const known = byGroup.get(group) ?? { keys: new Map<string, KeyPieces>(), timers: undefined };
    byGroup.set(group, known);
    return known;
  };
  for (const { address, bytes } of pieces) {
    if (address.state === timersState) {
      at(Number(address.key)).timers = bytes;
      continue;
    }
    const { keys } = at(keyGroupOf(address.key, maxParallelism));
    const key: KeyPieces = keys.get(address.key) ?? new Map();
    keys.set(address.key, key);
    const state = key.get(address.state) ?? new Map<string, Uint8Array>();
    key.set(address.state, state);
    state.set(address.sub, bytes);
  }
  const inOrder = [...byGroup].sort(([a], [b]) => a - b);
  return inOrder.map(([group, { keys, timers }]) => {
    const chunk = newChunk();
    for (const [key, of] of keys) writeKey(chunk, { operator, states, key, of });
    if (timers !== undefined) writeTimers(chunk, timers, operator);
    return { group, bytes: chunk.take() };
  });
}

function writeKey(
  chunk: ValueWriter,
  p: { readonly operator: string; readonly states: readonly StateInfo[]; readonly key: string; readonly of: KeyPieces },
): void {
  const { operator, states, key, of } = p;
  chunk.writeByte(itemTag.entry);
  chunk.writeBinaryString(key);
  for (const [index, info] of states.entries()) {
    const subs = of.get(info.name);
    if (subs === undefined) continue;
    const image = imageOf(info, subs, { operator, state: info.name, key, sub: '' });
    if (image === undefined) continue;
    chunk.writeVarint(index + 1);
    writeCell(cellKindOf(info), image, chunk);
  }
  chunk.writeVarint(0);
}

function imageOf(info: StateInfo, subs: ReadonlyMap<string, Uint8Array>, address: StateAddress): unknown {
  const column = { info, migrate: undefined };
  const { operator } = address;
  if (cellKindOf(info) === 'map') {
    const entries = [...subs]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([sub, bytes]) => [sub, decodeEntry(bytes, column, operator)] as const);
    return { size: entries.length, entries: () => entries };
  }
  const head = subs.get('');
  if (head === undefined) return undefined;
  if (cellKindOf(info) === 'single') return decodeCell(head, column, operator);
  const chunks = chunkAddresses(address, head).flatMap(({ sub }) => subs.get(sub) ?? []);
  const { items } = decodeList(head, chunks, column, operator);
  return { items, length: items.length };
}

function writeTimers(chunk: ValueWriter, bytes: Uint8Array, operator: string): void {
  for (const { domain, time, keyText, cause } of decodeTimers(bytes, operator)) {
    const isEvent = domain === 'event';
    if (cause === undefined) chunk.writeByte(isEvent ? itemTag.eventTimer : itemTag.processingTimer);
    else chunk.writeByte(isEvent ? itemTag.causedEventTimer : itemTag.causedProcessingTimer);
    chunk.writeValue(time);
    chunk.writeBinaryString(keyText);
    if (cause !== undefined) chunk.writeValue(cause);
  }
}
