// A topic in memory: offsets with holes, records that are thrown away, partitions that are added.
import type { StreamRecord, Targets, TopicPage, TopicTarget } from '../../lib/api/targets.ts';

export interface TopicRecord {
  readonly offset: number;
  /** `undefined`: a tombstone. */
  readonly value: string | undefined;
  readonly key?: string;
}

export class FakeTopic implements TopicTarget {
  readonly all: TopicRecord[][];
  readonly oldest: number[];
  /** How often it was read. */
  reads = 0;

  constructor(partitions: number) {
    this.all = Array.from({ length: partitions }, () => []);
    this.oldest = this.all.map(() => 0);
  }

  addPartition(): void {
    this.all.push([]);
    this.oldest.push(0);
  }

  /** @param skip  offsets that nobody gets to see in front of it, as those of a transaction's marks */
  put(partition: number, value: string | undefined, o: { readonly key?: string; readonly skip?: number } = {}): void {
    this.all[partition]!.push({ offset: this.#end(partition) + (o.skip ?? 0), value, ...(o.key === undefined ? {} : { key: o.key }) });
  }

  /** Throws away what is older. */
  trim(partition: number, before: number): void {
    this.oldest[partition] = before;
    this.all[partition] = this.all[partition]!.filter(({ offset }) => offset >= before);
  }

  /** Takes one record out of the middle. */
  compact(partition: number, offset: number): void {
    this.all[partition] = this.all[partition]!.filter((record) => record.offset !== offset);
  }

  partitions(): Promise<number> {
    return Promise.resolve(this.all.length);
  }

  read(partition: number, from: bigint | undefined, recordsMax: number): Promise<TopicPage> {
    this.reads += 1;
    const oldest = this.oldest[partition]!;
    const start = Number(from ?? oldest);
    const end = this.#end(partition);
    const found = this.all[partition]!.filter(({ offset }) => offset >= start).slice(0, Math.min(recordsMax, 3));
    const last = found.at(-1);
    const records = found.map(({ offset, value, key }): StreamRecord => {
      const data = value === undefined ? undefined : Buffer.from(value);
      return { sequence: String(offset), data, ...(key === undefined ? {} : { key: Buffer.from(key) }) };
    });
    return Promise.resolve({ records, next: BigInt(last === undefined ? end : last.offset + 1), oldest: BigInt(oldest), end: BigInt(end) });
  }

  get targets(): Targets {
    return { topic: () => this } as unknown as Targets;
  }

  #end(partition: number): number {
    return Math.max(this.oldest[partition]!, (this.all[partition]!.at(-1)?.offset ?? -1) + 1);
  }
}
