// How the coordinator reaches subtasks and targets. Both may fail or never answer; every pulse asks again.

import type { PendingTransaction } from './entry.ts';
import type { Answer, Invocation } from './invocation.ts';

/** Direct invocation, apart from event source mappings. */
export interface Control {
  invoke(invocation: Invocation): Promise<Answer>;
}

/** Settles transactions of sinks. Each method may be called again by anyone at any time. */
export interface TransactionSettler {
  /** Resolves when the rows are visible. Rejects: not known, ask again. */
  commit(transaction: PendingTransaction): Promise<void>;
  /**
   * `aborted`: the rows can never become visible. `committed`: that was decided before and holds, and they are visible. Rejects: not known, ask
   * again, or the commit that was decided cannot be carried out (see losses.ts).
   */
  abort(transaction: PendingTransaction): Promise<'aborted' | 'committed'>;
}
