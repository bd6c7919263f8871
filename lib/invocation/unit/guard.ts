// Puts and takes back the marker of what an invocation is about to run, by the rules of poison/marker.ts.
//   G1  A marker says who put it. One that is our own, found because the reply to putting it was lost, is no trace of a death.
//   G2  Who gives up alive under the marker of somebody else takes its own run out of it.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import {
  decideAtEnd,
  decideGuard,
  type MarkedGroup,
  type Marker,
  markerName,
  needsMarker,
  needsNewMarker,
  withoutRun,
} from '../poison/marker.ts';
import type { JobItems, StoredJobItem } from '../ports.ts';

export interface GuardOptions {
  readonly items: JobItems;
  readonly subtask: string;
  readonly attemptsMax: number;
  readonly isAgain: boolean | undefined;
  /** Unique in the life of the job. */
  readonly newWriter: () => string;
  /** When the invocation is over; absent: nobody knows. */
  readonly end?: InvocationEnd | undefined;
}

export interface InvocationEnd {
  readonly now: () => number;
  readonly untilMs: number;
}

interface Tried {
  readonly marker: Marker;
  readonly size: number;
  readonly isParked: boolean;
  /** What the marker replaces. */
  readonly found: StoredJobItem | undefined;
}

/** Writers of one marker that may come between reading and putting it. */
const putsMax = 5;

export class Guard {
  readonly #o: GuardOptions;
  #mine:
    | {
        readonly marker: Marker;
        readonly name: string;
        readonly writer: string;
        readonly revision: number;
        readonly found: StoredJobItem | undefined;
      }
    | undefined;
  #decided: { readonly size: number; readonly isParked: boolean } | undefined;
  #isCommitted = false;

  constructor(options: GuardOptions) {
    this.#o = options;
  }

  /** Whether a run that may kill would be marked. */
  isNeeded(isCold: boolean): boolean {
    return needsMarker({ isAgain: this.#o.isAgain, isCold });
  }

  /**
   * Just before a run.
   * @param group  what would run; `undefined`: nothing that could kill
   * @returns how much of it may; `undefined`: all
   */
  async before(
    group: MarkedGroup | undefined,
    isCold: boolean,
  ): Promise<{ readonly size: number; readonly isParked: boolean } | undefined> {
    const { attemptsMax, items, subtask, newWriter, end } = this.#o;
    if (group === undefined || !this.isNeeded(isCold)) return undefined;
    if (!needsNewMarker(this.#mine?.marker, group)) return this.#decided;
    const name = markerName(subtask, group.group);
    const writer = newWriter();
    let tried: Tried | undefined;
    for (let puts = 0; puts < putsMax; puts++) {
      const found = await items.get(name);
      if (tried !== undefined && found !== undefined && writerOf(found) === writer)
        return this.#keep({ name, writer }, tried, found.revision);
      const run = end === undefined ? undefined : { writer, untilMs: end.untilMs, nowMs: end.now() };
      const { size, isParked, marker } = decideGuard(found === undefined ? undefined : markerOf(found), group, attemptsMax, run);
      const content = { bytes: encodeValue([markerFormat, marker, writer]), change: '' };
      const put = await items.put({ name, content, expects: found?.revision ?? 'absent' });
      tried = { size, isParked, marker, found };
      if (put.kind === 'stored') return this.#keep({ name, writer }, tried, put.revision);
    }
    return undefined;
  }

  #keep(
    own: { readonly name: string; readonly writer: string },
    { size, isParked, marker, found }: Tried,
    revision: number,
  ): { readonly size: number; readonly isParked: boolean } {
    this.#mine = { ...own, marker, revision, found };
    this.#decided = { size, isParked };
    this.#isCommitted = false;
    return this.#decided;
  }

  /** What was marked has been committed. */
  committed(): void {
    this.#isCommitted = true;
  }

  /** At the end of the invocation, however it ends. */
  async end(): Promise<void> {
    const mine = this.#mine;
    if (mine === undefined) return;
    this.#mine = undefined;
    const { name, revision, found } = mine;
    const { items } = this.#o;
    const isMine = (await items.get(name))?.revision === revision;
    const verdict = decideAtEnd({ isCommitted: this.#isCommitted, isMine });
    if (!isMine && !this.#isCommitted) await this.#takeOut(name, mine.writer);
    if (verdict === 'leave') return;
    if (verdict === 'restore' && found !== undefined) await items.put({ name, content: found, expects: revision });
    else await items.remove({ name, expects: revision });
  }

  async #takeOut(name: string, writer: string): Promise<void> {
    const { items } = this.#o;
    for (let puts = 0; puts < putsMax; puts++) {
      const found = await items.get(name);
      const marker = found === undefined ? undefined : markerOf(found);
      const left = marker === undefined ? undefined : withoutRun(marker, writer);
      if (found === undefined || left === undefined) return;
      const content = { bytes: encodeValue([markerFormat, left, writerOf(found)]), change: '' };
      if ((await items.put({ name, content, expects: found.revision })).kind === 'stored') return;
    }
  }
}

const markerFormat = 1; // `alone` came later: who does not know it counts too few deaths, and no wrong ones

/** A marker that cannot be read counts nothing. */
function markerOf({ bytes }: StoredJobItem): Marker | undefined {
  const stored = decodeValue(bytes);
  return Array.isArray(stored) && stored[0] === markerFormat ? (stored[1] as Marker) : undefined;
}

function writerOf({ bytes }: StoredJobItem): unknown {
  const stored = decodeValue(bytes);
  return Array.isArray(stored) ? stored[2] : undefined;
}
