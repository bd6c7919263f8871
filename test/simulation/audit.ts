// The auditors: what must hold at every step of a world, and at its end. Each failure is a sentence; a world with a sentence has failed.
//   I1  Who was taken over changes nothing below the checkpoint directory any more.
//   I3  Nothing becomes visible that no completed checkpoint covers.
//   I4  Numbers of completed checkpoints only grow.
//   I5  Whatever `_metadata` is there can be loaded whole: at each completion, after each crash, after a power cut, at the end.

import { loadCheckpoint } from '../../lib/checkpoint/reading.ts';
import { type DiskChange, instantFileSystem, type SimulatedProcess, type World } from '../../lib/testing/index.ts';
import { checkpointOfContract, type ExternalTarget } from './external-target.ts';
import type { Testimony } from './functions.ts';
import { evaluate } from './oracle.ts';
import { checkpointDirectory, type JobSpec, type Node, outputDirectory, type Row } from './spec.ts';

/** How a world went, as far as it decides what must have come out. */
export interface Played {
  /** The job finished; otherwise what is visible may be only part of it. */
  readonly isWhole: boolean;
  /** One run and no fault: every mode is exact. */
  readonly isCalm: boolean;
  /** Parallelism of each run. */
  readonly runs: readonly number[];
  /** How often it was started again behind what was visible: so often each row may come again. */
  readonly rewinds: number;
}

export class Auditors {
  readonly failures: string[] = [];
  readonly testimonies: Testimony[] = [];
  /** Completed checkpoints, in order. */
  readonly completed: { readonly checkpoint: number; readonly step: number }[] = [];
  /** Committed part files in the order in which they became visible. */
  readonly parts: Set<string> = new Set();
  #newestTold = 0;
  readonly #world: World;
  readonly #spec: JobSpec;
  readonly #target: ExternalTarget;

