// keyed-table.ts is the versioned table under the embedded runtime. State works on the heap; a checkpoint writes what has changed since the one before,
// and a restore reads the table once.
//   K1  Items, versions and what makes one visible are those of invocations. A checkpoint is the epoch of its number, an attempt a generation: a restore
//       raises it, and versions behind its checkpoint are visible no more.
//   K2  Generations are counted in the table, since a checkpoint directory may be a new one. Who begins on a revision that is not the one read has
//       been overtaken.
//   K3  Of each piece that is stored a hash is kept, so that the next checkpoint writes what has changed and no more. What may or may not have been stored
//       has none.
//   K4  Checkpoints of one subtask are stored one after the other, and never one behind a higher one: it would be compared with what came later.

import { createHash } from 'node:crypto';
import type { KeyedTableHandle } from '../../../checkpoint/handles.ts';
import type { KeyedStore } from '../../../checkpoint/keyed-store.ts';
import type { KeyGroupSnapshot } from '../../../checkpoint/snapshot.ts';
import { SluiceError } from '../../../core/errors.ts';
import { keyGroupOf } from '../../../core/key-group.ts';
import { decodeValue, encodeValue } from '../../../core/value-codec.ts';
import { addressOfItem, addressText, checkAddress } from '../../../invocation/address.ts';
import type { StateAddress } from '../../../invocation/entry.ts';
import { jobItemName, type RestorePoint } from '../../../invocation/job-item.ts';
import type { Patience } from '../../../invocation/patience.ts';
import { type JobItems, type ObjectStore, readManyMax, type StateItem, type StateTable } from '../../../invocation/ports.ts';
import { removeDropped } from '../../../invocation/state/dropped-values.ts';
import { timersState, type UnflushedPiece } from '../../../invocation/state/overlay.ts';
import { flushToTable } from '../../../invocation/state/table-flush.ts';
import { storedValueOf } from '../../../invocation/state/version-values.ts';
import { decodeItem, visibleVersion } from '../../../invocation/versions.ts';
import { groupsOf, type Piece, piecesOf } from './pieces.ts';

export interface KeyedTableOptions {
  readonly job: string;
  /** Name of the table. */
  readonly name: string;
  readonly table: StateTable;
  readonly items: JobItems;
  readonly objects: ObjectStore;
  /** Every item of state, read strongly. */
  readonly scan: () => AsyncIterable<StateItem>;
  readonly patience: Patience;
  readonly close: () => void;
}

/** What the table knows of the runs over it. */
export interface TableRuns {
  readonly job: string;
  readonly generation: number;
  readonly restores: readonly RestorePoint[];
}

const runsItem = 'embedded';
const runsFormat = 1;
/** Requests of one store that are under way at once. */
const lanesMax = 8;
type KeptPieces = Map<string, { readonly address: StateAddress; readonly hash: string | undefined }>;

interface OperatorPlace {
  readonly uid: string;
  readonly subtask: number;
}

/** Pure: with one more restore. One that a later one goes back behind says nothing any more. */
export function withRestore(restores: readonly RestorePoint[], next: RestorePoint): readonly RestorePoint[] {
  return [...restores.filter(({ checkpoint }) => checkpoint < next.checkpoint), next];
}

/** Pure: the restore that has undone a checkpoint, if any. */
export function undoneBy(restores: readonly RestorePoint[], handle: KeyedTableHandle, checkpoint: number): RestorePoint | undefined {
  return restores.find((restore) => handle.generation < restore.generation && restore.checkpoint < checkpoint);
}

export class KeyedTable implements KeyedStore {
  readonly #o: KeyedTableOptions;
  #revision: number | undefined;
  #runs: TableRuns;
  /** Of the loaded checkpoint, by operator. */
  #loaded = new Map<string, Piece[]>();
  readonly #kept = new Map<string, KeptPieces>();
  readonly #last = new Map<string, { readonly checkpoint: number; readonly done: Promise<unknown> }>();

  constructor(o: KeyedTableOptions) {
    this.#o = o;
    this.#runs = { job: o.job, generation: 0, restores: [] };
  }

