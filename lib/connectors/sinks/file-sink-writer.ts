// file-sink-writer.ts turns the rows of one subtask into parts.
//   W1  No part is open across a barrier: a part belongs to one checkpoint.
//   W2  `pending` holds every sealed part that is not confirmed as visible, oldest first. Only a successful commit takes one out, so a
//       failed commit, and a checkpoint that was aborted, are made good by the next one, in order.
//   W3  Counters only rise, also over restores: above what any old subtask had promised, and above what lies in the directory.

import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import type { Prepared, SinkWriter, SinkWriterContext } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { SluiceError } from '../../core/errors.ts';
import { KiB } from '../../core/limits.ts';
import type { Encoder, Format } from '../formats/format.ts';
import { PartWriter } from './part-writer.ts';
import { commitParts, parsePartName, partName, type StagedPart, stagingPath } from './staging-directory.ts';

/** Text that waits in memory before it goes to the file: few system calls, little memory for each subtask. */
const waitingCharactersMax = 256 * KiB;

export interface FileSinkWriterOptions {
  readonly path: string;
  readonly format: Format<unknown>;
  readonly rollBytes: number | undefined;
  readonly rollEveryMs: number | undefined;
}

interface WriterState {
  /** Counter of the next part. */
  readonly next: number;
}

export class FileSinkWriter implements SinkWriter {
  readonly #ctx: SinkWriterContext;
  readonly #o: FileSinkWriterOptions;
  readonly #encoder: Encoder<unknown>;
  readonly #staging: string;
  #next = 1;
  /** Last barrier passed; part of staged names. */
  #checkpoint: number;
  #current: PartWriter | undefined;
  /** Sealed since the last barrier. */
  #sealed: PartWriter[] = [];
  #pending: StagedPart[] = [];

  constructor(ctx: SinkWriterContext, o: FileSinkWriterOptions) {
    this.#ctx = ctx;
    this.#o = o;
    this.#encoder = o.format.createEncoder();
    this.#staging = stagingPath(o.path, ctx);
    this.#checkpoint = ctx.restoredCheckpoint;
  }