  constructor(world: World, spec: JobSpec, target: ExternalTarget) {
    this.#world = world;
    this.#spec = spec;
    this.#target = target;
    world.disk.observers.push((change) => this.#observe(change));
    target.onVisible = (t) => {
      if (!t.name.startsWith('contract/')) return;
      const promised = checkpointOfContract(t.name);
      if (!this.completed.some((c) => c.checkpoint >= promised))
        this.fail(`I3: ${t.name} is committed before checkpoint ${promised} is complete`);
    };
  }

  /** The engine has told its user that this checkpoint is complete. */
  told(checkpoint: number): void {
    if (checkpoint <= this.#newestTold) this.fail(`I4: checkpoint ${checkpoint} is told to be complete after ${this.#newestTold}`);
    if (!this.completed.some((c) => c.checkpoint === checkpoint))
      this.fail(`I4: checkpoint ${checkpoint} is told to be complete and is not`);
    this.#newestTold = checkpoint;
  }

  fail(what: string): void {
    if (this.failures.length < 20) this.failures.push(`step ${this.#world.steps}: ${what}`);
  }

  #observe(change: DiskChange): void {
    const { path, kind, process } = change;
    if (path.startsWith(`${checkpointDirectory}/`)) {
      this.#observeCheckpoints(change);
      const by = this.#world.processes.find((p) => p.name === process);
      if (by?.isZombie === true) this.fail(`I1: ${process} was taken over and still changed ${path} (${kind})`);
    }
    if (kind !== 'unnamed' && isPart(path)) this.#observePart(change);
    else if (kind === 'unnamed' && isPart(path)) this.fail(`a committed part is gone: ${path}`);
  }

  #observeCheckpoints({ path, kind, from }: DiskChange): void {
    const found = /\/chk-(\d+)\/_metadata$/.exec(path);
    if (found === null || kind === 'unnamed' || (from !== undefined && /\/chk-\d+\/_metadata$/.test(from))) return;
    const checkpoint = Number(found[1]);
    // A completion whose answer was lost is given up and taken back, and a lower one may complete after it; what was told stays.
    if (checkpoint <= this.#newestTold) this.fail(`I4: checkpoint ${checkpoint} is completed after ${this.#newestTold}`);
    if (this.completed.some((c) => c.checkpoint === checkpoint)) this.fail(`I4: checkpoint ${checkpoint} is completed twice`);
    this.completed.push({ checkpoint, step: this.#world.steps });
    void this.checkClosure('at a completion');
  }

  #observePart({ path, node, from, kind }: DiskChange): void {
    if (node.kind !== 'file') return;
    if (kind === 'moved' && from !== undefined && isPart(from)) this.fail(`a committed part was renamed: ${from} → ${path}`);
    const newest = this.completed.at(-1);
    if (newest === undefined || newest.step <= node.writtenAtStep)
      this.fail(`I3: ${path} is visible, and no checkpoint was completed since it was written`);
    // A power cut may take a name back that was not synced yet; it counts where it comes again.
    this.parts.delete(path);
    this.parts.add(path);
  }

  /** I5 for every checkpoint that is there now. The disk stands still while this runs: between two steps nothing but promises settles. */
  async checkClosure(when: string): Promise<void> {
    const { disk } = this.#world;
    const files = instantFileSystem(disk);
    for (const path of disk.walk(checkpointDirectory)) {
      if (!path.endsWith('/_metadata')) continue;
      try {
        await loadCheckpoint(files, path.slice(0, -'/_metadata'.length));
      } catch (e) {
        this.fail(`I5: ${path} cannot be loaded ${when}: ${e instanceof Error ? e.message : String(e)}`);
      }
    }
  }

  /** Rows that a sink has made visible, in the order in which they became so. */
  rowsOf(node: Node): readonly Row[] {
    if (node.op.kind !== 'sink') return [];
    if (node.op.sink !== 'files') return this.#target.visible.get(node.uid) ?? [];
    const here = [...this.parts].filter((p) => p.startsWith(`${outputDirectory}/${node.uid}/`));
    return here.flatMap((p) =>
      this.#world.disk.find(p) === undefined ? [] : rowsIn(this.#world.disk.text(p), (why) => this.fail(`${p}: ${why}`)),
    );
  }

  checkOutput({ isWhole, isCalm, runs, rewinds }: Played): void {
    const expected = evaluate(this.#spec);
    for (const node of this.#spec.nodes) {
      if (node.op.kind !== 'sink') continue;
      const slack = delaySlack(this.#spec, node, runs);
      const { mode } = this.#spec.checkpoints;
      const mayMiss = !isWhole || (mode === 'AT_MOST_ONCE' && !isCalm) ? Number.POSITIVE_INFINITY : slack;
      this.#compare(node, expected.sinks.get(node.uid)!, this.rowsOf(node), {
        mayMiss,
        mayRepeat: mode === 'AT_LEAST_ONCE' && !isCalm ? Number.POSITIVE_INFINITY : rewinds,
      });
    }
  }

  #compare(
    node: Node,
    expected: readonly Row[],
    actual: readonly Row[],
    allowed: { readonly mayMiss: number; readonly mayRepeat: number },
  ): void {
    const left = new Map<string, number>();
    for (const r of expected) left.set(textOf(r), (left.get(textOf(r)) ?? 0) + 1);
    const once = new Map(left);
    const more: string[] = [];
    for (const r of actual) {
      const text = textOf(r);
      const n = left.get(text);
      if (n === undefined || n <= -allowed.mayRepeat * once.get(text)!) more.push(text);
      else left.set(text, n - 1);
    }
    const missing = [...left].filter(([, n]) => n > 0);
    const missed = missing.reduce((sum, [, n]) => sum + n, 0);
    const sum = `${expected.length} rows expected, ${actual.length} visible`;
    if (more.length > 0) this.fail(`${node.uid}: ${more.length} rows too many, such as ${more.slice(0, 2).join(' ')} (${sum})`);
    if (missed > allowed.mayMiss)
      this.fail(
        `${node.uid}: ${missed} rows lost, such as ${missing
          .slice(0, 2)
          .map(([t]) => t)
          .join(' ')} (${sum})`,
      );
    if (node.op.kind === 'sink' && node.op.isOrdered && allowed.mayRepeat === 0) this.#compareOrder(node.uid, expected, actual);
  }

  /** Rows of one (split, key) come in order; rows that are missing are told elsewhere. */
  #compareOrder(uid: string, expected: readonly Row[], actual: readonly Row[]): void {
    const places = new Map<string, number[]>();
    expected.forEach((r, i) => {
      const known = places.get(textOf(r));
      if (known === undefined) places.set(textOf(r), [i]);
      else known.push(i);
    });
    const last = new Map<string, { readonly at: number; readonly row: Row }>();
    for (const r of actual) {
      const at = places.get(textOf(r))?.shift();
      if (at === undefined) continue;
      const key = `${r.s}|${r.k}`;
      const before = last.get(key);
      if (before !== undefined && at < before.at) {
        this.fail(`${uid}: order of ${key} is broken: ${textOf(r)} comes after ${textOf(before.row)}`);
        return;
      }
      last.set(key, { at, row: r });
    }
  }

