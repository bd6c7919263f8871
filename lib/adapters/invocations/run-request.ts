import type { Targets } from '../../api/targets.ts';
import type { Random } from '../../core/ports.ts';
import type { RunRequest } from '../embedded/run-types.ts';

/** What the command line says to this runtime, beyond what it says to the embedded one. `from`: `latest`, or the number of a checkpoint. */
export interface InvocationsRequest extends RunRequest {
  /** Path of the job's module, for the workers. */
  readonly file: string;
  /** What names of the job are bound to, but files; workers open their own. */
  readonly targets?: Targets | undefined;
  /** Module of a worker process, which calls `serveInvocations`. */
  readonly worker: URL;
  /** Worker processes, at least 1. */
  readonly workers: number;
  /** An invocation that was not answered after this is delivered again, ms; 5,000 when absent. */
  readonly redeliveryMs?: number | undefined;
  /** Records of an event at most; 1,000 when absent. */
  readonly recordsMax?: number | undefined;
  /** Faults on purpose: what is done when is drawn from here. */
  readonly chaos?: { readonly random: Random } | undefined;
}
