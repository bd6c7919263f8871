// Timers of processing time fire in a tick, by the clock of the environment: they follow the clock, and only they.
//   P1  What is due when the input ends fires with the end. Behind it nothing does: rows would miss the last checkpoint, and nobody takes a
//       message that follows the end.

import { finalWatermark } from '../../core/batch.ts';
import type { OperatorHost } from '../../runtime/host.ts';

/** @returns whether any was due */
export function fireTimers(host: OperatorHost, now: number): boolean {
  const next = host.nextProcessingTimer();
  if (next === undefined || next > now) return false;
  while (!host.fireProcessingTimers(now));
  return true;
}

/** Event time moves on. @param now  of the clock, whose due timers still fire when event time comes to its end (P1) */
export function advanceTo(host: OperatorHost, watermark: number, now: number): void {
  if (watermark === finalWatermark) fireTimers(host, now);
  while (!host.advanceWatermark(watermark));
}

/** Event time ends, and the end goes on to every target (P1). */
export function end(host: OperatorHost, now: number): void {
  advanceTo(host, finalWatermark, now);
  sendEnd(host, now);
}

/** The end goes on to every target, where event time has ended already (P1). */
export function sendEnd(host: OperatorHost, now: number): void {
  fireTimers(host, now);
  host.broadcast({ kind: 'end' });
}
