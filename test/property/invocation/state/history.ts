// A subtask's life over a fake table: environments that work, sleep, crash and flush late, checkpoints that complete, restores. The changelog is a
// list here: whoever is behind catches up before it commits. What is under test is that state reads as the committed history says.

import { expect } from 'vitest';
import { isSluiceError, SluiceError } from '../../../../lib/core/errors.ts';
import type { StateDelta } from '../../../../lib/invocation/entry.ts';
import type { RestorePoint } from '../../../../lib/invocation/job-item.ts';
import type { Flushed, VersionTag, VersionView } from '../../../../lib/invocation/state/contract.ts';
import type { StateBase } from '../../../../lib/invocation/state/subtask-state.ts';
import { FakeService, fakePorts, type SeededRandom, seededRandom } from '../../../../lib/testing/index.ts';
import { readAll, Unit } from '../../../unit/invocation/state/support.ts';
import { keys, Model, randomStep, type Step, timersOf } from './model.ts';

export interface Entry {
  readonly tag: VersionTag;
  readonly delta: StateDelta;
  readonly isBarrier: boolean;
  readonly flushedThrough: number;
  readonly snapshot: string | undefined;
}

interface Checkpoint {
  readonly number: number;
  readonly model: Model;
  readonly generation: number;
  /** Entries that have to be applied to the base, as far as the ring still has them, and what the base is. */
  unflushed: readonly Entry[];
  readonly snapshot: string | undefined;
}

interface Writer {
  unit: Unit;
  generation: number;
  n: number;
  flushedThrough: number;
  snapshot: string | undefined;
  /** Completed checkpoints and barriers as it knows them. */
  points: readonly number[];
}

export type MakeBase = (p: {
  readonly ports: ReturnType<typeof fakePorts>;
  readonly view: Pick<VersionView, 'generation' | 'restores'>;
  readonly snapshot: string | undefined;
}) => StateBase;

interface Pending {
  readonly run: (outcome: 'done' | 'failed before' | 'failed after' | 'lost') => void;
}

interface OpenUnit {
  readonly writer: Writer;
  readonly model: Model;
  readonly delta: StateDelta;
}

const lostFlush = { writer: undefined, flushed: { kind: 'incomplete' }, through: 0 } as const;

const checkpointsMax = 2;

export class History {
  readonly #random: SeededRandom;
  readonly #makeBase: MakeBase;
  readonly #service: FakeService;
  #generation = 0;
  #restores: readonly RestorePoint[] = [];
  #log: Entry[] = [];
  #epoch = 1;
  #n = 0;
  #model = new Model();
  #open: Checkpoint[] = [];
  #completed: Checkpoint[] = [];
  #writers: (Writer | undefined)[] = [undefined, undefined, undefined];
  #pending: Pending[] = [];
  /** Calls fail and replies are lost. */
  #isHarsh = false;
  readonly counts = { units: 0, abandoned: 0, flushes: 0, incomplete: 0, restores: 0, crashes: 0, stale: 0, recoveries: 0 };

  readonly #keepsRing: boolean;

