import type { ObjectStore } from '../ports.ts';
import { type SinkSurroundings, sinksOf } from './planned-sinks.ts';
import { startOnce } from './prepare-transaction.ts';
import { startPrefix } from './transaction-names.ts';

/**
 * Has every sink look at its target, so that one that cannot be written is found before the first record and not at the first barrier. A sink that
 * has looked in this run of the job does not look again.
 *
 * @throws SluiceError such as `OUTPUT_NOT_WRITABLE`
 */
export async function startSinks(o: SinkSurroundings & { readonly objects: ObjectStore; readonly generation: number }): Promise<void> {
  const { plan, objects, generation, files, clock, targets, report, print } = o;
  for (const { stage, operator, create } of sinksOf(plan)) {
    const { detached } = create();
    if (detached?.kind !== 'transactional') continue;
    const context = {
      job: plan.job,
      uid: operator.uid,
      generation,
      files,
      clock,
      targets,
      report,
      print,
      subtask: 0,
      parallelism: stage.parallelism,
    };
    await startOnce(detached, objects, context);
  }
}

/** The next transaction of each sink begins with a look at its target, as in a new run of the job. */
export async function forgetStarts(objects: Pick<ObjectStore, 'list' | 'remove'>): Promise<void> {
  for (const name of await objects.list(startPrefix)) await objects.remove(name);
}
