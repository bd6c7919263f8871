// What sources say of splits that give way to others. The mapping of a split never says that it has ended, so the source is asked.
//   C1  A change is due when its parents are all owners and have been read to their ends: by the source's word where the end is, by the parent's own
//       newest entry how far it has come.
//   C2  A split has one ordinal for ever, written down before anything names it: a restore takes owners back, and what was read of a split that the
//       restored checkpoint does not know is remembered by that name. Ordinals are taken one after the other, so two that register at once meet.
//   C3  A split that is closed, read to its end and followed by nobody ends its subtask, where the source is bounded. Ends are asked before changes.

import type { Source, SourceContext, Split, SplitEvolution } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import { murmur3Binary } from '../../core/hash.ts';
import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { Stage } from '../../graph/plan.ts';
import type { Owner } from '../job-item.ts';
import type { InvocationPorts } from '../ports.ts';
import { isReplayDue } from '../replay-end.ts';
import { newestHead } from './facts.ts';
import { ask } from './inject.ts';
import { sourceOf, splitOwner } from './owners.ts';
import type { PulseRun } from './pulse-run.ts';
import { replayEndsOf } from './restored-entry.ts';

/** Subtasks that are at their ends, and those that go on in their place. */
export interface DueChange {
  /** In which they are: a restore takes subtasks back behind their ends. */
  readonly generation: number;
  readonly parents: readonly string[];
  readonly children: readonly Owner[];
}

/** Splits of a source that evolves, by ordinal. */
type KnownSplits = ReadonlyMap<number, Split>;

interface Evolving {
  readonly stage: Stage;
  readonly source: Source<unknown>;
  readonly evolution: SplitEvolution;
  readonly context: SourceContext;
  readonly known: KnownSplits;
}

/** The first change that is due. What has ended for good is told so on the way. */
export async function dueChange(run: PulseRun): Promise<DueChange | undefined> {
  for (const stage of run.options.plan.stages) {
    const source = sourceOf(stage);
    if (source?.evolution === undefined) continue;
    try {
      const due = await dueChangeOf(run, stage, source);
      if (due !== undefined) return due;
    } catch (e) {
      run.notice(`the source of ${stage.name} does not say which splits are closed`, e);
    }
  }
  return undefined;
}

async function dueChangeOf(run: PulseRun, stage: Stage, source: Source<unknown>): Promise<DueChange | undefined> {
  const evolution = source.evolution!;
  const known = await knownSplits(run.options.ports, stage.id);
  const of: Evolving = { stage, source, evolution, context: contextOf(run, stage), known };
  const ended = source.isBounded ? await endedOwners(run, of) : [];
  const changes = await evolution.changes(of.context);
  const ordinals = new Map([...known].map(([ordinal, { id }]) => [id, ordinal]));
  for (const { parents, children } of changes) {
    const owners = parents.map((id) => ownerOf(run, stage, ordinals.get(id)));
    if (owners.length === 0 || owners.some((owner) => owner === undefined)) continue;
    const { generation } = run.item;
    if (!(await haveReachedEnds(run, of, owners as readonly Owner[]))) continue;
    const heirs = await registered(run.options.ports, stage.id, children);
    return { generation, parents: owners.map((owner) => owner!.subtask), children: heirs };
  }
  const followed = new Set(changes.flatMap(({ parents }) => parents));
  for (const owner of ended) if (!followed.has(splitOf(of, owner).id)) await endSubtask(run, owner);
  return undefined;
}

function ownerOf(run: PulseRun, stage: Stage, ordinal: number | undefined): Owner | undefined {
  return run.item.owners.find((owner) => owner.stage === stage.id && owner.index === ordinal);
}

function splitOf({ known }: Evolving, { index }: Owner): Split {
  return known.get(index)!; // registered before it had an owner
}

/** Owners that have read to the ends of closed splits and are not known to have ended. */
async function endedOwners(run: PulseRun, of: Evolving): Promise<readonly Owner[]> {
  const ended: Owner[] = [];
  for (const owner of run.item.owners) {
    if (owner.stage !== of.stage.id) continue;
    const head = await newestHead(run, run.ring(owner.subtask));
    if (head !== undefined && !head.hasEnded && (await haveReachedEnds(run, of, [owner]))) ended.push(owner);
  }
  return ended;
}

async function haveReachedEnds(run: PulseRun, of: Evolving, owners: readonly Owner[]): Promise<boolean> {
  for (const owner of owners) {
    const { evolution, context } = of;
    const split = splitOf(of, owner);
    const end = evolution.isOver === undefined ? await evolution.endOf(split, context) : undefined;
    if (end === undefined && evolution.isOver === undefined) return false;
    const head = await newestHead(run, run.ring(owner.subtask));
    if (head === undefined) return false;
    const ends = replayEndsOf(run.item, owner.subtask, of.source);
    for (const read of head.splits) {
      if (isReplayDue(read, ends)) return false;
      const { position } = read;
      const isOver = end === undefined ? await evolution.isOver?.(split, position, context) : (position?.index ?? 0) >= end.index;
      if (isOver !== true) return false;
    }
  }
  return true;
}

async function endSubtask(run: PulseRun, { subtask, index }: Owner): Promise<void> {
  await ask(run, { kind: 'records', subtask, split: index, records: [], isLast: true, isAgain: false });
}

function contextOf(run: PulseRun, stage: Stage): SourceContext {
  const { sourceContext } = run.options;
  if (sourceContext !== undefined) return sourceContext(stage.operators[0]!.uid);
  throw new SluiceError('INTERNAL', { message: 'a source that evolves cannot be asked here', next: 'report-a-bug' });
}

// Names of splits

function splitPrefix(stage: number): string {
  return `split/${stage}-s`;
}

/** Of a source that evolves: every split that ever had a subtask, by ordinal. */
export async function knownSplits(ports: Pick<InvocationPorts, 'items'>, stage: number): Promise<KnownSplits> {
  const prefix = splitPrefix(stage);
  const items = await ports.items.list(prefix);
  return new Map(items.map(({ name, bytes }) => [Number(name.slice(prefix.length)), decodeValue(bytes) as Split]));
}

/** The subtasks of splits, which get their ordinals with the first call that knows them. */
export async function registered(
  ports: Pick<InvocationPorts, 'items'>,
  stage: number,
  splits: readonly Split[],
): Promise<readonly Owner[]> {
  for (;;) {
    const known = await knownSplits(ports, stage);
    const ordinals = new Map([...known].map(([ordinal, { id }]) => [id, ordinal]));
    const fresh = splits.find(({ id }) => !ordinals.has(id));
    if (fresh === undefined) return splits.map((split) => splitOwner(stage, ordinals.get(split.id)!, split));
    // Whoever else takes this ordinal is found by the next look.
    await ports.items.put({
      name: `${splitPrefix(stage)}${known.size}`,
      content: { bytes: encodeValue(fresh), change: '' },
      expects: 'absent',
    });
  }
}

/** Where a key lies among the ranges of a source's splits. */
export function placementOf(stage: Stage | undefined): (key: string) => number {
  const evolution = sourceOf(stage)?.evolution;
  return evolution?.placement === undefined ? (key) => murmur3Binary(key) : (key) => evolution.placement!(key);
}
