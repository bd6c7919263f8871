// What an environment remembers of a lane: groups that it has looked at, and kept input that is in the ring and in no segment yet. A cache like the
// rest of a warm subtask: it follows the entries, its own and those of others.
//   M1  A group's state here is what the newest known entry makes of it. Only entries change it.
//   M2  Kept units leave the ring when their entry may: they are in a segment before an entry says that it is flushed.

import { addressText } from '../address.ts';
import type { Attempt, Entry, EntryHead, LaneProgress } from '../entry.ts';
import { isSettled } from '../poison/lane.ts';
import type { ObjectStore } from '../ports.ts';
import type { SubtaskState } from '../state/contract.ts';
import { decodeGroup, type GroupState, groupAddress, type LaneAddress, positionsOperator } from './group-state.ts';
import { type KeptList, segmentName, storeSegment } from './kept-input.ts';
import type { LaneQueue, LaneRecord } from './queues.ts';

/** Above this everything is forgotten, and read again when it is asked for. */
const groupsMax = 50_000;

interface UnflushedUnits {
  readonly n: number;
  readonly units: readonly Uint8Array[];
}

export class LaneMemory {
  readonly of: LaneQueue;
  readonly address: LaneAddress;
  readonly #objects: ObjectStore;
  readonly #newWriter: () => string;
  readonly #groups = new Map<string, GroupState | undefined>();
  #unflushed: UnflushedUnits[] = [];
  #list: KeptList;
  unflushedBytes = 0;

  /** @param lane  of the head that the ring's oldest unflushed entry follows */
  constructor(p: {
    readonly subtask: string;
    readonly of: LaneQueue;
    readonly lane: LaneProgress;
    readonly objects: ObjectStore;
    readonly newWriter: () => string;
  }) {
    this.of = p.of;
    this.#objects = p.objects;
    this.#newWriter = p.newWriter;
    this.address = { subtask: p.subtask, queue: p.of.queue };
    this.#list = p.lane;
  }

  /** What the next entry says of segments. */
  get list(): KeptList {
    return this.#list;
  }

  /** An entry follows, of this environment or of another one. */
  learn({ head, body }: Entry): void {
    for (const { address, value } of body.delta.writes) {
      if (address.operator !== positionsOperator) continue;
      const name = addressText(address);
      if (this.#groups.has(name)) this.#groups.set(name, value === undefined ? undefined : decodeGroup(value));
    }
    const units = body.kept ?? [];
    if (units.length === 0) return;
    this.#unflushed.push({ n: head.n, units });
    this.#count();
  }

  /** Somebody else has moved everything up to an entry out of the ring. */
  adopt({ flushedThrough, lane }: Entry['head']): void {
    if (lane === undefined) return;
    this.#list = lane;
    this.#unflushed = this.#unflushed.filter(({ n }) => n > flushedThrough);
    this.#count();
  }

  /** Makes these groups known. */
  async load(records: readonly LaneRecord[], state: Pick<SubtaskState, 'readMany'>): Promise<void> {
    if (this.#groups.size > groupsMax) this.#groups.clear();
    const missing = new Map(records.map((record) => [this.#name(record), record] as const).filter(([name]) => !this.#groups.has(name)));
    const names = [...missing.keys()];
    const read = await state.readMany([...missing.values()].map((record) => this.#address(record)));
    for (const [at, bytes] of read.entries()) this.#groups.set(names[at]!, bytes === undefined ? undefined : decodeGroup(bytes));
  }

  /** Of a group that was made known. */
  groupOf(record: LaneRecord): GroupState | undefined {
    return this.#groups.get(this.#name(record));
  }

  isSettled(record: LaneRecord): boolean {
    return isSettled(this.groupOf(record)?.settled, record);
  }

  /** Tries of these records that are committed. */
  attemptsOf(records: readonly LaneRecord[]): readonly Attempt[] {
    return records.flatMap((record): readonly Attempt[] => {
      const attempt = this.groupOf(record)?.attempt;
      return attempt?.record === record.name.record ? [{ ...record.name, count: attempt.count }] : [];
    });
  }

  /** Puts what is in the ring alone into a segment: before the next entry says that everything up to `n` is flushed. */
  async store({ generation, n }: Pick<EntryHead, 'generation' | 'n'>): Promise<void> {
    const units = this.#unflushed.flatMap((entry) => entry.units);
    if (units.length === 0) return;
    const { segment: previous, stored: from } = this.#list;
    const name = segmentName({ generation, subtask: this.address.subtask, through: n, writer: this.#newWriter() });
    await storeSegment(this.#objects, name, { previous, from, units });
    this.#list = { segment: name, stored: from + units.length };
    this.#unflushed = [];
    this.unflushedBytes = 0;
  }

  #count(): void {
    this.unflushedBytes = this.#unflushed.reduce((sum, { units }) => sum + units.reduce((bytes, unit) => bytes + unit.length, 0), 0);
  }

  #address({ group, message }: LaneRecord): ReturnType<typeof groupAddress> {
    return groupAddress(this.address, group, message.sentMs);
  }

  #name(record: LaneRecord): string {
    return addressText(this.#address(record));
  }
}
