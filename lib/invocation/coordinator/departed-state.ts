// State that lies under the name of a subtask which is gone for good: its timers, the rows that waited, its letters. Whoever followed it has written
// all of it anew under a name of its own (inheritance.ts).
//   D1  It goes with the last ring of the subtask: no owner and no checkpoint that can be restored has the name then, and a day before that nobody
//       could append for it any more. A restore to before it came lets it come again, in a later generation and perhaps while a coordinator sleeps in
//       here: what that generation has written stays.
//   D2  Items are not removed but emptied, on the condition that they are what was read: the store takes a tombstone away when its time is over.

import { itemAddressOf } from '../address.ts';
import type { StateAddress } from '../entry.ts';
import { type Patience, putAll, readAll } from '../patience.ts';
import { lettersAddress } from '../poison/dead-letters.ts';
import type { InvocationPorts, RingAddress, StateItem, StatePut } from '../ports.ts';
import { timersAddress } from '../state/overlay.ts';
import { rowsState } from '../state/rows.ts';
import { decodeItem, encodeItem, expiryOf, isTombstone, type Version } from '../versions.ts';
import type { PulseRun } from './pulse-run.ts';
import { stageOf } from './sealed-parent.ts';

/** @param ring  the last one */
export async function removeDepartedState(run: PulseRun, { generation, subtask }: RingAddress): Promise<void> {
  const { ports, clock, random } = run.options;
  const patience: Patience = { clock, random };
  const { operators, maxParallelism } = stageOf(run, subtask);
  const kindOf = (uid: string): string | undefined => operators.find((operator) => operator.uid === uid)?.node.operator.kind;
  const keyed = operators.filter(({ uid }) => kindOf(uid) !== 'source' && kindOf(uid) !== 'sink');
  const timers = keyed.flatMap(({ uid }) =>
    Array.from({ length: maxParallelism }, (_, group) => itemAddressOf(timersAddress(uid, group, subtask))),
  );
  const partitions: readonly StateAddress[] = [
    lettersAddress(subtask),
    ...operators.filter(({ uid }) => kindOf(uid) === 'sink').map(({ uid }) => ({ operator: rowsState, state: uid, key: subtask, sub: '' })),
  ];
  const items = [...(await readAll(ports.table, timers, patience))];
  for (const address of partitions) items.push(...(await itemsOf(ports, address)));
  const full = items
    .map((item) => ({ item, versions: decodeItem(item.bytes) }))
    .filter(({ versions }) => !versions.every(isTombstone) && versions.every((version) => version.generation <= generation));
  await putAll(
    ports.table,
    full.map(({ item, versions }) => emptied(item, versions, clock.now())),
    patience,
  );
  for (const { versions } of full) for (const { object } of versions) if (object !== undefined) await ports.objects.remove(object);
}

async function itemsOf({ table }: InvocationPorts, address: StateAddress): Promise<readonly StateItem[]> {
  const { partition } = itemAddressOf(address);
  const items: StateItem[] = [];
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const page: Awaited<ReturnType<typeof table.readPartition>> = await table.readPartition({ partition, after });
    items.push(...page.items);
    after = page.next;
  }
  return items;
}

function emptied({ address, tags }: StateItem, versions: readonly Version[], nowMs: number): StatePut {
  const { generation, epoch, n } = versions[0]!;
  const gone: readonly Version[] = [{ generation, epoch, n: n + 1, value: undefined, object: undefined }];
  return { address, expects: tags, ...encodeItem(gone), expiresAtMs: expiryOf(gone, nowMs) };
}
