import { type Duration, parseDuration } from '../core/duration.ts';
import { SluiceError } from '../core/errors.ts';
import { checkFunction } from './option-checks.ts';

// watermark.ts says how event time is read from records and how far behind the newest one the watermark stays. Making the watermarks is the
// runtime's part: at fixed record counts of a split, never by the clock, so that a replay makes the same ones.

/** How watermarks follow the timestamps seen. */
export type WatermarkKind = 'none' | 'monotonous' | 'bounded-out-of-orderness';

/**
 * Where event time comes from and how late records may be. Values of this class never change; `with…` gives a new one.
 */
export class WatermarkStrategy<T> {
  readonly kind: WatermarkKind;
  /** How far the watermark stays behind the largest timestamp, ms; 0 unless the kind is `bounded-out-of-orderness`. */
  readonly boundMs: number;
  /** Event time of a record in ms since the epoch; `undefined`: the source's own timestamps are used. */
  readonly timestamps: ((value: T, recordTimestamp: number | undefined) => number) | undefined;
  /** An input that is silent for so long holds nobody back; `undefined`: never idle. */
  readonly idlenessMs: number | undefined;

  private constructor(
    kind: WatermarkKind,
    boundMs: number,
    timestamps: ((value: T, recordTimestamp: number | undefined) => number) | undefined,
    idlenessMs: number | undefined,
  ) {
    this.kind = kind;
    this.boundMs = boundMs;
    this.timestamps = timestamps;
    this.idlenessMs = idlenessMs;
    Object.freeze(this);
  }

  /** Records come at most `bound` out of order. @throws SluiceError `DURATION_INVALID` */
  static forBoundedOutOfOrderness<T>(bound: Duration): WatermarkStrategy<T> {
    const boundMs = parseDuration(bound, { name: 'forBoundedOutOfOrderness' });
    return new WatermarkStrategy<T>('bounded-out-of-orderness', boundMs, undefined, undefined);
  }

  /** Timestamps of a split never go back. */
  static forMonotonousTimestamps<T>(): WatermarkStrategy<T> {
    return new WatermarkStrategy<T>('monotonous', 0, undefined, undefined);
  }

  /** No watermarks before the end of input. */
  static noWatermarks<T>(): WatermarkStrategy<T> {
    return new WatermarkStrategy<T>('none', 0, undefined, undefined);
  }

  /** @param timestamps  gives the event time of a record, in ms since the epoch */
  withTimestamps(timestamps: (value: T, recordTimestamp: number | undefined) => number): WatermarkStrategy<T> {
    checkFunction('withTimestamps', timestamps);
    return new WatermarkStrategy<T>(this.kind, this.boundMs, timestamps, this.idlenessMs);
  }

  /**
   * An input without records for `idleness` does not hold event time back until its next record.
   * @throws SluiceError `DURATION_INVALID`, or `OPTION_INVALID` when it is 0
   */
  withIdleness(idleness: Duration): WatermarkStrategy<T> {
    const idlenessMs = parseDuration(idleness, { name: 'withIdleness' });
    if (idlenessMs === 0)
      throw new SluiceError('OPTION_INVALID', { message: 'withIdleness: the time is longer than 0', next: 'fix-the-job' });
    return new WatermarkStrategy<T>(this.kind, this.boundMs, this.timestamps, idlenessMs);
  }
}
