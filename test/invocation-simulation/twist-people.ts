// Whoever makes a twist come true: a person who mends functions and redrives what they had failed on, and one who cancels a job while it is restored.

import { requestCancel } from '../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import type { ListedLetter } from '../../lib/invocation/unit/look.ts';
import type { ServiceChange, SimulatedProcess } from '../../lib/testing/index.ts';
import type { Row } from '../simulation/spec.ts';
import { type ActorOptions, attempt, ifInState } from './actor.ts';
import type { Counts } from './counts.ts';
import { headOfEntry, isStub, jobItemOf } from './decoded.ts';
import { pause } from './fleet.ts';
import type { JobWorld } from './job-world.ts';
import type { Twist } from './twists.ts';

/** What was redriven is in a checkpoint that began behind it. */
export interface Redrives {
  underWay: number;
  /** World time of the last answer, or of its loss. */
  lastMs: number;
  /** Checkpoints that had begun by then. */
  begun: number;
}

/** Checkpoints that brought nothing may stay away for so long, ms: without faults one takes less. */
const checkpointMsMax = 10_000;

/** What had no answer may come late, and a redrive that changed nothing brings no checkpoint. */
export function isCovered({ underWay, lastMs, begun }: Redrives, by: { checkpoint: number; nowMs: number; lateMsMax: number }): boolean {
  if (lastMs === 0 && underWay === 0) return true;
  const since = by.nowMs - lastMs - by.lateMsMax;
  return underWay === 0 && since > 0 && (by.checkpoint > begun || since > checkpointMsMax);
}

interface Person extends ActorOptions {
  readonly item: () => JobItem | undefined;
}

/** Whoever it takes to make a twist come true; most do without. */
export function twistPeople(
  { name, random }: Twist,
  job: JobWorld,
  { redrives, faultySteps }: { readonly redrives: Redrives; readonly faultySteps: number },
): readonly Promise<void>[] {
  const person: Person = { ...job.actor, random, item: () => job.auditors.item };
  const reader = person.world.process('reader of letters');
  const letters = (): Promise<readonly ListedLetter[]> => job.letters(reader);
  if (name === 'records are redriven' || name === 'timers throw')
    return [redriveLetters({ ...person, redrives, letters, mend: (row) => job.trouble.mend(row) })];
  if (name !== 'a restore is cancelled') return [];
  const fromStep = random.between(100, Math.floor(faultySteps / 2));
  const portsOf = (process: SimulatedProcess): InvocationPorts => job.portsOf(process);
  return [cancelRestore({ ...person, fromStep, portsOf, onDefect: (error) => job.meetError(error, 'what a person asked for') })];
}

interface Redriver extends Person {
  readonly redrives: Redrives;
  readonly letters: () => Promise<readonly ListedLetter[]>;
  readonly mend: (row: Row) => void;
}

/** Now and then redrives a letter, of a record when its function has been mended, for as long as there are faults. */
async function redriveLetters(o: Redriver): Promise<void> {
  const { world, fleet, chaos, counts, random, redrives } = o;
  while (!o.isOver() && !chaos.isQuiet) {
    await pause(world, random.between(20, 300));
    if (chaos.isQuiet) return;
    // Of a job that is being stopped or restored nobody can tell what is parked.
    if (o.item()?.status !== 'running' || o.item()?.restoring !== undefined) continue;
    const letters = await o.letters();
    if (letters.length === 0) continue;
    const { subtask, id, letter } = random.pick(letters);
    if (letter.timer === undefined) o.mend(letter.batch.values[0] as Row);
    // Whoever does not wait for an answer may ask twice.
    redrives.underWay++;
    const asked = fleet.invoke({ kind: 'redrive', subtask, letter: id }).then((answer) => {
      if (answer?.kind === 'done') counts.count(letter.timer === undefined ? 'record redriven' : 'timer redriven');
      redrives.underWay--;
      Object.assign(redrives, { lastMs: world.now, begun: o.item()?.begun ?? 0 });
    });
    if (random.chance(0.7)) await asked;
  }
}

interface Canceller extends Person {
  readonly fromStep: number;
  readonly portsOf: (process: SimulatedProcess) => InvocationPorts;
  readonly onDefect: (error: unknown) => void;
}

/** Asks for a restore, and cancels the job in the middle of it; once. */
async function cancelRestore(o: Canceller): Promise<void> {
  const { world, chaos, random } = o;
  for (let asks = 1; !o.isOver() && !chaos.isQuiet; asks++) {
    await pause(world, random.between(1, 40));
    const item = o.item();
    if (item === undefined || world.steps < o.fromStep) continue;
    if (item.status === 'cancelling' || item.status === 'cancelled') return;
    if (item.restoring === undefined && (item.completed.length === 0 || !random.chance(0.3))) continue;
    const process = world.process(`person-of-the-twist-${asks}`);
    const ports = o.portsOf(process);
    const work: Promise<unknown> = item.restoring === undefined ? startRestore(ports, 'latest') : requestCancel(ports);
    await attempt(ifInState(work), { world, process, waitMsMax: 1_000, onFailure: o.onDefect });
  }
}

/** Counts what comes of them. */
export function watchTwists(counts: Counts): (change: ServiceChange) => void {
  let before: JobItem | undefined;
  const idle = new Set<string>();
  return (change) => {
    if (change.kind === 'item' && change.name === 'job') {
      const now = jobItemOf(change.content.bytes);
      if (before?.restoring !== undefined && now.restoring === undefined && now.status === 'cancelling')
        counts.count('a restore was cancelled');
      before = now;
    }
    if (change.kind !== 'entry' || isStub(change.entry.bytes)) return;
    const head = headOfEntry(change.entry.bytes);
    for (const { split, silence } of head.splits) {
      const name = `${head.generation} ${split.id}`;
      if (silence?.isIdle !== true) idle.delete(name);
      else if (!idle.has(name)) {
        idle.add(name);
        counts.count('source fell idle');
      }
    }
  };
}
