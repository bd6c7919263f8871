// Input that cannot be read again (standard input, sockets) is written down before it is delivered, and read from there like any other input.
//   G1  A record is delivered only when its segment is stored. What was read and not stored when the process died is gone with the stream.
//   G2  Segments are numbered by their first record, malformed ones counted, and stored once: of two processes that read a stream, one finds
//       out that it is not the owner any more.
//   G3  A segment goes when every retained checkpoint and every subtask is behind it.

import { OutputTag } from '../../api/functions.ts';
import type { Source, SourceContext, SourceOutput, Split, SplitPosition, SplitReader } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { ObjectStore } from '../../invocation/ports.ts';
import { Bell } from './bell.ts';

interface LoggedRecord {
  readonly value: unknown;
  /** Tag of the side output of a malformed record. */
  readonly side?: string;
}

interface Segment {
  /** Records before it, malformed ones left out. */
  readonly index: number;
  readonly records: readonly LoggedRecord[];
  /** The stream has ended behind these. */
  readonly isLast: boolean;
}

const segmentRecordsMax = 1_000;
const nameDigits = 14;
const lookEveryMs = 50; // only where the stream is read by another process

function directoryOf(uid: string, split: string): string {
  return `input/${encodeURIComponent(uid)}/${encodeURIComponent(split)}/`;
}

function nameOf(directory: string, first: number): string {
  return `${directory}${String(first).padStart(nameDigits, '0')}`;
}

function firstOf(name: string): number {
  return Number(name.slice(-nameDigits));
}

export interface LogPlace {
  readonly objects: ObjectStore;
  readonly clock: Clock;
  readonly uid: string;
}

/** Reads a stream to its end into the log. */
export class InputLogWriter {
  /** Rung when there is more. */
  readonly bell: Bell;
  readonly #place: LogPlace;
  readonly #split: Split;
  readonly #directory: string;

  constructor(place: LogPlace, split: Split, bell: Bell = new Bell(place.clock)) {
    this.#place = place;
    this.#split = split;
    this.#directory = directoryOf(place.uid, split.id);
    this.bell = bell;
  }

