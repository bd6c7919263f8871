// The seal of a parent: its last entry, and its part in the checkpoints that are open.

import type { Emission } from '../../runtime/effects.ts';
import { reachableTargets } from '../../runtime/routing.ts';
import { type Entry, type EntryHead, emptyBody, nextEpoch } from '../entry.ts';
import { encodeHead } from '../entry-codec.ts';
import { acknowledgementName, type JobItem, type Moving } from '../job-item.ts';
import { encodeHandle } from '../job-item-codec.ts';
import { decodeMessage } from '../message-codec.ts';
import { Outbox, sentName } from '../outbox.ts';
import type { PulseRun } from './pulse-run.ts';
import { moveWriter } from './seal.ts';
import type { SealedParent } from './sealed-parent.ts';

/** Pure. @param p.head  of the parent's newest entry */
export function moveSeal(
  { item, options }: Pick<PulseRun, 'item' | 'options'>,
  p: { readonly subtask: string; readonly moving: Moving; readonly head: EntryHead },
): Entry {
  const { plan } = options;
  const owner = item.owners.find((o) => o.subtask === p.subtask)!; // parents own until the change is over
  const epoch = nextEpoch(p.head);
  const stage = plan.stages[owner.stage]!;
  const emissions = unpassed(item, { generation: p.moving.generation, subtask: p.subtask, epoch }).flatMap((checkpoint) =>
    stage.outlets.flatMap((exchange, outlet) =>
      reachableTargets(exchange, owner.index, stage.parallelism, plan.stages[exchange.toStage]!.parallelism).map(
        (target): Emission => ({ outlet, target, element: { kind: 'barrier', checkpoint } }),
      ),
    ),
  );
  const outbox = new Outbox({ plan, owner, owners: item.owners });
  const senders = p.moving.children.map(({ subtask }) => subtask);
  const { parents } = p.moving;
  const joint = parents.length > 1 ? { parents } : {};
  const { messages, sent } = outbox.pack(emissions, p.head, { kind: 'successors', senders, ...joint });
  const head = { ...p.head, n: p.head.n + 1, kind: 'seal' as const, writer: moveWriter, epoch, sent, deliversOf: undefined };
  return { head, body: { ...emptyBody, messages } };
}

/** Pure: checkpoints that are open, that a subtask takes part in, and whose barriers it has not passed; lowest first. */
function unpassed(item: JobItem, p: { readonly generation: number; readonly subtask: string; readonly epoch: number }): readonly number[] {
  return item.open
    .filter((o) => o.generation === p.generation && o.checkpoint >= p.epoch && o.owners.includes(p.subtask))
    .map((o) => o.checkpoint)
    .sort((a, b) => a - b);
}

/** Acknowledges every open checkpoint that the seal stands for. */
export async function acknowledgeBySeal(run: PulseRun, { seal, snapshot }: Pick<SealedParent, 'seal' | 'snapshot'>): Promise<void> {
  const { generation, subtask, n } = seal.head;
  for (const checkpoint of unpassed(run.item, seal.head)) {
    const head = { ...seal.head, sent: sentBefore(seal, checkpoint), snapshot, flushedThrough: n };
    await run.options.ports.items.put({
      name: acknowledgementName(checkpoint, subtask),
      content: { bytes: encodeHandle({ generation, subtask, n, flushedThrough: n, head: encodeHead(head) }), change: '' },
      expects: 'absent',
    });
  }
}

/** What the parent had sent through the barrier of a checkpoint: what its seal sends behind that is not of the checkpoint. */
function sentBefore({ head, body }: Entry, checkpoint: number): EntryHead['sent'] {
  const sent = new Map(head.sent);
  for (const { exchange, target, sequence, bytes } of body.messages) {
    const message = decodeMessage(bytes);
    const [element] = 'elements' in message ? message.elements : [];
    if (element?.kind === 'barrier' && element.checkpoint === checkpoint) sent.set(sentName({ exchange, target }), sequence);
  }
  return [...sent];
}