  /** @param keepsRing  entries are kept for ever: a snapshot has only its newest state, so what a checkpoint needs is in its own object */
  constructor(seed: number, makeBase: MakeBase, keepsRing: boolean) {
    this.#keepsRing = keepsRing;
    this.#random = seededRandom(seed);
    this.#makeBase = makeBase;
    const leaves = this.#random.fork('leave');
    this.#service = new FakeService({
      now: () => 0,
      pageBytes: 600,
      leave: (count) => Array.from({ length: count }, (_, i) => i).filter(() => leaves.chance(0.1)),
    });
  }

  // The service, one call at a time in any order

  readonly #call = <T>(_method: string, _place: string, effect: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      this.#pending.push({
        run: (outcome) => {
          if (outcome === 'failed before') reject(failure('STORE_THROTTLED'));
          else {
            const answer = effect();
            if (outcome === 'failed after') reject(failure('STORE_UNCERTAIN'));
            if (outcome === 'done') resolve(answer);
          }
        },
      });
    });

  /** Lets calls happen until all works are over; `lost` when the environment died. */
  async #drive<T>(works: readonly Promise<T>[]): Promise<readonly (T | 'lost')[]> {
    const results: (T | 'lost')[] = works.map(() => 'lost');
    let left = works.length;
    works.forEach((work, i) => {
      void work
        .then(
          (result) => {
            results[i] = result;
          },
          (error: unknown) => {
            if (!isSluiceError(error) || !error.code.startsWith('STORE_')) fatal ??= error;
          },
        )
        .finally(() => {
          left -= 1;
        });
    });
    let fatal: unknown;
    while (left > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (fatal !== undefined) throw fatal;
      if (this.#pending.length === 0) continue;
      const [next] = this.#pending.splice(this.#random.below(this.#pending.length), 1);
      const dice = this.#isHarsh ? this.#random.below(30) : 9;
      const outcome = dice === 0 ? 'failed before' : dice === 1 ? 'failed after' : dice === 2 ? 'lost' : 'done';
      next?.run(outcome);
      if (outcome !== 'lost') continue;
      this.counts.crashes += 1;
      left -= 1; // its work never goes on
    }
    if (fatal !== undefined) throw fatal;
    return results;
  }

  // Environments

  #view(writer: Writer): VersionView {
    return {
      generation: writer.generation,
      restores: this.#restores.slice(0, writer.generation),
      points: writer.points,
      epoch: this.#epochAt(writer),
    };
  }

  #epochAt(writer: Writer): number {
    if (writer.generation === this.#generation && writer.n === this.#n) return this.#epoch;
    return writer.unit.epoch;
  }

  #newUnit(view: Pick<VersionView, 'generation' | 'restores'>, snapshot: string | undefined): Unit {
    const base = this.#makeBase({ ports: fakePorts(this.#service, this.#call), view, snapshot });
    return new Unit(base, { hasTimers: true, generation: view.generation });
  }

  #recovered(): Writer {
    this.counts.recoveries += 1;
    const last = this.#log.at(-1);
    const flushedThrough = last?.flushedThrough ?? 0;
    const unit = this.#newUnit({ generation: this.#generation, restores: this.#restores }, last?.snapshot);
    for (const { tag, delta } of this.#log) if (tag.n > flushedThrough) unit.state.catchUp(tag, delta);
    const writer = { unit, generation: this.#generation, n: this.#n, flushedThrough, snapshot: last?.snapshot, points: [] };
    this.#know(writer);
    return writer;
  }

  #know(writer: Writer): void {
    writer.points = [...this.#completed, ...this.#open].map(({ number }) => number);
    writer.unit.epoch = this.#epoch;
  }

  #current(index: number): Writer {
    const known = this.#writers[index];
    if (known === undefined || known.generation !== this.#generation || this.#random.chance(0.1)) {
      const writer = this.#recovered();
      this.#writers[index] = writer;
      return writer;
    }
    this.#catchUp(known);
    return known;
  }

  #catchUp(known: Writer): void {
    for (const { tag, delta, flushedThrough, snapshot } of this.#log) {
      if (tag.n <= known.n) continue;
      known.unit.state.catchUp(tag, delta);
      if (flushedThrough <= known.flushedThrough) continue;
      known.flushedThrough = flushedThrough;
      known.snapshot = snapshot;
    }
    known.n = this.#n;
    this.#know(known);
  }

  #append(writer: Writer, delta: StateDelta, isBarrier: boolean): void {
    this.#n += 1;
    writer.n = this.#n;
    writer.unit.n = this.#n;
    const tag = { generation: this.#generation, epoch: this.#epoch, n: this.#n };
    this.#log.push({ tag, delta, isBarrier, flushedThrough: writer.flushedThrough, snapshot: writer.snapshot });
    writer.unit.state.commitUnit(tag, delta);
    if (this.#keepsRing || this.#random.chance(0.7)) return;
    // Slots of what is materialised are used again.
    const gone = this.#random.between(0, writer.flushedThrough);
    for (const checkpoint of [...this.#open, ...this.#completed]) {
      if (checkpoint.generation === this.#generation) checkpoint.unflushed = checkpoint.unflushed.filter(({ tag: { n } }) => n > gone);
    }
  }

  // What happens

  async step(): Promise<void> {
    const random = this.#random;
    const index = random.below(this.#writers.length);
    const dice = random.below(100);
    if (dice < 50) await this.#unit(index);
    else if (dice < 60) this.#barrier(index);
    else if (dice < 66) this.#complete();
    else if (dice < 90) await this.#flush();
    else if (dice < 93) this.#writers[index]?.unit.state.evict(random.below(4));
    else if (dice < 96 && this.#completed.length > 0) this.#restore(random.pick(this.#completed));
    else if (dice < 98) this.#writers[index] = undefined;
  }

  async #unit(index: number): Promise<void> {
    const unit = await this.#openUnit(index);
    if (unit === undefined) return;
    if (!this.#random.chance(0.25)) {
      this.#commit(unit);
      return;
    }
    this.counts.abandoned += 1;
    unit.writer.unit.state.abandonUnit();
  }

  /** Runs a unit up to its delta. */
  async #openUnit(index: number): Promise<OpenUnit | undefined> {
    const random = this.#random;
    const writer = this.#current(index);
    const batch = Array.from({ length: random.between(1, 6) }, () => random.pick(keys));
    const steps = batch.map((key) => (random.chance(0.2) ? undefined : randomStep(random, key)));
    const appended = random.chance(0.2) ? `row ${this.#n}` : undefined;
    const takesRows = random.chance(0.1);
    this.#isHarsh = random.chance(0.2);
    const [done] = await this.#drive([this.#run(writer, batch, steps, { appended, takesRows })]);
    this.#isHarsh = false;
    if (done !== undefined && done !== 'lost') return { ...done, writer };
    this.#writers[index] = undefined; // it failed, or died
    return undefined;
  }

  #commit({ writer, model, delta }: OpenUnit): void {
    this.counts.units += 1;
    this.#model = model;
    this.#append(writer, delta, false);
  }

  async #run(
    { unit }: Writer,
    batch: readonly string[],
    steps: readonly (Step | undefined)[],
    rows: { readonly appended: string | undefined; readonly takesRows: boolean },
  ): Promise<{ readonly model: Model; readonly delta: StateDelta }> {
    for (let runs = 0; runs < 100; runs++) {
      const model = this.#model.copy();
      const reads: [unknown, unknown][] = [];
      unit.runOnce(batch, (s, i) => {
        const key = batch[i] as string;
        const step = steps[i];
        if (step === undefined) reads.push([readAll(s), model.read(key)]);
        else step(s, model, unit.backend);
      });
      const buffer = unit.state.buffer('sink');
      if (rows.takesRows) {
        const all = buffer.all();
        if (all !== undefined) reads.push([all.map(text), [...model.rows]]);
        buffer.clear();
        model.rows = [];
      }
      if (rows.appended !== undefined) {
        buffer.append(bytes(rows.appended));
        model.rows.push(rows.appended);
      }
      if (!unit.state.isSuspended) {
        for (const [got, wanted] of reads) expect(got).toEqual(wanted);
        return { model, delta: unit.state.takeDelta() };
      }
      unit.state.abandonUnit();
      if (this.#random.chance(0.3)) unit.reopen();
      await unit.state.loadMissing();
    }
    throw new Error('a unit that never has all that it needs');
  }

  #barrier(index: number): void {
    const writer = this.#current(index);
    writer.unit.state.beginUnit();
    const number = this.#epoch;
    this.#append(writer, writer.unit.state.takeDelta(), true);
    const unflushed = this.#log.filter(({ tag }) => tag.n > writer.flushedThrough);
    this.#open.push({ number, generation: this.#generation, model: this.#model.copy(), unflushed, snapshot: writer.snapshot });
    this.#epoch += 1;
    this.#know(writer);
  }

  #complete(): void {
    const random = this.#random;
    if (this.#open.length === 0) return;
    const checkpoint = random.pick(this.#open);
    this.#open = this.#open.filter(({ number }) => number > checkpoint.number);
    this.#completed = [...this.#completed, checkpoint].slice(-checkpointsMax);
  }

  /** One or several at once, up to date or not; one of them may commit, or catch up, while its flush is on its way. */
  async #flush(): Promise<void> {
    const random = this.#random;
    const flushing = random.shuffled([0, 1, 2].filter((i) => this.#writers[i] !== undefined)).slice(0, random.between(1, 3));
    const busy = random.pick(flushing.length > 0 ? flushing : [0]);
    const unit = random.chance(0.5) ? await this.#openUnit(busy) : undefined;
    this.#isHarsh = random.chance(0.5);
    const works = flushing.map((i) => this.#flushOf(this.#writers[i]));
    const isBehind = unit !== undefined && (unit.writer !== this.#writers[busy] || unit.writer.n !== this.#n);
    if (unit !== undefined && !isBehind) this.#commit(unit);
    else if (this.#writers[busy]?.generation === this.#generation) this.#catchUp(this.#writers[busy]);
    const outcomes = await this.#drive(works);
    this.#isHarsh = false;
    for (const [at, outcome] of outcomes.entries()) {
      this.counts.flushes += 1;
      if (outcome === undefined) continue;
      const { writer, flushed, through } = outcome === 'lost' ? lostFlush : outcome;
      if (writer === undefined || flushed.kind === 'incomplete') {
        this.counts.incomplete += 1;
        // A failed one may go on; one whose call never came back may not.
        if (writer === undefined) this.#writers[flushing[at] as number] = undefined;
      } else if (through > writer.flushedThrough) {
        writer.flushedThrough = through;
        writer.snapshot = flushed.snapshot;
      }
    }
  }

  async #flushOf(
    writer: Writer | undefined,
  ): Promise<{ readonly writer: Writer | undefined; readonly flushed: Flushed; readonly through: number } | undefined> {
    if (writer === undefined) return undefined;
    if (writer.generation !== this.#generation || writer.n !== this.#n) this.counts.stale += 1;
    const through = writer.n;
    return { writer, flushed: await writer.unit.state.flush(this.#view(writer)), through };
  }

  #restore(checkpoint: Checkpoint): void {
    this.counts.restores += 1;
    this.#generation += 1;
    this.#restores = [...this.#restores, { generation: this.#generation, checkpoint: checkpoint.number }];
    this.#epoch += 2;
    this.#n += 1;
    this.#model = checkpoint.model.copy();
    const delta = joined(checkpoint.unflushed.map(({ delta: d }) => d));
    const tag = { generation: this.#generation, epoch: this.#epoch, n: this.#n };
    this.#log = [{ tag, delta, isBarrier: false, flushedThrough: this.#n - 1, snapshot: checkpoint.snapshot }];
    this.#open = [];
    this.#completed = this.#completed.filter(({ number }) => number <= checkpoint.number);
  }

  /** Reads everything through a new environment, and what each retained checkpoint would bring back. */
  async audit(): Promise<void> {
    this.#writers = [];
    await this.#compare(this.#recovered().unit, this.#model);
    for (const { number, model, unflushed, snapshot } of [...this.#completed, ...this.#open]) {
      const generation = this.#generation + 1;
      const restores = [...this.#restores, { generation, checkpoint: number }];
      const unit = this.#newUnit({ generation, restores }, snapshot);
      for (const { tag, delta } of unflushed) unit.state.catchUp(tag, delta);
      await this.#compare(unit, model);
    }
  }

  async #compare(unit: Unit, model: Model): Promise<void> {
    const read = async (): Promise<void> => {
      for (const key of keys) expect(await unit.read(key, readAll)).toEqual(model.read(key));
      for (;;) {
        unit.state.beginUnit();
        let timers: string[] | undefined;
        try {
          timers = timersOf(unit.backend);
        } catch {
          // not resident
        }
        const rows = unit.state.buffer('sink').all();
        const { isSuspended } = unit.state;
        unit.state.abandonUnit();
        if (isSuspended) await unit.state.loadMissing();
        else {
          expect(timers).toEqual(model.readTimers());
          expect(rows?.map(text)).toEqual(model.rows);
          return;
        }
      }
    };
    await this.#drive([read()]);
  }

  /** Versions of the item that has most. */
  versionsMax(): number {
    return Math.max(0, ...this.#service.table.items().map(({ tags }) => tags.split(',').length));
  }
}

function failure(code: 'STORE_THROTTLED' | 'STORE_UNCERTAIN'): SluiceError {
  return new SluiceError(code, { message: 'a planned fault', next: 'retry-invocation' });
}

function joined(deltas: readonly StateDelta[]): StateDelta {
  const writes = new Map(deltas.flatMap((delta) => delta.writes.map((write) => [JSON.stringify(write.address), write] as const)));
  return { writes: [...writes.values()], timers: deltas.flatMap(({ timers }) => timers) };
}

const bytes = (row: string): Uint8Array => new TextEncoder().encode(row);
const text = (row: Uint8Array): string => new TextDecoder().decode(row);
