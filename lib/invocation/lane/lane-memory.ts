// What an environment remembers of a lane: groups that it has looked at, and kept input that is in the ring and in no segment yet. A cache like the
// rest of a warm subtask: it follows the entries, its own and those of others.
//   M1  A group's state here is what the newest known entry makes of it. Only entries change it.
//   M2  Kept units leave the ring when their entry may: they are in a segment before an entry says that it is flushed.
//   M3  A segment goes on from the list of the newest entry, and from nothing else: of several writers' segments one is named by an entry, and no
//       list ever leads through another one, which clean-up takes for left behind.

import { addressText } from '../address.ts';
import type { Attempt, Entry, LaneProgress } from '../entry.ts';
import { isSettled } from '../poison/lane.ts';
import type { ObjectStore } from '../ports.ts';
import type { SubtaskState } from '../state/contract.ts';
import { decodeGroup, type GroupState, groupAddress, type LaneAddress, positionsOperator } from './group-state.ts';
import { type KeptList, segmentName, storeSegment } from './kept-input.ts';
import type { LaneQueue, LaneRecord } from './queues.ts';

/** Above this everything is forgotten, and read again when it is asked for. */
const groupsMax = 50_000;

interface RingUnits {
  readonly n: number;
  readonly units: readonly Uint8Array[];
}

export class LaneMemory {
  readonly of: LaneQueue;
  readonly address: LaneAddress;
  readonly #objects: ObjectStore;
  readonly #newWriter: () => string;
  readonly #groups = new Map<string, GroupState | undefined>();
  /** Of entries that the newest one does not call flushed. */
  #inRing: RingUnits[] = [];
  /** As the newest entry has it. */
  #committed: KeptList;
  /** The committed list with a segment that no entry names yet. */
  #own: KeptList | undefined;

  /** @param lane  of the newest head */
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
    this.#committed = p.lane;
  }

  /** What the next entry says of segments. */
  get list(): KeptList {
    return this.#own ?? this.#committed;
  }

  /** Kept input that may lie in the ring alone. */
  get bytesInRing(): number {
    return this.#inRing.reduce((sum, { units }) => sum + units.reduce((bytes, unit) => bytes + unit.length, 0), 0);
  }

  /** An entry follows, of this environment or of another one. */
  learn({ head, body }: Entry): void {
    for (const { address, value } of body.delta.writes) {
      if (address.operator !== positionsOperator) continue;
      const name = addressText(address);
      if (this.#groups.has(name)) this.#groups.set(name, value === undefined ? undefined : decodeGroup(value));
    }
    if (body.kept !== undefined) this.#inRing.push({ n: head.n, units: body.kept });
    if (head.lane === undefined) return;
    if (head.lane.segment !== this.#committed.segment) this.#own = undefined;
    this.#committed = head.lane;
    this.#inRing = this.#inRing.filter(({ n }) => n > head.flushedThrough);
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

  /** M2, M3: to be called before an entry is made that says `flushedThrough`. */
  async secure({ generation, flushedThrough }: { readonly generation: number; readonly flushedThrough: number }): Promise<void> {
    const units = this.#inRing.filter(({ n }) => n <= flushedThrough).flatMap((entry) => entry.units);
    const { segment: previous, stored: from } = this.#committed;
    const stored = from + units.length;
    if (units.length === 0 || this.#own?.stored === stored) return;
    const name = segmentName({ generation, subtask: this.address.subtask, through: flushedThrough, writer: this.#newWriter() });
    await storeSegment(this.#objects, name, { previous, from, units });
    this.#own = { segment: name, stored };
  }

  #address({ group, message }: LaneRecord): ReturnType<typeof groupAddress> {
    return groupAddress(this.address, group, message.sentMs);
  }

  #name(record: LaneRecord): string {
    return addressText(this.#address(record));
  }
}
