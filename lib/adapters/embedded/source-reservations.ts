// AT_MOST_ONCE: how far one source subtask may hand out records. A reservation is stored before the records it covers leave; what the last
// one of a crashed run covered is skipped by the next, counted as lost.
//   V1  `allowance` never exceeds what is durable.
//   V2  Each store repeats what earlier attempts reserved for every split of the job, since splits may have changed subtask, and sources their
//       stage: a file that is replaced never forgets.

import { decideReservation, type Reservation, storeReservations } from '../../checkpoint/reservation.ts';
import type { Clock, FileSystem } from '../../core/ports.ts';

export interface SourceReservationsRequest {
  readonly files: FileSystem;
  readonly clock: Clock;
  /** The attempt's directory. */
  readonly path: string;
  readonly stage: number;
  readonly subtask: number;
  /** Of earlier attempts, by split (named as in `Reservation`). */
  readonly earlier: ReadonlyMap<string, number>;
}

export class SourceReservations {
  readonly #request: SourceReservationsRequest;
  readonly #durable: Map<string, number>;
  #storedMs: number | undefined;
  #usedSince = 0;

  constructor(request: SourceReservationsRequest) {
    this.#request = request;
    this.#durable = new Map(request.earlier);
  }

  get earlier(): ReadonlyMap<string, number> {
    return this.#request.earlier;
  }

  /** Index up to which records of the split may be handed out. */
  allowance(split: string): number {
    return this.#durable.get(split) ?? 0;
  }

  used(records: number): void {
    this.#usedSince += records;
  }

  /** Makes a reservation when one is due. @returns a promise while the source has to wait for it */
  renew(split: string, index: number): Promise<void> | undefined {
    const { clock, files, path, stage, subtask } = this.#request;
    const nowMs = clock.now();
    const left = this.allowance(split) - index;
    const decision = decideReservation({ nowMs, storedMs: this.#storedMs, left, usedSince: this.#usedSince });
    if (decision.kind === 'enough') return undefined;
    const reserved = Math.max(index + decision.records, this.allowance(split));
    const reservations: Reservation[] = Array.from(this.#durable, ([name, upTo]) => ({
      split: name,
      index: name === split ? reserved : upTo,
    }));
    if (!this.#durable.has(split)) reservations.push({ split, index: reserved });
    this.#usedSince = 0;
    return storeReservations(files, path, stage, subtask, reservations).then(() => {
      this.#storedMs = nowMs;
      this.#durable.set(split, reserved);
    });
  }
}
