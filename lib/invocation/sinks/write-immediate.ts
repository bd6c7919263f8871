import type { RowTag } from '../../api/row-tag.ts';
import type { DetachedContext, Sink } from '../../api/sink.ts';
import type { RecordBatch } from '../../core/batch.ts';
import { SluiceError } from '../../core/errors.ts';

/**
 * Writes the rows of a committed entry to a sink that takes them at once. Whoever delivers the entry again writes them again.
 *
 * @param o.sink  an object that nobody else uses meanwhile
 */
export async function writeImmediate(o: {
  readonly sink: Sink<unknown>;
  readonly rows: RecordBatch;
  readonly context: DetachedContext;
  /** Of the entry. */
  readonly tag: RowTag;
}): Promise<void> {
  const { sink, rows, context, tag } = o;
  const { detached } = sink;
  if (detached?.kind !== 'immediate') {
    throw new SluiceError('STATE_WITHOUT_OPERATOR', {
      message: `rows were kept for a sink that writes at once, and '${context.uid}' is now ${sink.kind}, which does not`,
      next: 'fix-the-job',
      operator: context.uid,
    });
  }
  if (rows.count > 0) await detached.write({ ...context, tag }, rows);
}
