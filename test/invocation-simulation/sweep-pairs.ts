// All pairs of a point and a kind of fault, numbered, and what each of them comes to. The points are those of an undisturbed run: none is written down.

import { canStrike, type Point, type SweepFault, sweepFaults, tellPoint } from './sweep-fault.ts';
import { type SweepJob, sweepJobs } from './sweep-jobs.ts';
import { sweepOnce } from './sweep-world.ts';
import type { Verdict } from './verdict.ts';

export interface Pair {
  /** From 1. */
  readonly job: number;
  readonly point: number;
  readonly fault: SweepFault;
}

export function replayOf({ job, point, fault }: Pair): string {
  return `npm run sim:sweep -- --job ${job} --point ${point} --fault ${fault}`;
}

const undisturbed = new Map<number, Promise<{ readonly points: readonly Point[]; readonly failures: readonly string[] }>>();

/** What a job does when nothing goes wrong; it has to be right and to come through all that it is there for. */
export function pointsOf(job: number): ReturnType<typeof lookAt> {
  const known = undisturbed.get(job) ?? lookAt(sweepJobs[job - 1]!);
  undisturbed.set(job, known);
  return known;
}

async function lookAt(job: SweepJob): Promise<{ readonly points: readonly Point[]; readonly failures: readonly string[] }> {
  const { points, failures, counts } = await sweepOnce(job, undefined);
  const never = job.shows.filter((what) => counts.get(what) === 0).map((what) => `an undisturbed run does not come to: ${what}`);
  const few = points.length < job.pointsMin ? [`an undisturbed run has only ${points.length} points`] : [];
  return { points, failures: [...failures, ...never, ...few] };
}

/** Every pair of a job, in order. */
export async function pairsOf(job: number): Promise<readonly Pair[]> {
  const { points } = await pointsOf(job);
  return points.flatMap((p, point) => sweepFaults.filter((fault) => canStrike(fault, p)).map((fault) => ({ job, point, fault })));
}

export async function verdictOn(pair: Pair): Promise<Verdict> {
  const { points } = await pointsOf(pair.job);
  const { point: at, fault } = pair;
  const { hasStruck, points: met, failures, ...o } = await sweepOnce(sweepJobs[pair.job - 1]!, { at, fault });
  const place = tellPoint(points[at]!);
  const found = met[at] === undefined ? 'nothing' : tellPoint(met[at]);
  const strange = found === place ? [] : [`the point is ${place} in an undisturbed run and ${found} here`];
  const spared = hasStruck ? [] : ['the fault did not strike'];
  const all = [...failures, ...strange, ...spared].map((what) => `${fault} at ${place}: ${what}`);
  return { seed: 0, failures: all, traceHash: o.traceHash, steps: o.steps, ending: '', counts: o.counts.toJSON() };
}

/** Every pair of every job: a number means the same pair to each thread. */
export async function allPairs(): Promise<readonly Pair[]> {
  return (await Promise.all(sweepJobs.map((_, i) => pairsOf(i + 1)))).flat();
}
