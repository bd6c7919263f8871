// How a batch of messages becomes requests of a service that accepts a request in parts.
//   O1  One request holds one message of each group at most: a later one of a group could else be accepted before an earlier one, and would keep it
//       out for ever.
//   O2  Once a message of a group is left, every later one of it is, and is not sent.
//   O3  Once a request was accepted, one that is refused is left: `STORE_THROTTLED` would say that nothing of the whole was sent.

import { isSluiceError } from '../../core/errors.ts';
import type { OutgoingMessage } from '../../invocation/ports.ts';
import { stageOfGroup } from './layout.ts';

/**
 * @param sendSome  one request with the messages of these indexes, all for one stage
 * @returns as `Exchange.send`
 */
export async function sendInOrder(
  messages: readonly OutgoingMessage[],
  sendSome: (indexes: readonly number[]) => Promise<readonly number[]>,
): Promise<{ readonly left: readonly number[] }> {
  const left: number[] = [];
  const requests = requestsOf(messages);
  for (const indexes of requests) {
    const stopped = new Set(left.map((i) => messages[i]!.group));
    const wanted = indexes.filter((i) => !stopped.has(messages[i]!.group));
    left.push(...indexes.filter((i) => !wanted.includes(i)));
    if (wanted.length > 0) left.push(...(await (indexes === requests[0] ? sendSome(wanted) : orLeave(wanted, sendSome))));
  }
  return { left: left.sort((a, b) => a - b) };
}

async function orLeave(
  indexes: readonly number[],
  sendSome: (indexes: readonly number[]) => Promise<readonly number[]>,
): Promise<readonly number[]> {
  try {
    return await sendSome(indexes);
  } catch (error) {
    if (isSluiceError(error) && error.code === 'STORE_THROTTLED') return indexes;
    throw error;
  }
}

/** Pure: which messages go together, in order: of one stage, and of each group one at most. */
export function requestsOf(messages: readonly OutgoingMessage[]): readonly (readonly number[])[] {
  const requests: { readonly stage: string; readonly groups: Set<string>; readonly indexes: number[] }[] = [];
  for (const [i, { group }] of messages.entries()) {
    const stage = stageOfGroup(group);
    const last = requests.findLastIndex((request) => request.groups.has(group));
    const fitting = requests.find((request, at) => at > last && request.stage === stage);
    if (fitting === undefined) requests.push({ stage, groups: new Set([group]), indexes: [i] });
    else {
      fitting.groups.add(group);
      fitting.indexes.push(i);
    }
  }
  return requests.map(({ indexes }) => indexes);
}
