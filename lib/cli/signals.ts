// signals.ts turns SIGINT and SIGTERM into a cancellation that the job carries out in its own time, and a second one into the end.
import { endProcess } from './ending.ts';
import { exitCodes } from './failure.ts';

export interface Cancellation {
  readonly signal: AbortSignal;
  /** The exit code of a run that was cancelled, by the signal that came. */
  exitCode(): number;
  /** Leaves signals to Node again. */
  end(): void;
}

type CancelSignal = 'SIGINT' | 'SIGTERM';

const codes: Readonly<Record<CancelSignal, number>> = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated };

/** @param told  called at the first signal */
export function cancelOnSignals(told: (signal: CancelSignal) => void): Cancellation {
  const controller = new AbortController();
  let first: CancelSignal | undefined;
  const handle = (signal: CancelSignal): void => {
    if (first !== undefined) endProcess(codes[signal]);
    first = signal;
    controller.abort();
    told(signal);
  };
  process.on('SIGINT', handle);
  process.on('SIGTERM', handle);
  return {
    signal: controller.signal,
    // `sluice cancel` notes its wish before it sends the signal, and a run may have ended by the one before it hears the other.
    exitCode: () => codes[first ?? 'SIGTERM'],
    end() {
      process.off('SIGINT', handle);
      process.off('SIGTERM', handle);
    },
  };
}
