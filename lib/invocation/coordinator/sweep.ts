// Objects that nobody refers to any more.
//   W1  Objects lie under the ring that stored them, and may outlive it: a restore carries references over.
//   W2  What a subtask refers to is in its newest entry, or in a handle that is retained, or in an acknowledgement of an open checkpoint: an entry
//       is only followed by another one when its acknowledgement has been put. The item is read again after all of these; if it changed, nothing
//       is judged.
//       Large values of keyed state are referred to by items of the table alone; what these have dropped is noted (dropped-values.ts).
//   W3  An object may be stored before the entry that names it, so what belongs to entries that are not there yet stays.

import { isSluiceError } from '../../core/errors.ts';
import type { Exchange } from '../../graph/plan.ts';
import type { EntryHead, PendingTransaction } from '../entry.ts';
import type { JobItem } from '../job-item.ts';
import { decodeHandle } from '../job-item-codec.ts';
import { keptReferences } from '../lane/kept-input.ts';
import type { ObjectStore, RingAddress } from '../ports.ts';
import { forgetLoss, isMadeGood, listLosses } from '../sinks/losses.ts';
import { settledObjects } from '../sinks/transaction-names.ts';
import { removeDropped } from '../state/dropped-values.ts';
import { headsOf } from './checkpoint-objects.ts';
import { concurrently } from './concurrently.ts';
import { newestHead } from './facts.ts';
import { handlesOf } from './notify.ts';
import type { PulseRun } from './pulse-run.ts';
import { ringName } from './ring-creation.ts';
import { forgetDecisions } from './settled.ts';

/** What subtasks store, each as `<kind>/<generation>/<subtask>/…`. */
const kindsOfRing = ['entry', 'snapshot', 'operator-state', 'held', 'message', 'rows', 'transaction', 'kept', 'replay'] as const;

export async function objectsOfRing(objects: ObjectStore, ring: RingAddress): Promise<readonly string[]> {
  const names: string[] = [];
  for (const kind of kindsOfRing) names.push(...(await objects.list(`${kind}/${ringName(ring)}/`)));
  return names;
}

interface Facts {
  /** Newest heads of the owners. */
  readonly owners: ReadonlyMap<string, EntryHead>;
  /** Heads that may still be restored. */
  readonly retained: readonly EntryHead[];
}

async function factsOf(run: PulseRun): Promise<Facts | undefined> {
  const before = run.item;
  const { items } = run.options.ports;
  const heads = await concurrently(before.owners, run.concurrency, ({ subtask }) => newestHead(run, run.ring(subtask)));
  const retained: EntryHead[] = [];
  for (const completed of before.completed) retained.push(...headsOf(await handlesOf(run, completed)));
  retained.push(...headsOf((await items.list('ack/')).map(({ bytes }) => decodeHandle(bytes))));
  const now = await run.refresh();
  if (!isSame(before, now)) return undefined;
  const owners = new Map(heads.filter((head) => head !== undefined).map((head) => [head.subtask, head]));
  return { owners, retained };
}

/** Whether what could be referred to is the same. */
function isSame(before: JobItem, now: JobItem): boolean {
  const numbers = (item: JobItem): string =>
    JSON.stringify([
      item.generation,
      item.restoring?.generation,
      item.moving?.epoch,
      item.begun,
      item.completed.map((c) => c.checkpoint),
      item.owners.map((o) => o.subtask),
    ]);
  return numbers(before) === numbers(now);
}

export interface Needs {
  /** Names of all objects that may still be asked for. */
  readonly references: ReadonlySet<string>;
  /** Whether everyone who takes a subtask's messages has taken the last one, so that nothing of it can be under way. */
  isHeard(subtask: string): boolean;
}

/** @returns `undefined`: the job changed while it was looked at */
export async function needsOf(run: PulseRun): Promise<Needs | undefined> {
  const facts = await factsOf(run);
  if (facts === undefined) return undefined;
  const references = await referencesOf(run, facts);
  if (references === undefined) return undefined;
  const outletsOf = (sender: string): readonly Exchange[] => run.options.plan.stages[Number.parseInt(sender, 10)]?.outlets ?? [];
  return {
    references,
    isHeard: (sender) =>
      outletsOf(sender).every((exchange) =>
        run.item.owners
          .filter(({ stage }) => stage === exchange.toStage)
          .every((o) => hasHeard(facts.owners.get(o.subtask), sender, exchange)),
      ),
  };
}

/** Pure. The last message of a sender ends its channel; there is none before those whom it followed have been heard. */
export function hasHeard(head: Pick<EntryHead, 'channels' | 'held'> | undefined, sender: string, { id }: Pick<Exchange, 'id'>): boolean {
  const channel = head?.channels.find((c) => c.sender === sender && c.exchange === id);
  return channel?.hasEnded === true && head?.held.some((h) => h.sender === sender && h.exchange === id) === false;
}

