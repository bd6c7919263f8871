// Puts and takes back the marker of what an invocation is about to run, by the rules of poison/marker.ts.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import { decideAtEnd, decideGuard, type MarkedGroup, type Marker, markerName, needsMarker, needsNewMarker } from '../poison/marker.ts';
import type { JobItems, StoredJobItem } from '../ports.ts';

export interface GuardOptions {
  readonly items: JobItems;
  readonly subtask: string;
  readonly attemptsMax: number;
  readonly isAgain: boolean | undefined;
}

/** Writers of one marker that may come between reading and putting it. */
const putsMax = 5;

export class Guard {
  readonly #o: GuardOptions;
  #mine:
    | { readonly marker: Marker; readonly name: string; readonly revision: number; readonly found: StoredJobItem | undefined }
    | undefined;
  #decided: { readonly size: number; readonly isParked: boolean } | undefined;
  #isCommitted = false;

  constructor(options: GuardOptions) {
    this.#o = options;
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
    const { isAgain, attemptsMax, items, subtask } = this.#o;
    if (group === undefined || !needsMarker({ isAgain, isCold })) return undefined;
    if (!needsNewMarker(this.#mine?.marker, group)) return this.#decided;
    const name = markerName(subtask, group.group);
    for (let puts = 0; puts < putsMax; puts++) {
      const found = await items.get(name);
      const { size, isParked, marker } = decideGuard(found === undefined ? undefined : markerOf(found), group, attemptsMax);
      const content = { bytes: encodeValue([markerFormat, marker]), change: '' };
      const put = await items.put({ name, content, expects: found?.revision ?? 'absent' });
      if (put.kind === 'conflict') continue;
      this.#mine = { marker, name, revision: put.revision, found };
      this.#decided = { size, isParked };
      this.#isCommitted = false;
      return this.#decided;
    }
    return undefined;
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
    const verdict = decideAtEnd({ isCommitted: this.#isCommitted, isMine: (await items.get(name))?.revision === revision });
    if (verdict === 'leave') return;
    if (verdict === 'restore' && found !== undefined) await items.put({ name, content: found, expects: revision });
    else await items.remove({ name, expects: revision });
  }
}

const markerFormat = 1;

/** A marker that cannot be read counts nothing. */
function markerOf({ bytes }: StoredJobItem): Marker | undefined {
  const stored = decodeValue(bytes);
  return Array.isArray(stored) && stored[0] === markerFormat ? (stored[1] as Marker) : undefined;
}
