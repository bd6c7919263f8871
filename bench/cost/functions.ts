// functions.ts models what functions cost: their calls are counted, how long each takes is reckoned from its requests. Nothing is timed, so that it is
// the same on every machine, and the same for whoever is compared.
//   F1  Requests of one unit are taken to follow each other, rows of a sink 25 at a time; units of one event, and control calls of one pulse, run side by side.
//   F2  A function of a stage has the memory that the construct gives it; that of the pulse has half of it.

import type { Call, EventKind, Fleet } from '../calls/fleet.ts';
import { type Counts, type Kind, minus, requestsOf } from '../calls/meter.ts';

/** Of one request, from a function in its Region; round numbers at the slow end of what people report. */
export const latencyMs = { table: 5, bucket: 25, queue: 10 } as const;
/** Of the handler and its runtime, of each record, of each request that the SDK makes. */
export const cpuMs = { call: 3, record: 0.02, request: 0.3 } as const;

/** Of a table of rows. */
const rowsAtOnce = 25;

const memoryGb = { stage: 1, pulse: 0.5 } as const;

const bucketKinds: readonly Kind[] = ['object put', 'object get', 'object list', 'object remove'];
const queueKinds: readonly Kind[] = ['send', 'receive', 'settle', 'release'];

/** Pure: how long somebody waits who makes these requests one after the other, and what the SDK takes. */
export function durationMs(counts: Counts): number {
  const [every, bucket, queue] = [requestsOf(counts), requestsOf(counts, bucketKinds), requestsOf(counts, queueKinds)];
  const all = every - counts['row write'].requests;
  return (all - bucket - queue) * latencyMs.table + bucket * latencyMs.bucket + queue * latencyMs.queue + all * cpuMs.request;
}

/** Pure: the same for the rows of a sink, which are apart. */
export function rowsMs(counts: Counts): number {
  const rows = counts['row write'].requests;
  return Math.ceil(rows / rowsAtOnce) * latencyMs.table + rows * cpuMs.request;
}

export interface FunctionUse {
  readonly calls: Readonly<Record<EventKind, number>>;
  readonly gbSeconds: number;
  /** What the rows of a sink take of functions, which is in no other number. */
  readonly rowsGbSeconds?: number;
}

/** Watches a fleet. */
export class Functions {
  readonly #calls: Record<EventKind, number> = { records: 0, messages: 0, control: 0, pulse: 0 };
  #gbMs = 0;
  #rowsGbMs = 0;
  #open: EventKind | undefined;
  #longestMs = 0;
  #recordsMs = 0;
  #pulseFrom: { readonly counts: Counts; readonly controlMs: number } | undefined;
  #longestControlMs = 0;
  readonly #fleet: Fleet;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    fleet.onEvent = (kind) => this.#begin(kind);
  }

  note({ invocation, counts }: Call): void {
    this.#longestMs = Math.max(this.#longestMs, durationMs(counts));
    this.#rowsGbMs += rowsMs(counts) * memoryGb.stage;
    if (invocation.kind === 'records') this.#recordsMs += invocation.records.length * cpuMs.record;
  }

  get use(): FunctionUse {
    this.#end();
    this.#endPulse();
    return { calls: { ...this.#calls }, gbSeconds: this.#gbMs / 1_000, rowsGbSeconds: this.#rowsGbMs / 1_000 };
  }

  #begin(kind: EventKind): void {
    this.#end();
    if (kind !== 'control') this.#endPulse();
    this.#calls[kind]++;
    if (kind === 'pulse') this.#pulseFrom = { counts: this.#fleet.coordinatorMeter.counts, controlMs: 0 };
    else this.#open = kind;
  }

  #end(): void {
    if (this.#open === undefined) return;
    const ms = cpuMs.call + this.#recordsMs + this.#longestMs;
    this.#gbMs += ms * memoryGb.stage;
    if (this.#open === 'control') this.#longestControlMs = Math.max(this.#longestControlMs, ms);
    [this.#open, this.#longestMs, this.#recordsMs] = [undefined, 0, 0];
  }

  #endPulse(): void {
    if (this.#pulseFrom === undefined) return;
    const own = durationMs(minus(this.#fleet.coordinatorMeter.counts, this.#pulseFrom.counts));
    this.#gbMs += (cpuMs.call + own + this.#longestControlMs) * memoryGb.pulse;
    [this.#pulseFrom, this.#longestControlMs] = [undefined, 0];
  }
}
