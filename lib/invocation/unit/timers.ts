// Timers of processing time fire in a tick, by the clock of the environment: they follow the clock, and only they.

import type { OperatorHost } from '../../runtime/host.ts';

/** @returns whether any was due */
export function fireTimers(host: OperatorHost, now: number): boolean {
  const next = host.nextProcessingTimer();
  if (next === undefined || next > now) return false;
  while (!host.fireProcessingTimers(now));
  return true;
}
