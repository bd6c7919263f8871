// From a run to what is committed of it.

import type { CommittedMessage, EntryBody } from '../entry.ts';
import { encodeClaim } from '../message-codec.ts';
import type { Proposal } from './commit.ts';
import type { Ran } from './run.ts';
import type { UnitServices } from './services.ts';
import type { WarmSubtask } from './warm-subtask.ts';

/** Messages above the queue's limit leave as a claim-check. Named by the attempt: what another writer sends under the number may be something else. */
export async function claimed(
  messages: readonly CommittedMessage[],
  warm: WarmSubtask,
  services: UnitServices,
): Promise<readonly CommittedMessage[]> {
  const { generation, subtask } = warm.newest.head;
  const checked: CommittedMessage[] = [];
  for (const message of messages) {
    const { exchange, target, sequence, bytes } = message;
    if (bytes.length <= services.limits.messageBytesMax) {
      checked.push(message);
      continue;
    }
    const object = `message/${generation}/${subtask}/${exchange}/${target}/${sequence}-${services.newWriter()}`;
    await services.ports.objects.putIfAbsent(object, bytes);
    checked.push({ ...message, bytes: encodeClaim({ generation, exchange, sender: subtask, target, sequence, object }) });
  }
  return checked;
}

/** @param head  what the work itself knows: positions, channels, watermark */
export async function proposalOf(
  warm: WarmSubtask,
  ran: Ran<unknown>,
  p: { readonly head: Proposal['head']; readonly messages: EntryBody['messages']; readonly services: UnitServices },
): Promise<Proposal> {
  const { head, messages, services } = p;
  const { generation, subtask, n } = warm.newest.head;
  const operatorState = await warm.operatorState.keep(ran.operatorState, ran.operatorStateBefore, {
    head: warm.newest.head,
    objects: services.ports.objects,
    inlineBytesMax: services.limits.inlineOperatorStateBytesMax,
    name: `operator-state/${generation}/${subtask}/${n + 1}-${services.newWriter()}`,
  });
  return {
    kind: 'data',
    rowCount: ran.rowCount,
    head: { ...head, operatorState, operatorWatermarks: ran.operatorWatermarks },
    body: { delta: ran.delta, messages: await claimed(messages, warm, services), rows: ran.rows },
  };
}
