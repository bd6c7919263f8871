// What must hold of the state table at each of its changes; the rules are those of versions.ts.
//   V1  What a retained checkpoint, or an open one, would bring back stays, and so does the newest version. Only what is newer takes its place (N3).
//       An open one that a subtask has passed by never completes: a writer that went by an older job item need not know that it began.
//   V2  A writer of the generation of today leaves nothing that a restore has hidden (N3).
//   V3  What was removed does not come back with what is older than its removal: whoever could write that was still alive (N4).

import type { JobItem, OpenCheckpoint } from '../../lib/invocation/job-item.ts';
import type { ItemAddress } from '../../lib/invocation/ports.ts';
import { addressKey } from '../../lib/invocation/request-limits.ts';
import type { VersionTag } from '../../lib/invocation/state/contract.ts';
import { isTombstone, isVisible, type Version, visibleVersion } from '../../lib/invocation/versions.ts';
import type { ServiceChange } from '../../lib/testing/index.ts';
import { versionsOf } from './decoded.ts';

type Put = Extract<ServiceChange, { kind: 'state-item' }>;

export class TableAudit {
  /** By address of an item that was removed: the newest version that it had. */
  readonly #removed = new Map<string, VersionTag>();
  readonly #isPassedBy: (open: OpenCheckpoint) => boolean;

  /** @param isPassedBy  whether a subtask that has to acknowledge the checkpoint has passed a later barrier, and not its own */
  constructor(isPassedBy: (open: OpenCheckpoint) => boolean) {
    this.#isPassedBy = isPassedBy;
  }

  /** @returns what is wrong with a put */
  *put({ item: put, was }: Put, job: JobItem): Generator<string> {
    const now = versionsOf(put.bytes);
    const before = was === undefined ? [] : versionsOf(was.bytes);
    const where = tell(put.address);
    for (const point of this.#pointsOf(job)) {
      const lost = lostAt(point, before, now, job);
      if (lost !== undefined && !isEmptied(before, now))
        yield `V1: ${where} has lost ${lost} of ${point === Number.POSITIVE_INFINITY ? 'today' : `checkpoint ${point}`}`;
    }
    const isOfToday = now.some((v) => v.generation === job.generation && !before.some((b) => isSame(b, v)));
    const hidden = now.find((v) => !isVisible(v, job));
    if (isOfToday && hidden !== undefined) yield `V2: ${where} keeps ${tellTag(hidden)}, which a restore has hidden`;
    const removed = this.#removed.get(addressKey(put.address));
    if (was !== undefined || removed === undefined) return;
    const newest = now[0]!;
    if (compare(newest, removed) < 0) yield `V3: ${where} was removed as of ${tellTag(removed)}, and comes back with ${tellTag(newest)}`;
  }

  expired({ was }: Extract<ServiceChange, { kind: 'state-item-expired' }>): void {
    const [newest] = versionsOf(was.bytes);
    if (newest !== undefined) this.#removed.set(addressKey(was.address), newest);
  }

  #pointsOf({ completed, open }: JobItem): readonly number[] {
    const ahead = open.filter((o) => !this.#isPassedBy(o));
    return [Number.POSITIVE_INFINITY, ...[...completed, ...ahead].map(({ checkpoint }) => checkpoint)];
  }
}

function lostAt(point: number, before: readonly Version[], now: readonly Version[], job: JobItem): string | undefined {
  const had = visibleVersion(before, job, point);
  if (had === undefined) return undefined;
  const has = visibleVersion(now, job, point);
  return has === undefined || compare(has, had) < 0 ? tellTag(had) : undefined;
}

/** State of a subtask that is gone for good (departed-state.ts). */
function isEmptied(before: readonly Version[], now: readonly Version[]): boolean {
  const [last, newest] = [before[0], now[0]];
  if (last === undefined || newest === undefined || now.length !== 1 || !isTombstone(newest)) return false;
  return newest.generation === last.generation && newest.epoch === last.epoch && newest.n === last.n + 1;
}

function compare(a: VersionTag, b: VersionTag): number {
  return a.generation - b.generation || a.epoch - b.epoch || a.n - b.n;
}

const isSame = (a: VersionTag, b: VersionTag): boolean => compare(a, b) === 0;
const tell = ({ partition, sort }: ItemAddress): string => `item ${partition} ${sort}`;
const tellTag = ({ generation, epoch, n }: VersionTag): string => `version ${generation}.${epoch}.${n}`;