  /**
   * Resolves when the stream has ended and all of it is stored, or when `stopped` does.
   * @throws what the source throws; SluiceError `OWNER_LOST`
   */
  async run(source: Source<unknown>, context: SourceContext, stopped: Promise<void>): Promise<void> {
    let { first, index, isLast } = await this.#end();
    if (isLast) return;
    let isStopped = false;
    void stopped.then(() => {
      isStopped = true;
    });
    const reader = source.open(this.#split, index === 0 ? undefined : { index, at: undefined }, context);
    try {
      while (!isStopped) {
        const records = take(reader);
        if (records.length === 0 && !reader.hasEnded) {
          await Promise.race([reader.ready(), stopped]);
          continue;
        }
        await this.#store(first, { index, records, isLast: reader.hasEnded });
        first += records.length;
        index += records.filter(({ side }) => side === undefined).length;
        if (reader.hasEnded) return;
      }
    } finally {
      await reader.close();
    }
  }

  async #end(): Promise<{ readonly first: number; readonly index: number; readonly isLast: boolean }> {
    const name = (await this.#place.objects.list(this.#directory)).at(-1);
    if (name === undefined) return { first: 0, index: 0, isLast: false };
    const { index, records, isLast } = await readSegment(this.#place.objects, name);
    return {
      first: firstOf(name) + records.length,
      index: index + records.filter(({ side }) => side === undefined).length,
      isLast,
    };
  }

  async #store(first: number, segment: Segment): Promise<void> {
    const stored = await this.#place.objects.putIfAbsent(nameOf(this.#directory, first), encodeValue(segment));
    if (stored === 'exists') {
      const message = `another process reads ${this.#split.id} for this job`;
      throw new SluiceError('OWNER_LOST', { message, next: 'fix-the-command', operator: this.#place.uid });
    }
    this.bell.ring();
  }
}

function take(reader: SplitReader<unknown>): readonly LoggedRecord[] {
  const records: LoggedRecord[] = [];
  const output: SourceOutput<unknown> = {
    values: [],
    count: 0,
    side: (tag, value) => void records.push({ value, side: tag.id }),
  };
  while (records.length < segmentRecordsMax) {
    output.count = 0;
    const before = records.length;
    if (reader.poll(output, 1) > 0) records.push({ value: output.values[0] });
    else if (records.length === before) break;
  }
  return records;
}

async function readSegment(objects: ObjectStore, name: string): Promise<Segment> {
  const bytes = await objects.get(name);
  if (bytes !== undefined) return decodeValue(bytes) as Segment;
  throw new SluiceError('OBJECT_MISSING', { message: `the input log has lost ${name}`, next: 'report-a-bug' });
}

/** The logged form of a source. @param bell  of the writer, when it is in this process */
export function loggedSource(source: Source<unknown>, place: LogPlace, bell: Bell = new Bell(place.clock)): Source<unknown> {
  return {
    kind: source.kind,
    isRereadable: true,
    isBounded: source.isBounded,
    isEager: source.isEager,
    enumerate: (context) => source.enumerate(context),
    open: (split, from) => new LogReader(place, split, from, bell),
  };
}

/** Reads the log and waits at its end for more. */
class LogReader implements SplitReader<unknown> {
  readonly #place: LogPlace;
  readonly #directory: string;
  readonly #bell: Bell;
  #index: number;
  /** Records handed out, malformed ones included. */
  #next: number;
  #segment: Segment | undefined;
  #segmentFirst = 0;
  #isClosed = false;

  constructor(place: LogPlace, split: Split, from: SplitPosition | undefined, bell: Bell) {
    this.#place = place;
    this.#directory = directoryOf(place.uid, split.id);
    this.#bell = bell;
    this.#index = from?.index ?? 0;
    this.#next = (from?.at as number | undefined) ?? 0;
  }

  get hasEnded(): boolean {
    return this.#segment?.isLast === true && this.#left() === 0;
  }

  poll(out: SourceOutput<unknown>, max: number): number {
    let count = 0;
    while (count < max && this.#left() > 0) {
      const { value, side } = this.#segment!.records[this.#next - this.#segmentFirst]!;
      this.#next += 1;
      if (side !== undefined) out.side(new OutputTag(side), value);
      else {
        out.values[out.count++] = value;
        this.#index += 1;
        count += 1;
      }
    }
    return count;
  }

  ready(): Promise<void> | undefined {
    return this.#left() > 0 || this.hasEnded ? undefined : this.#load();
  }

  position(): SplitPosition {
    return { index: this.#index, at: this.#next };
  }

  close(): void {
    this.#isClosed = true;
    this.#bell.ring();
  }

  #left(): number {
    return this.#segment === undefined ? 0 : this.#segmentFirst + this.#segment.records.length - this.#next;
  }

  async #load(): Promise<void> {
    while (!this.#isClosed) {
      const name = await this.#find();
      if (name !== undefined) {
        this.#segment = await readSegment(this.#place.objects, name);
        this.#segmentFirst = firstOf(name);
        if (this.#left() > 0 || this.hasEnded) return;
      }
      await this.#bell.wait(lookEveryMs);
    }
  }

  /** The segment that holds the next record, or an empty last one behind it. */
  async #find(): Promise<string | undefined> {
    const names = await this.#place.objects.list(this.#directory);
    return names.findLast((name) => firstOf(name) <= this.#next);
  }
}

/**
 * Removes what nobody will read again (G3).
 * @param before  record number, malformed ones counted, from which on records are needed
 */
export async function trimInputLog(objects: ObjectStore, uid: string, split: string, before: number): Promise<void> {
  const names = await objects.list(directoryOf(uid, split));
  // The last one stays: it says where the stream goes on.
  for (const [i, name] of names.entries()) {
    const next = names[i + 1];
    if (next === undefined || firstOf(next) > before) return;
    await objects.remove(name);
  }
}
