// transaction.ts carries out what a transaction of rows has to do at its table. Any number of processes may do so at once, and each may be left behind
// between any two requests.
//   T1  Few rows change with the commit, in one request, and nothing is at the table before. Of more, each is staged in its item when the transaction is
//       prepared; the commit is the one request that changes head and marker; then each row takes its version, and the head closes the transaction.
//   T2  Which of the two it is follows from the rows, so that everybody who comes to the same transaction goes the same way.
//   T3  Whatever was refused by a condition is read and decided again: an earlier try of the same request has perhaps been made.

import { changeAllBytesMax, changeAllItemsMax, type ItemChange, type ItemTable, type RowFields } from '../../../api/row-table.ts';
import { SluiceError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports.ts';
import {
  type CommitHead,
  type Decision,
  decideCommit,
  decisionOf,
  headKey,
  headOf,
  itemOfHead,
  itemOfMarker,
  type KeyShape,
  markerKey,
  withoutOpen,
} from './commits.ts';
import { applyRow, type Commits, type RowDecision, stageRow, unstageRow } from './decide-row.ts';
import { type HeldRow, heldRow, itemOfRow, type RowVersion, readItem } from './held-row.ts';
import { itemBytes, itemBytesMax, keyShown } from './item-size.ts';

/** One row as the transaction leaves it. */
export interface RowOfTransaction {
  readonly key: RowFields;
  readonly version: RowVersion;
}

export interface RowTransaction {
  /** Asked again by whoever gave it, but for changes that are left. */
  readonly table: ItemTable;
  readonly clock: Clock;
  readonly shape: KeyShape;
  /** `<job>/<uid>` of the sink. */
  readonly owner: string;
  readonly tag: string;
  /** Each of another key; at least one. */
  readonly rows: readonly RowOfTransaction[];
  /** Seconds since the epoch when the trace of a decision may go. */
  readonly until: string;
}

/** Head and marker are items, too. */
export const rowsAtOnceMax: number = changeAllItemsMax - 2;
/** Rows change together with what they were before, which is not known yet. */
const bytesAtOnceMax = changeAllBytesMax / 3;
const rowsOfRound = 100;
const roundsMax = 20; // in which nothing moved: somebody else was faster, or the table is busy
const pauseMs = 25; // grows with each such round: five seconds in all

/** Whether the rows change with the commit. Of the rows alone (T2). */
export function isInPlace(rows: readonly RowOfTransaction[]): boolean {
  if (rows.length > rowsAtOnceMax) return false;
  return rows.reduce((sum, row) => sum + bytesOfRow(row), 0) <= bytesAtOnceMax;
}

function bytesOfRow({ key, version }: RowOfTransaction): number {
  return itemBytes(itemOfRow({ key, revision: undefined, current: version, before: 'none', staged: [] }));
}

/** @throws SluiceError `OUTPUT_CONFLICT`, `ROW_TOO_LARGE`, and those of the table */
export async function prepareRows(t: RowTransaction): Promise<void> {
  if (isInPlace(t.rows)) return;
  const { head, decision } = await lookAt(t);
  if (decision === undefined) await stageAll(t, head);
}

/** @throws SluiceError `SINK_TRANSACTION_ABORTED`, `OUTPUT_TAKEN_OVER`, `OUTPUT_CONFLICT`, and those of the table */
export async function commitRows(t: RowTransaction): Promise<void> {
  let inPlace = isInPlace(t.rows);
  for (let rounds = 0; rounds < roundsMax; rounds++) {
    const { head, decision } = await lookAt(t);
    const step = decideCommit({ head, decision, tag: t.tag, isInPlace: inPlace });
    if (step.kind === 'done') return;
    if (step.kind === 'aborted') throw abortedBefore(t);
    if (step.kind === 'superseded') throw takenOver(t, step.by);
    if (step.kind === 'commit') {
      const decided = [changeOf(itemOfHead(step.head), head), changeOf(markerOf(t, 'committed'))];
      const rows = inPlace ? await rowsInPlace(t, step.head) : [];
      if (!fits([...decided, ...rows])) {
        await stageAll(t, head);
        inPlace = false;
        continue;
      }
      if ((await t.table.changeAll([...decided, ...rows])) === 'conflict') continue;
      if (inPlace) return;
    }
    const { head: committed } = await lookAt(t);
    await changeRows(t, applyRow, { tag: t.tag, head: committed });
    await close(t);
    return;
  }
  throw restless(t);
}

/**
 * What was committed before stays so.
 * @param isOfIt  of the tags of what is staged
 */
export async function abortRows(t: RowTransaction): Promise<void> {
  const marker = markerOf(t, 'aborted');
  for (let rounds = 0; ; rounds++) {
    const { decision } = await lookAt(t);
    if (decision === 'committed') return;
    if (decision === 'aborted') break;
    if (rounds === roundsMax) throw restless(t);
    const [outcome] = await t.table.changeEach([changeOf(marker)]);
    if (outcome === 'changed') break;
    await pause(t, rounds);
  }
  if (!isInPlace(t.rows)) await unstageRows(t, (tag) => tag === t.tag);
}

/** Takes away what the transaction may have staged, when nobody knows its tag. */
export async function unstageRows(t: Rows, isOfIt: (tag: string) => boolean): Promise<void> {
  await changeRows(t, (held) => unstageRow(held, isOfIt, t.until));
}

type Rows = Omit<RowTransaction, 'tag'>;
type Decide = (held: HeldRow, version: RowVersion, commits: Commits) => RowDecision;

function markerOf({ shape, owner, tag, until }: RowTransaction, decision: Decision) {
  return itemOfMarker(markerKey(shape, owner, tag), decision, until);
}

async function lookAt(t: RowTransaction): Promise<{ readonly head: CommitHead; readonly decision: Decision | undefined }> {
  const key = headKey(t.shape, t.owner);
  const [head, marker] = await t.table.read([key, markerKey(t.shape, t.owner, t.tag)]);
  return { head: headOf(key, head), decision: decisionOf(marker) };
}

function commitsOf({ committed, open }: CommitHead, tag: string): Commits {
  return { newest: committed === undefined || committed < tag ? tag : committed, open };
}

async function stageAll(t: RowTransaction, head: CommitHead): Promise<void> {
  await changeRows(t, stageRow, { tag: t.tag, head });
}

interface Known {
  readonly tag: string;
  head: CommitHead;
}

async function rowsInPlace(t: RowTransaction, head: CommitHead): Promise<readonly ItemChange[]> {
  return (await decideRows(t, t.rows, applyRow, { tag: t.tag, head })).map(({ change }) => change);
}

/** Whatever others do meanwhile, each row is as `decide` says in the end. */
async function changeRows(t: Rows, decide: Decide, known?: Known): Promise<void> {
  for (let from = 0; from < t.rows.length; from += rowsOfRound) {
    let left: readonly RowOfTransaction[] = t.rows.slice(from, from + rowsOfRound);
    for (let rounds = 0; left.length > 0; ) {
      const changes = await decideRows(t, left, decide, known);
      const outcomes = changes.length === 0 ? [] : await t.table.changeEach(changes.map(({ change }) => change));
      const stay = changes.filter((_, i) => outcomes[i] !== 'changed').map(({ row }) => row);
      rounds = stay.length < left.length ? 0 : rounds + 1;
      if (rounds === roundsMax) throw restless(t);
      left = stay;
      if (outcomes.includes('left')) await pause(t, rounds);
    }
  }
}

/** Reads rows and decides what becomes of each; those that stay as they are do not come back. */
async function decideRows(
  t: Rows,
  rows: readonly RowOfTransaction[],
  decide: Decide,
  known: Known | undefined,
): Promise<readonly { readonly row: RowOfTransaction; readonly change: ItemChange }[]> {
  const items = await t.table.read(rows.map(({ key }) => key));
  const decided: { readonly row: RowOfTransaction; readonly change: ItemChange }[] = [];
  for (const [i, row] of rows.entries()) {
    const held = heldRow(row.key, items[i]);
    let decision = decide(held, row.version, commitsKnown(known));
    if (decision.kind === 'foreign' && known !== undefined) {
      // Or one that was committed since the head was read.
      known.head = await headNow(t);
      decision = decide(held, row.version, commitsKnown(known));
    }
    if (decision.kind === 'foreign') throw foreign(t, held, decision.tag);
    if (decision.kind === 'change') decided.push({ row, change: { item: itemThatFits(decision.row), expects: readItem(items[i]) } });
  }
  return decided;
}

function commitsKnown(known: Known | undefined): Commits {
  return known === undefined ? { newest: '', open: [] } : commitsOf(known.head, known.tag);
}

async function headNow({ table, shape, owner }: Rows): Promise<CommitHead> {
  const key = headKey(shape, owner);
  const [item] = await table.read([key]);
  return headOf(key, item);
}

/** Readers that began before the last commit begin again where what was before does not fit. */
function itemThatFits(row: HeldRow): ReturnType<typeof itemOfRow> {
  const whole = itemOfRow(row);
  if (itemBytes(whole) <= itemBytesMax) return whole;
  const item = itemOfRow({ ...row, before: 'lost' });
  const bytes = itemBytes(item);
  if (bytes <= itemBytesMax) return item;
  throw new SluiceError('ROW_TOO_LARGE', {
    message: `row ${keyShown(row.key)}: with ${row.staged.length} versions that are not committed yet it has ${bytes} bytes, and a table takes ${itemBytesMax}`,
    next: 'retry-invocation',
    advice: 'it fits again when the checkpoints under way have completed; smaller rows fit always',
    value: bytes,
  });
}

/** Of a head or a marker: they have no tags. */
function changeOf(item: ItemChange['item'], read?: Pick<CommitHead, 'revision'>): ItemChange {
  return { item, expects: { revision: read?.revision, tag: undefined } };
}

function fits(changes: readonly ItemChange[]): boolean {
  return changes.reduce((sum, { item }) => sum + itemBytes(item), 0) <= changeAllBytesMax;
}

async function pause({ clock }: Rows, rounds: number): Promise<void> {
  await clock.sleep(pauseMs * (rounds + 1)).done;
}

async function close(t: RowTransaction): Promise<void> {
  for (let rounds = 0; rounds < roundsMax; rounds++) {
    const { head } = await lookAt(t);
    if (!head.open.includes(t.tag)) return;
    const [outcome] = await t.table.changeEach([changeOf(itemOfHead(withoutOpen(head, t.tag)), head)]);
    if (outcome === 'changed') return;
    await pause(t, rounds);
  }
  throw restless(t);
}

function abortedBefore({ owner, tag }: RowTransaction): SluiceError {
  return new SluiceError('SINK_TRANSACTION_ABORTED', {
    message: `transaction ${tag} of ${owner} was aborted, so it cannot be committed`,
    next: 'fix-the-command',
    advice: 'a restore has undone these rows; nothing is to be done',
  });
}

function takenOver({ owner, tag }: RowTransaction, by: string): SluiceError {
  return new SluiceError('OUTPUT_TAKEN_OVER', {
    message: `transaction ${tag} of ${owner} cannot be committed: a run of the job that began later has committed ${by} to the table`,
    next: 'fix-the-command',
    advice: 'stop one of the two runs, or give it a table of its own',
  });
}

function foreign({ owner }: Rows, { key }: HeldRow, tag: string): SluiceError {
  return new SluiceError('OUTPUT_CONFLICT', {
    message: `row ${keyShown(key)} has the tag ${tag}, which ${owner} never gave: another job or sink writes the same rows, so the rows were not committed`,
    next: 'fix-the-command',
    advice: 'give each sink rows of its own; the rows are kept, and are committed when the checkpoint is committed again',
  });
}

function restless({ owner }: Rows): SluiceError {
  return new SluiceError('STORE_UNCERTAIN', {
    message: `rows of ${owner} could not be changed in ${roundsMax} tries: others changed them meanwhile, or the table is busy`,
    next: 'retry-invocation',
  });
}