  /** What witnesses found when they were restored: the parts of a split list make up the union, and broadcast state is one. */
  checkTestimonies(): void {
    // Restarts inside a process look alike; a new one begins where a subtask testifies again.
    const groups = new Map<string, Testimony[]>();
    const begun = new Map<string, number>();
    for (const t of this.testimonies) {
      const key = `${t.uid}/${t.build}`;
      const open = groups.get(`${key}/${begun.get(key) ?? 0}`);
      if (open?.some((o) => o.subtask === t.subtask)) begun.set(key, (begun.get(key) ?? 0) + 1);
      const group = `${key}/${begun.get(key) ?? 0}`;
      groups.set(group, [...(groups.get(group) ?? []), t]);
    }
    for (const [key, group] of groups) {
      const [first] = group;
      if (group.length !== first!.parallelism) continue; // the attempt died while it was being restored
      group.sort((a, b) => a.subtask - b.subtask);
      const split = group.flatMap((t) => t.split);
      const sizes = group.map((t) => t.split.length);
      for (const t of group) {
        if (JSON.stringify(t.union) !== JSON.stringify(split))
          this.fail(`${key}: union list of subtask ${t.subtask} is ${t.union}, the parts are ${split}`);
        if (JSON.stringify(t.broadcast) !== JSON.stringify(first!.broadcast))
          this.fail(`${key}: broadcast state differs: ${JSON.stringify([t.broadcast, first!.broadcast])}`);
      }
      // Lists come back as they were when the parallelism is what it was, as in Flink.
      const before = new Map(first!.broadcast).get('parallelism');
      if (before !== first!.parallelism && Math.max(...sizes) - Math.min(...sizes) > 1)
        this.fail(`${key}: the split is not even: ${sizes}`);
    }
  }

  checkAccumulators(accumulators: Readonly<Record<string, unknown>>): void {
    if (this.#spec.checkpoints.mode !== 'EXACTLY_ONCE') return;
    for (const [uid, n] of evaluate(this.#spec).witnessed) {
      if ((accumulators[uid] ?? 0) !== n) this.fail(`accumulator ${uid} is ${accumulators[uid]}, ${n} records passed`);
    }
  }

  /** After the end nothing of an unfinished kind lies around, and of checkpoints just what is retained. */
  checkLeftovers(isCleanupSure: boolean, retained: 'finished' | 'none' | 'some'): void {
    const { disk } = this.#world;
    const metadata = disk.walk(checkpointDirectory).filter((p) => p.endsWith('/_metadata'));
    if (retained === 'finished' && metadata.length === 0) this.fail('a finished job keeps its last checkpoint, but there is none');
    if (retained === 'none' && metadata.length > 0 && isCleanupSure)
      this.fail(`no checkpoint is to be kept, but there is ${metadata.join(', ')}`);
    if (metadata.length > this.#spec.checkpoints.numRetained && isCleanupSure && retained !== 'some')
      this.fail(`${metadata.length} checkpoints are kept, ${this.#spec.checkpoints.numRetained} are to be`);
    if (!isCleanupSure || retained === 'some') return; // who died has not cleaned up, and nobody came after
    for (const path of disk.walk(checkpointDirectory)) {
      const chk = /^(.*\/chk-\d+)\//.exec(path)?.[1];
      if (chk !== undefined && !metadata.includes(`${chk}/_metadata`)) this.fail(`left over: ${path}`);
      if (path.endsWith('~')) this.fail(`left over: ${path}`);
    }
    // After a cancel, what was prepared waits for the next start, which aborts it; after the end nobody will come.
    if (retained !== 'finished') return;
    for (const path of disk.walk(outputDirectory)) if (!isPart(path)) this.fail(`left over: ${path}`);
    for (const name of this.#target.undecided()) this.fail(`transaction ${name} is prepared and never decided`);
  }

  /** The bytes of a sink's committed parts, joined in name order. */
  joined(node: Node): string {
    const { disk } = this.#world;
    return disk
      .walk(`${outputDirectory}/${node.uid}`)
      .filter(isPart)
      .map((p) => disk.text(p))
      .join('');
  }
}

/** Whether a process has been taken over: from the moment another one renamed its attempt's directory. */
export function watchTakeOver(world: World, owner: SimulatedProcess, by: SimulatedProcess): void {
  world.disk.observers.push(({ kind, path, process }) => {
    if (kind === 'moved' && process === by.name && /\/attempt-\d+$/.test(path)) owner.isZombie = true;
  });
}

function isPart(path: string): boolean {
  return path.startsWith(`${outputDirectory}/`) && !path.slice(outputDirectory.length).includes('/.');
}

function rowsIn(text: string, refuse: (why: string) => void): readonly Row[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') refuse('a committed part ends in the middle of a line');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Row];
    } catch {
      refuse(`a committed part holds a broken line: ${line.slice(0, 80)}`);
      return [];
    }
  });
}

function textOf(r: Row): string {
  return `${r.id} ${r.k} ${r.s} ${r.v} ${r.t}`;
}

/** Rows that a delay before this sink may still hold at the end. */
function delaySlack(spec: JobSpec, node: Node, runs: readonly number[]): number {
  const from = spec.nodes[node.inputs[0]!.node]!;
  if (from.op.kind !== 'delay') return 0;
  return from.op.rows * (from.parallelism ?? Math.max(...runs));
}
