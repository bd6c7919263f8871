// The whole state of one subtask as one object.
//
//   snapshot  = format byte, number of partitions, partitions in order of their texts
//   partition = uid of the operator (name), state (name), key, number of pieces, each: sub, bytes      name: in full once, then its number
//
// Pieces are as value-format.ts writes them. Equal state has equal bytes, whoever wrote it: a second writer of one name writes the same.

import { ValueReader, ValueWriter } from '../../core/value-codec.ts';
import { NameReader, NameWriter } from '../payload.ts';
import type { Partition } from './base.ts';

const snapshotFormat = 1;

export interface StoredPartition {
  readonly partition: Partition;
  /** By `sub`. */
  readonly pieces: ReadonlyMap<string, Uint8Array>;
}

/** @param partitions  by partition text; empty ones are left out */
export function encodeSnapshot(partitions: ReadonlyMap<string, StoredPartition>): Uint8Array {
  const writer = new ValueWriter(4_096);
  const names = new NameWriter(writer);
  writer.writeByte(snapshotFormat);
  const kept = [...partitions].filter(([, { pieces }]) => pieces.size > 0).sort(byText);
  writer.writeVarint(kept.length);
  for (const [, { partition, pieces }] of kept) {
    names.write(partition.operator);
    names.write(partition.state);
    writer.writeBinaryString(partition.key);
    writer.writeVarint(pieces.size);
    for (const [sub, bytes] of [...pieces].sort(byText)) {
      writer.writeBinaryString(sub);
      writer.writeBytes(bytes);
    }
  }
  return writer.take();
}

function byText(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeSnapshot(bytes: Uint8Array): StoredPartition[] {
  const reader = new ValueReader(bytes, 0, 'snapshot of a subtask');
  reader.readFormat(snapshotFormat);
  const names = new NameReader(reader);
  const partitions: StoredPartition[] = [];
  for (let left = reader.readVarint(); left > 0; left--) {
    const partition = { operator: names.read(), state: names.read(), key: reader.readBinaryString() };
    const pieces = new Map<string, Uint8Array>();
    for (let more = reader.readVarint(); more > 0; more--) {
      const sub = reader.readBinaryString();
      pieces.set(sub, reader.readBytes());
    }
    partitions.push({ partition, pieces });
  }
  reader.expectEnd();
  return partitions;
}