/** @returns `undefined`: what is judged here is so old that others have cleaned up behind it */
async function referencesOf(run: PulseRun, facts: Facts): Promise<ReadonlySet<string> | undefined> {
  try {
    const losses = await listLosses(run.options.ports.items);
    const noted = losses.flatMap(({ transaction }) => namedByTransaction(transaction));
    return new Set([...namedBy(facts), ...noted, ...(await keptBy(run, facts))]);
  } catch (e) {
    if (isSluiceError(e) && e.code === 'OBJECT_MISSING') return undefined;
    throw e;
  }
}

/** Kept input: only the newest entry of a lane leads to it, and what lies behind the lowest count that may be restored may be asked for. */
async function keptBy(run: PulseRun, { owners, retained }: Facts): Promise<readonly string[]> {
  const lanes = [...owners.values()].flatMap(({ subtask, lane }) => (lane === undefined ? [] : [{ subtask, lane }]));
  const names = await concurrently(lanes, run.concurrency, ({ subtask, lane }) => {
    const counts = retained.filter((head) => head.subtask === subtask).map((head) => head.lane?.kept ?? 0);
    return keptReferences(run.options.ports.objects, lane, Math.min(lane.kept, ...counts));
  });
  return names.flat();
}

function namedBy({ owners, retained }: Facts): ReadonlySet<string> {
  const heads = [...owners.values(), ...retained];
  return new Set([...heads.flatMap(namedByHead), ...heads.flatMap((head) => head.transactions.flatMap(namedByTransaction))]);
}

function namedByHead(head: EntryHead): readonly string[] {
  const names = [...head.held.map(({ object }) => object), head.operatorState?.object, head.snapshot];
  return names.filter((name) => name !== undefined);
}

function namedByTransaction(transaction: PendingTransaction): readonly string[] {
  const { atOnce, afterADay } = settledObjects(transaction);
  return [...atOnce, ...afterADay];
}

/** Removes what running subtasks have left behind. */
export async function sweepLive(run: PulseRun): Promise<void> {
  const facts = await factsOf(run);
  if (facts === undefined) return;
  const { objects } = run.options.ports;
  const references = await referencesOf(run, facts);
  if (references === undefined) return;
  for (const [subtask, head] of facts.owners) {
    const names = await objectsOfRing(objects, { generation: head.generation, subtask });
    const gone = names.filter((name) => !references.has(name) && isLeft(name, head, facts, run.item.ringSlots));
    await concurrently(gone, run.concurrency, (name) => objects.remove(name));
  }
  for (const loss of await listLosses(run.options.ports.items))
    if (await isMadeGood(objects, loss)) await forgetLoss(run.options.ports.items, loss.transaction);
  const { clock, random, ports } = run.options;
  await removeDropped(ports, { clock, random });
  await forgetDecisions(run, references);
}

/** Pure: whether an object of a ring, which nothing refers to by name, is of no use any more. */
export function isLeft(name: string, head: EntryHead, { owners }: Pick<Facts, 'owners'>, slots: number): boolean {
  const [kind, , , ...rest] = name.split('/');
  switch (kind) {
    case 'entry':
      return Number.parseInt(rest[0] ?? '', 10) + slots <= head.n;
    case 'snapshot':
      // One that is ahead may be in the hands of who made it, and be named by the next entry.
      return Number.parseInt(rest[0] ?? '', 10) < head.flushedThrough;
    case 'kept':
      return Number.parseInt(rest[0] ?? '', 10) < head.flushedThrough;
    case 'replay':
      return true;
    case 'operator-state':
      return Number.parseInt(rest[0] ?? '', 10) < head.n;
    case 'held':
    case 'rows':
      return Number.parseInt(rest.at(-1) ?? '', 10) < head.n;
    case 'message':
      return isTaken(rest, head.subtask, owners);
    default:
      return false; // records go with their transactions
  }
}

/** Whether the receiver has taken a message, and nothing of its channel waits. */
function isTaken(rest: readonly string[], sender: string, owners: ReadonlyMap<string, EntryHead>): boolean {
  const [exchange, target = '', sequence = ''] = rest;
  const receiver = owners.get(target);
  const ofChannel = (c: { readonly sender: string; readonly exchange: number }): boolean =>
    c.sender === sender && c.exchange === Number(exchange);
  const channel = receiver?.channels.find(ofChannel);
  if (receiver === undefined || channel === undefined || receiver.held.some(ofChannel)) return false;
  return Number.parseInt(sequence, 10) <= channel.sequence;
}
