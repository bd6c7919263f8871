// Which cause an operator is working for, so that what it gives and what timers it sets are known by it (lib/core/origins.ts). One tracker belongs
// to one operator of a job that carries origins; other jobs have none.
//   T1  Outputs are counted for each call of the user's function, over the main output and all side outputs together: no two share a text.
//   T2  A timer of event time is known by key and time, whoever set it. Once its time has passed the same timer can be set and fire again, so
//       one that is set late is known by the call that set it, too.
//   T3  The time of a timer of processing time is another one after a replay, so it is known by the call that set it instead.
//   T4  Hot loops are the same with and without a tracker: it learns of the next record by a wrapper around the user's function.

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RecordBatch } from '../core/batch.ts';
import { encodedOf, type StateKey } from '../core/key-codec.ts';
import { listedOrigins, type Origins, outputOrigin } from '../core/origins.ts';
import type { TimeDomain, Timer } from '../state/timers.ts';
import { Emitter } from './emitter.ts';

/** Characters of a cause that a timer keeps as it is; a longer one is kept as a digest of 128 bits. */
const causeCharactersMax = 200;

export class OriginTracker {
  #batch: Origins | undefined;
  #index = -1;
  #single = '';
  #outputs = 0;
  #registrations = 0;

  beginBatch(batch: RecordBatch): void {
    if (batch.origins === undefined) throw new Error('a batch without origins has reached an operator that carries them');
    this.#batch = batch.origins;
    this.#index = -1;
  }

  /** A call that no record of a batch has caused. */
  beginSingle(cause: string): void {
    this.#batch = undefined;
    this.#single = cause;
    this.#outputs = 0;
    this.#registrations = 0;
  }

  beginTimer(uid: string, domain: TimeDomain, timer: Timer): void {
    this.beginSingle(timerOrigin(uid, domain, timer));
  }

  /** The cause of the call under way. */
  get cause(): string {
    return this.#batch === undefined ? this.#single : this.#batch.at(this.#index);
  }

  #advance(): void {
    this.#index += 1;
    this.#outputs = 0;
    this.#registrations = 0;
  }

  nextOutput(): string {
    return outputOrigin(this.cause, this.#outputs++);
  }

  /** @returns what a timer has to remember of the call that sets it */
  registration(domain: TimeDomain, time: number, watermark: number): string | undefined {
    if (domain === 'processing') return `${bounded(this.cause)}#${this.#registrations++}`;
    return time <= watermark ? bounded(this.cause) : undefined;
  }

  /** The function, made to tell when it is called for the next record. */
  watching<A, B, C, R>(f: (value: A, context: B, out: C) => R): (value: A, context: B, out: C) => R {
    const tracker = this;
    return function (this: unknown, value, context, out) {
      tracker.#advance();
      return f.call(this, value, context, out);
    };
  }
}

/** A timer that sets the next one, and so on, must not be known by a text that grows for ever. */
function bounded(cause: string): string {
  return cause.length <= causeCharactersMax ? cause : `~${createHash('sha256').update(cause).digest('hex').slice(0, 32)}`;
}

function timerOrigin(uid: string, domain: TimeDomain, { time, key, cause }: Timer): string {
  const place = `${uid}@${domain}/${keyText(key)}`;
  if (domain === 'processing') return `${place}/${cause ?? time}`;
  return cause === undefined ? `${place}/${time}` : `${place}/${time}/${cause}`;
}

/** A plain key as it is, any other as the hexadecimal digits of its encoding. */
function keyText(key: StateKey): string {
  return typeof key === 'string' && /^[A-Za-z0-9_.-]+$/.test(key) ? key : `~${Buffer.from(encodedOf(key), 'latin1').toString('hex')}`;
}

/** An emitter whose batches carry the causes of their records. */
class OriginEmitter extends Emitter {
  readonly #tracker: OriginTracker;
  #texts: string[] = [];

  constructor(tracker: OriginTracker) {
    super();
    this.#tracker = tracker;
  }

  override collect(value: unknown): void {
    super.collect(value);
    this.#texts.push(this.#tracker.nextOutput());
  }

  override take(): RecordBatch | undefined {
    const batch = super.take();
    if (batch === undefined) return undefined;
    batch.origins = listedOrigins(this.#texts);
    this.#texts = [];
    return batch;
  }
}

export function emitterFor(tracker: OriginTracker | undefined): Emitter {
  return tracker === undefined ? new Emitter() : new OriginEmitter(tracker);
}
