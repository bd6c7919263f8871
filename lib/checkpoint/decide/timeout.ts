// Has a checkpoint taken too long? Time-outs double with each checkpoint in a row that was aborted for time, up to a cap: a job whose
// checkpoints take a little longer than the time-out would otherwise never complete one (exchange-model, BREAK `patience`).

/** Doublings at most: sixteen times the time-out that was asked for. */
export const doublingsMax = 4;

export interface TimeoutFacts {
  readonly nowMs: number;
  readonly begunMs: number;
  /** As fixed when it began; see `patienceMs`. */
  readonly patienceMs: number;
}

export type Timeout = { readonly kind: 'expired' } | { readonly kind: 'wait'; readonly ms: number };

export function decideTimeout(facts: TimeoutFacts): Timeout {
  // A clock that was set back must not make a checkpoint live for ever.
  const ms = Math.min(facts.begunMs, facts.nowMs) + facts.patienceMs - facts.nowMs;
  return ms <= 0 ? { kind: 'expired' } : { kind: 'wait', ms };
}

/** @param expiredInARow  checkpoints aborted for time since the last complete one */
export function patienceMs(timeoutMs: number, expiredInARow: number): number {
  return timeoutMs * 2 ** Math.min(expiredInARow, doublingsMax);
}
