import { noWatermark } from '../../../../lib/core/batch.ts';
import type { EntryBody, EntryHead } from '../../../../lib/invocation/entry.ts';
import { emptyBody } from '../../../../lib/invocation/entry.ts';
import { packEntry } from '../../../../lib/invocation/entry-codec.ts';
import type { StoredEntry } from '../../../../lib/invocation/ports.ts';

/** A head with nothing in it but what is given. */
export function headOf(more: Partial<EntryHead> = {}): EntryHead {
  return {
    generation: 0,
    subtask: '0-0',
    n: 1,
    base: 0,
    kind: 'data',
    writer: 'w',
    epoch: 1,
    flushedThrough: 0,
    lastCompleted: 0,
    open: [],
    lastBarrier: undefined,
    splits: [],
    channels: [],
    held: [],
    abortedThrough: 0,
    hasEnded: false,
    sent: [],
    watermark: noWatermark,
    operatorWatermarks: [],
    operatorState: undefined,
    snapshot: undefined,
    transactions: [],
    attempts: [],
    ...more,
  };
}

/** An entry as a changelog holds it. */
export function storedEntry(head: Partial<EntryHead>, body: EntryBody = emptyBody): StoredEntry {
  const whole = headOf(head);
  const { bytes } = packEntry({ head: whole, body }, { inlineBytesMax: 8_192, objectName: 'unused' });
  return { n: whole.n, writer: whole.writer, bytes };
}
