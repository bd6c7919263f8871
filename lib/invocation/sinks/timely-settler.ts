// A settler that answers in time, whatever its target does. Nothing that settles may hang on a target for ever: a pulse that does hears of no cancel.
//   T1  A call that was given up may still get through. That is what anybody who settles has to expect: each call may be made again, by anyone, and
//       the first decision holds.

import { SluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import type { TransactionSettler } from '../control.ts';
import type { PendingTransaction } from '../entry.ts';
import { transactionName } from './transaction-names.ts';

/** Of one call. Longer than any target takes that is well; whoever takes longer is asked again, and has it done by then. */
const answerMsMax = 15_000;

/** Each call rejects with `SINK_NOT_ANSWERING` when its time is over. */
export function timelySettler(settler: TransactionSettler, clock: Clock): TransactionSettler {
  const inTime = async <R>(t: PendingTransaction, what: 'commit' | 'abort', settling: Promise<R>): Promise<R> => {
    const timer = clock.sleep(answerMsMax);
    const timeOut = timer.done.then((): never => {
      throw notAnswering(t, what);
    });
    try {
      return await Promise.race([settling, timeOut]);
    } finally {
      timer.cancel();
      settling.catch(() => undefined);
      timeOut.catch(() => undefined);
    }
  };
  return {
    commit: (t) => inTime(t, 'commit', settler.commit(t)),
    abort: (t) => inTime(t, 'abort', settler.abort(t)),
  };
}

function notAnswering(t: PendingTransaction, what: 'commit' | 'abort'): SluiceError {
  return new SluiceError('SINK_NOT_ANSWERING', {
    message: `the target of sink ${t.sink} has not answered the ${what} of transaction ${transactionName(t)} for ${answerMsMax / 1_000} s`,
    next: 'try-again',
    operator: t.sink,
    subtask: t.subtask,
  });
}
