// Where the shards of sources that evolve are read, as far as the job has names for them.

import { decodeValue } from '../../lib/core/value-codec.ts';
import type { FakeService } from '../../lib/testing/index.ts';

export interface ShardPlace {
  readonly subtask: string;
  readonly ordinal: number;
}

const itemName = /^split\/(\d+)-s(\d+)$/;

export class ShardPlaces {
  /** By `<stage> <id of the shard>`. */
  readonly #places = new Map<string, ShardPlace>();

  constructor(service: FakeService) {
    service.observers.push((change) => {
      if (change.kind !== 'item') return;
      const [, stage, ordinal] = itemName.exec(change.name) ?? [];
      if (stage === undefined) return;
      const { id } = decodeValue(change.content.bytes) as { readonly id: string };
      this.#places.set(`${stage} ${id}`, { subtask: `${stage}-s${ordinal}`, ordinal: Number(ordinal) });
    });
  }

  of(stage: number, id: string): ShardPlace | undefined {
    return this.#places.get(`${stage} ${id}`);
  }
}