  async load(from: { readonly handle: KeyedTableHandle; readonly checkpoint: number } | undefined): Promise<void> {
    const before = await this.#readRuns();
    const generation = before.generation + 1;
    if (from !== undefined) this.#checkHeld(from.handle, from.checkpoint, before.restores);
    const restores = withRestore(before.restores, { generation, checkpoint: from?.checkpoint ?? 0 });
    this.#runs = { job: this.#o.job, generation, restores };
    this.#loaded = new Map();
    this.#kept.clear();
    this.#last.clear();
    if (from !== undefined) await this.#loadPieces();
  }

  async #readRuns(): Promise<TableRuns> {
    const { items, job, name } = this.#o;
    const stored = await items.get(runsItem);
    this.#revision = stored?.revision;
    if (stored === undefined) {
      if ((await items.get(jobItemName)) !== undefined) throw foreignTable(name, job, 'a job that was deployed');
      return { job, generation: 0, restores: [] };
    }
    const [format, owner, generation, restores] = decodeValue(stored.bytes) as readonly [number, string, number, readonly RestorePoint[]];
    if (format !== runsFormat) throw newerFormat(name, format);
    if (owner !== job) throw foreignTable(name, job, `job '${owner}'`);
    return { job: owner, generation, restores };
  }

  #checkHeld(handle: KeyedTableHandle, checkpoint: number, restores: readonly RestorePoint[]): void {
    const { name } = this.#o;
    if (handle.table !== name) throw otherTable(name, handle.table, checkpoint);
    const undone = undoneBy(restores, handle, checkpoint);
    if (undone !== undefined) throw undoneSince(name, checkpoint, undone);
  }

  async #loadPieces(): Promise<void> {
    const { objects, scan } = this.#o;
    for await (const item of scan()) {
      const version = visibleVersion(decodeItem(item.bytes), this.#runs);
      const bytes = version === undefined ? undefined : await storedValueOf(version, objects);
      if (bytes === undefined) continue;
      const address = addressOfItem(item.address);
      const known = this.#loaded.get(address.operator);
      if (known === undefined) this.#loaded.set(address.operator, [{ address, bytes }]);
      else known.push({ address, bytes });
    }
  }

  read(p: Parameters<KeyedStore['read']>[0]): readonly KeyGroupSnapshot[] {
    const { uid, states, groups, maxParallelism } = p;
    const own = (this.#loaded.get(uid) ?? []).filter(({ address }) => {
      const group = address.state === timersState ? Number(address.key) : keyGroupOf(address.key, maxParallelism);
      return group >= groups.first && group <= groups.last;
    });
    const kept: KeptPieces = new Map();
    for (const { address, bytes } of own) kept.set(addressText(address), { address, hash: hashOf(bytes) });
    this.#kept.set(placeOf(p), kept);
    return groupsOf(uid, states, own, maxParallelism);
  }

  async begin(): Promise<void> {
    this.#loaded = new Map();
    const { items, name } = this.#o;
    const { job, generation, restores } = this.#runs;
    const content = { bytes: encodeValue([runsFormat, job, generation, restores]), change: '' };
    const outcome = await items.put({ name: runsItem, content, expects: this.#revision ?? 'absent' });
    // A try that was made and not answered is a conflict with itself.
    if (outcome.kind === 'conflict' && !(await this.#isOwner())) throw overtaken(name);
    await removeDropped(this.#o, this.#o.patience);
  }

  async #isOwner(): Promise<boolean> {
    const stored = await this.#o.items.get(runsItem);
    if (stored === undefined) return false;
    const [, , generation] = decodeValue(stored.bytes) as readonly [number, string, number];
    return generation === this.#runs.generation;
  }

  store(p: Parameters<KeyedStore['store']>[0]): Promise<KeyedTableHandle> {
    const place = placeOf(p);
    const before = this.#last.get(place);
    if (before !== undefined && before.checkpoint >= p.checkpoint)
      return Promise.reject(outOfOrder(p.uid, p.checkpoint, before.checkpoint));
    const done = (before?.done ?? Promise.resolve()).then(() => this.#store(place, p));
    this.#last.set(place, { checkpoint: p.checkpoint, done: done.catch(() => undefined) });
    return done;
  }

  async #store(place: string, { uid, checkpoint, keyed, points }: Parameters<KeyedStore['store']>[0]): Promise<KeyedTableHandle> {
    if (!(await this.#isOwner())) throw overtaken(this.#o.name);
    const { generation, restores } = this.#runs;
    const tag = { generation, epoch: checkpoint, n: 1 };
    const before = this.#kept.get(place) ?? new Map();
    const now: KeptPieces = new Map();
    const changed: UnflushedPiece[] = [];
    for (const { address, bytes } of piecesOf(uid, keyed.states, keyed.groups)) {
      checkAddress(address);
      const text = addressText(address);
      const hash = hashOf(bytes);
      now.set(text, { address, hash });
      if (before.get(text)?.hash !== hash) changed.push({ kind: 'value', address, versions: [{ tag, bytes }] });
    }
    for (const [text, { address }] of before)
      if (!now.has(text)) changed.push({ kind: 'value', address, versions: [{ tag, bytes: undefined }] });
    const doubtful = new Map(before);
    for (const { address } of changed) doubtful.set(addressText(address), { address, hash: undefined });
    this.#kept.set(place, doubtful);
    const lanes = Array.from({ length: lanesMax }, (_, lane) =>
      changed.filter((_piece, i) => Math.floor(i / readManyMax) % lanesMax === lane),
    );
    const view = { generation, restores, points, epoch: checkpoint };
    const stored = await Promise.allSettled(lanes.map(async (lane) => (await flushToTable(lane, view, this.#o)).size));
    let left = changed.length;
    for (const one of stored) {
      if (one.status === 'rejected') throw one.reason;
      left -= one.value;
    }
    if (left > 0) throw notStored(this.#o.name, uid, left);
    this.#kept.set(place, now);
    return { table: this.#o.name, generation, isEmpty: now.size === 0 };
  }

  close(): void {
    this.#o.close();
  }
}

function placeOf({ uid, subtask }: OperatorPlace): string {
  return `${subtask}/${uid}`;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha1').update(bytes).digest('base64');
}

function foreignTable(table: string, job: string, owner: string): SluiceError {
  return new SluiceError('CHECKPOINT_OF_ANOTHER_JOB', {
    message: `table ${table} holds the state of ${owner}, and this is job '${job}'`,
    next: 'fix-the-command',
    advice: 'give each job a table of its own',
    job,
  });
}

function otherTable(table: string, held: string, checkpoint: number): SluiceError {
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `the keyed state of checkpoint ${checkpoint} lies in table ${held}, and the job's backend names ${table}`,
    next: 'fix-the-job',
    advice: `name ${held}, or start without the checkpoint`,
    checkpoint,
  });
}

function undoneSince(table: string, checkpoint: number, { checkpoint: to }: RestorePoint): SluiceError {
  const since = to === 0 ? 'was started from the beginning' : `has gone back to checkpoint ${to}`;
  return new SluiceError('CHECKPOINT_NOT_FOUND', {
    message: `table ${table} no longer holds checkpoint ${checkpoint}: the job ${since} since`,
    next: 'repair-state',
    checkpoint,
  });
}

function overtaken(table: string): SluiceError {
  return new SluiceError('OWNER_LOST', { message: `another run has taken over table ${table}`, next: 'fix-the-command', table });
}

function newerFormat(table: string, format: number): SluiceError {
  return new SluiceError('FORMAT_NEWER', {
    message: `table ${table} was written by a later version, in format ${format}; this release reads format ${runsFormat}`,
    next: 'repair-state',
  });
}

function outOfOrder(operator: string, checkpoint: number, after: number): SluiceError {
  return new SluiceError('CHECKPOINT_GIVEN_UP', {
    message: `checkpoint ${checkpoint} of ${operator} is stored behind checkpoint ${after}, which holds more`,
    next: 'try-again',
    operator,
    checkpoint,
  });
}

function notStored(table: string, operator: string, left: number): SluiceError {
  return new SluiceError('STORE_UNCERTAIN', {
    message: `${left} items of ${operator} could not be written to table ${table}; the next checkpoint tries them again`,
    next: 'retry-invocation',
    operator,
  });
}