  async open(): Promise<void> {
    // A sink of another kind may have had the uid, and kept a state of its own.
    const counters = this.#ctx.restoredStates.map((s) => (s as Partial<WriterState> | undefined)?.next);
    const restored = Math.max(1, ...counters.filter((next) => next !== undefined));
    const found = (await this.#ctx.files.list(this.#o.path)).flatMap((e) => parsePartName(e.name) ?? []);
    const own = found.filter((p) => p.subtask === this.#ctx.subtask);
    this.#next = Math.max(restored, ...own.map((p) => p.counter + 1));
    if (this.#ctx.subtask === 0) this.#reportOlderOutput(found.filter((p) => p.counter >= restored).length);
  }

  /** Says once for the sink what lies in the directory that this run did not promise. */
  #reportOlderOutput(count: number): void {
    if (count === 0) return;
    const parts = count === 1 ? '1 part' : `${count} parts`;
    this.#ctx.report(
      this.#ctx.restoredCheckpoint > 0
        ? `${this.#o.path} holds ${parts} newer than checkpoint ${this.#ctx.restoredCheckpoint}: rows that are worked out again will be in it twice`
        : `${this.#o.path} already holds ${parts} of an earlier run; new ones are added beside them`,
    );
  }

  write(rows: RecordBatch): void | Promise<void> {
    const { rollBytes, rollEveryMs } = this.#o;
    if (rollBytes !== undefined || rollEveryMs !== undefined) return this.#writeRolling(rows);
    if (rows.count === 0) return undefined;
    const part = (this.#current ??= this.#openPart());
    const encoder = this.#encoder;
    const { values, count } = rows;
    let text = '';
    for (let i = 0; i < count; i++) text += encoder.encode(values[i]);
    part.add(text, 0);
    return part.waiting >= waitingCharactersMax ? this.#guarded(part.flush()) : undefined;
  }

  /** Rows one by one, so that a part is closed behind the row that filled it. Encodes all before it waits: the batch is ours only until then. */
  #writeRolling(rows: RecordBatch): void | Promise<void> {
    const { rollBytes = Number.POSITIVE_INFINITY, rollEveryMs = Number.POSITIVE_INFINITY } = this.#o;
    const full: PartWriter[] = [];
    const now = this.#ctx.clock.now();
    if (this.#current !== undefined && now - this.#current.openedAt >= rollEveryMs) full.push(this.#closeCurrent(this.#current));
    for (let i = 0; i < rows.count; i++) {
      const text = this.#encoder.encode(rows.values[i]);
      const part = (this.#current ??= this.#openPart());
      part.add(text, Buffer.byteLength(text));
      if (part.bytes >= rollBytes) full.push(this.#closeCurrent(part));
    }
    const current = this.#current;
    if (full.length === 0 && (current === undefined || current.waiting < waitingCharactersMax)) return undefined;
    return this.#guarded(
      (async () => {
        for (const part of full) await part.seal();
        await current?.flush();
      })(),
    );
  }

  #closeCurrent(part: PartWriter): PartWriter {
    this.#current = undefined;
    this.#sealed.push(part);
    return part;
  }

  #openPart(): PartWriter {
    const part = partName(this.#ctx.subtask, this.#next++, this.#o.format.extension);
    const staged = `${this.#ctx.generation}.${this.#checkpoint}.${part}`;
    return new PartWriter(this.#ctx.files, {
      path: join(this.#staging, staged),
      staged,
      part,
      head: this.#encoder.head,
      openedAt: this.#o.rollEveryMs === undefined ? 0 : this.#ctx.clock.now(),
    });
  }

  announce(checkpoint: number): readonly unknown[] {
    const open = this.#current === undefined ? this.#sealed : [...this.#sealed, this.#current];
    return [...this.#pending, ...open.map((p) => ({ checkpoint, staged: p.staged, part: p.part }))];
  }

  async prepare(checkpoint: number): Promise<Prepared> {
    if (this.#current !== undefined) this.#closeCurrent(this.#current);
    this.#checkpoint = checkpoint;
    const sealed = this.#sealed;
    if (sealed.length > 0) {
      await this.#guarded(
        (async () => {
          for (const part of sealed) await part.seal();
          await this.#ctx.files.syncDirectory(this.#staging);
        })(),
      );
      this.#sealed = this.#sealed.slice(sealed.length);
      this.#pending.push(...sealed.map((p) => ({ checkpoint, staged: p.staged, part: p.part })));
    }
    const state: WriterState = { next: this.#next };
    return { state, transactions: [...this.#pending] };
  }

  async commit(checkpoint: number): Promise<void> {
    const due = this.#pending.filter((p) => p.checkpoint <= checkpoint);
    if (due.length === 0) return;
    await commitParts(this.#ctx.files, this.#o.path, due, (staged) => join(this.#staging, staged));
    const done = new Set(due);
    this.#pending = this.#pending.filter((p) => !done.has(p));
  }

  async discard(): Promise<void> {
    const open = this.#current === undefined ? this.#sealed : [...this.#sealed, this.#current];
    this.#current = undefined;
    this.#sealed = [];
    for (const part of open) await part.abandon();
  }

  close(): void {}

  /** A path that leads nowhere means that the staging directory has another name now (G1). */
  async #guarded(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== 'ENOENT') throw cause;
      throw new SluiceError('OUTPUT_TAKEN_OVER', {
        message: `the staging directory of '${this.#o.path}' is gone: another run has taken over this output, or somebody removed it`,
        next: 'fix-the-command',
        advice: 'see which other run writes there; this one cannot go on',
        cause,
        path: this.#staging,
        operator: this.#ctx.uid,
      });
    }
  }
}
