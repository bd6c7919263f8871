// Deliver: everything that a committed entry wants from the outside, always from the entry itself, so that whoever does it again does the same.
//   D1  Messages go first, then rows, then prepared transactions; the acknowledgement of a barrier is last, because it promises the rest.
//       Rows keep the tags of the entry that had them first, also where the seal of a pause carried them on.
//   D2  An entry may be followed by the next one only when it has been delivered, so only the newest can be undelivered.

import type { Sink } from '../../api/sink.ts';
import { SluiceError } from '../../core/errors.ts';
import type { PlannedOperator } from '../../graph/plan.ts';
import { begunMsOf } from '../begins.ts';
import type { Entry, EntryHead } from '../entry.ts';
import { encodeHead } from '../entry-codec.ts';
import { acknowledgementName } from '../job-item.ts';
import { encodeHandle } from '../job-item-codec.ts';
import { sendAll } from '../patience.ts';
import type { OutgoingMessage } from '../ports.ts';
import { decodeRows } from '../rows-codec.ts';
import { prepareTransaction } from '../sinks/prepare-transaction.ts';
import { writeImmediate } from '../sinks/write-immediate.ts';
import type { Printer, UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

export async function deliver(warm: WarmSubtask, services: UnitServices): Promise<void> {
  if (warm.isDelivered) return;
  const { newest } = warm;
  await sendMessages(newest, services);
  await writeRows(warm, services);
  if (newest.head.kind === 'barrier') await promise(warm, services);
  warm.isDelivered = true;
}

async function sendMessages(entry: Entry, services: UnitServices): Promise<void> {
  await sendAll(services.ports.exchange, outgoingOf(entry), services.patience);
}

/** The messages of an entry as the exchange takes them. */
export function outgoingOf({ head, body }: Entry): readonly OutgoingMessage[] {
  return body.messages.map(
    ({ exchange, target, sequence, bytes }): OutgoingMessage => ({
      group: target,
      id: `${head.generation}/${exchange}/${head.subtask}>${target}/${sequence}`,
      bytes,
    }),
  );
}

/** Sinks have fields, and two invocations of one environment may overlap: each call gets an object of its own. */
function newSink({ node }: PlannedOperator): Sink<unknown> {
  if (node.operator.kind !== 'sink') throw new SluiceError('INTERNAL', { message: `${node.label} is no sink`, next: 'report-a-bug' });
  return node.operator.create();
}

async function writeRows(warm: WarmSubtask, services: UnitServices): Promise<void> {
  const { stage, owner } = warm;
  const { head, body } = warm.newest;
  const place = { generation: head.generation, n: head.deliversOf ?? head.n };
  const begunMs = begunMsOf(warm.item, head.generation);
  const written = new Map<string, number>();
  const printers = new Map<string, Printer>();
  for (const { sink: uid, bytes } of body.rows) {
    const operator = stage.operators.find((o) => o.uid === uid);
    if (operator === undefined) continue;
    const own = services.sinkContext(operator, owner, stage, warm.ring.generation);
    const print = printers.get(uid) ?? services.printerOf?.({ sink: uid, subtask: head.subtask, ...place }) ?? own.print;
    printers.set(uid, print);
    const rows = decodeRows(bytes);
    const index = written.get(uid) ?? 0;
    written.set(uid, index + rows.count);
    await writeImmediate({ sink: newSink(operator), rows, context: { ...own, print }, tag: { begunMs, ...place, index } });
  }
}

async function promise(warm: WarmSubtask, services: UnitServices): Promise<void> {
  const { head } = warm.newest;
  const { objects } = services.ports;
  for (const transaction of head.transactions) {
    if (transaction.under !== head.epoch) continue;
    const operator = warm.stage.operators.find((o) => o.uid === transaction.sink);
    if (operator === undefined) continue;
    const context = services.sinkContext(operator, warm.owner, warm.stage, transaction.generation);
    await prepareTransaction({ transaction, sink: newSink(operator), objects, context, timestamp: services.clock.now() });
  }
  const name = `snapshot/${head.generation}/${head.subtask}/${head.n}`;
  const snapshot = await warm.state.snapshotAtBarrier(name);
  if (snapshot !== undefined) {
    // It is as good as a materialise. Unless the next entry says so, snapshots of checkpoints that are over look as if somebody might yet name them.
    warm.snapshot = snapshot;
    warm.flushedThrough = head.n;
    warm.storedThrough = head.n;
  }
  await acknowledge(snapshot === undefined ? head : { ...head, snapshot, flushedThrough: head.n }, services);
}

/** A handle is whole: the ring forgets the entry long before the checkpoint does. */
export async function acknowledge(head: EntryHead, services: UnitServices): Promise<void> {
  const { generation, subtask, n, flushedThrough } = head;
  await services.ports.items.put({
    name: acknowledgementName(head.epoch, subtask),
    content: { bytes: encodeHandle({ generation, subtask, n, flushedThrough, head: encodeHead(head) }), change: '' },
    expects: 'absent',
  });
}
