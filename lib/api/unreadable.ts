import type { SluiceError } from '../core/errors.ts';

/**
 * Stands for a record that its source cannot read and that nobody can mend, in the place of the record: it fails like one that an operator throws on,
 * is tried as often, and is parked then with its bytes.
 */
export class UnreadableRecord {
  readonly bytes: Uint8Array;
  /** With the code `RECORD_DAMAGED`. */
  readonly error: SluiceError;

  constructor(bytes: Uint8Array, error: SluiceError) {
    this.bytes = Uint8Array.from(bytes); // as a dead letter keeps it: no view into an event, and no Buffer
    this.error = error;
  }
}
