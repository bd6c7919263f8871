// Whoever makes a twist come true: a person who mends functions and redrives what they had failed on, and one who cancels a job while it is restored.

import { isSluiceError } from '../../lib/index.ts';
import { requestCancel } from '../../lib/invocation/coordinator/job-life.ts';
import { startRestore } from '../../lib/invocation/coordinator/restore.ts';
import type { Answer, Invocation } from '../../lib/invocation/invocation.ts';
import type { JobItem } from '../../lib/invocation/job-item.ts';
import type { InvocationPorts } from '../../lib/invocation/ports.ts';
import type { ListedLetter } from '../../lib/invocation/unit/look.ts';
import type { SeededRandom, ServiceChange, SimulatedProcess, World } from '../../lib/testing/index.ts';
import type { Row } from '../simulation/spec.ts';
import type { Chaos } from './chaos.ts';
import type { Counts } from './counts.ts';
import { headOfEntry, isStub, jobItemOf } from './decoded.ts';
import { pause } from './fleet.ts';

export interface TwistOptions {
  readonly world: World;
  readonly chaos: Chaos;
  readonly counts: Counts;
  readonly random: SeededRandom;
  readonly item: () => JobItem | undefined;
  readonly isOver: () => boolean;
}

/** What was redriven is in a checkpoint that began behind it. */
export interface Redrives {
  underWay: number;
  /** World time of the last answer, or of its loss. */
  lastMs: number;
  /** Checkpoints that had begun by then. */
  begun: number;
}

/** Now and then redrives a letter, of a record when its function has been mended, for as long as there are faults. */
export async function redriveLetters(
  o: TwistOptions & {
    readonly redrives: Redrives;
    readonly letters: () => Promise<readonly ListedLetter[]>;
    readonly invoke: (invocation: Invocation) => Promise<Answer | undefined>;
    readonly mend: (row: Row) => void;
  },
): Promise<void> {
  const { world, chaos, counts, random, redrives } = o;
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
    const asked = o.invoke({ kind: 'redrive', subtask, letter: id }).then((answer) => {
      if (answer?.kind === 'done') counts.count(letter.timer === undefined ? 'record redriven' : 'timer redriven');
      redrives.underWay--;
      Object.assign(redrives, { lastMs: world.now, begun: o.item()?.begun ?? 0 });
    });
    if (random.chance(0.7)) await asked;
  }
}

/** Asks for a restore, and cancels the job in the middle of it; once. */
export async function cancelRestore(
  o: TwistOptions & { readonly fromStep: number; readonly portsOf: (p: SimulatedProcess) => InvocationPorts; readonly onDefect: OnDefect },
): Promise<void> {
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
    const done = work.catch((error: unknown) => {
      if (!isSluiceError(error) || error.code !== 'JOB_NOT_IN_STATE') o.onDefect(error, 'what a person asked for');
    });
    await Promise.race([done, process.becomes('dead'), pause(world, 1_000)]);
  }
}

type OnDefect = (error: unknown, what: string) => void;

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
