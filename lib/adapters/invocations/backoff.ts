// How long to wait before a delivery is tried again, and when errors are so many that the job has failed.

import { isSluiceError, type SluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';

const waitMsMin = 5;
const waitMsMax = 500;
/** Errors in a row of one delivery that a job survives: each was preceded by a wait, so they span several seconds. */
const errorsInARowMax = 12;
/** The same for a store that is busy. A worker that was stopped in the middle of a write keeps everyone out until it is found and killed. */
const busyInARowMax = 200;

/** Errors that another try would meet again. */
const fatalCodes: ReadonlySet<string> = new Set([
  'DATA_DAMAGED',
  'FORMAT_NEWER',
  'PLAN_CHANGED',
  'OBJECT_MISSING',
  'VALUE_NOT_ENCODABLE',
  'FUNCTION_ASYNC',
  'STATE_TOO_LARGE',
  'INPUT_CHANGED',
  'KEY_NOT_SUPPORTED',
]);

const fatalInputCodes: ReadonlySet<string> = new Set([...fatalCodes, 'INPUT_NOT_FOUND', 'OWNER_LOST', 'SOURCE_NOT_AVAILABLE']);

export function isFatalInput(error: SluiceError): boolean {
  return fatalInputCodes.has(error.code);
}

export class Backoff {
  readonly #clock: Clock;
  readonly #stopped: Promise<void>;
  #waitMs = waitMsMin;
  #errors = 0;

  constructor(clock: Clock, stopped: Promise<void>) {
    this.#clock = clock;
    this.#stopped = stopped;
  }

  /** @throws the error when it is one too many */
  failed(error: unknown): void {
    this.#errors += 1;
    const max = isSluiceError(error) && error.code === 'STORE_THROTTLED' ? busyInARowMax : errorsInARowMax;
    if (this.#errors > max || (isSluiceError(error) && fatalCodes.has(error.code))) throw error;
  }

  reset(): void {
    this.#waitMs = waitMsMin;
    this.#errors = 0;
  }

  async wait(): Promise<void> {
    const sleep = this.#clock.sleep(this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, waitMsMax);
    await Promise.race([sleep.done, this.#stopped]);
    sleep.cancel();
  }
}
