// Creating the ring of one subtask: its first entry, put only while the job item still names the change that needs it.
//   G1  A ring is listed in the job item before it is created, so that one that a coordinator left behind is found and collected.
//   G2  The put checks the job item in the same transaction: a coordinator that slept through a restore creates nothing any more.

import type { Entry } from '../entry.ts';
import { packEntry } from '../entry-codec.ts';
import type { JobItem, Owner } from '../job-item.ts';
import { inlineBytesMax } from '../limits.ts';
import type { InvocationPorts, RingAddress } from '../ports.ts';
import { slotOf } from '../ring.ts';

export const ringName = ({ generation, subtask }: RingAddress): string => `${generation}/${subtask}`;

export function ringOf(name: string): RingAddress {
  const slash = name.indexOf('/');
  return { generation: Number(name.slice(0, slash)), subtask: name.slice(slash + 1) };
}

/** What lies in the object store under the name of an entry's ring. */
export const payloadName = ({ generation, subtask, n, writer }: Entry['head']): string => `entry/${generation}/${subtask}/${n}-${writer}`;

/** @param p.change  as it was when the need for the ring was read from the job item */
export async function createRing(
  ports: InvocationPorts,
  p: { readonly entry: Entry; readonly slots: number; readonly change: string },
): Promise<'created' | 'exists' | 'refused'> {
  const { head } = p.entry;
  const packed = packEntry(p.entry, { inlineBytesMax, objectName: payloadName(head) });
  if (packed.object !== undefined) await ports.objects.putIfAbsent(packed.object.name, packed.object.bytes);
  return ports.changelog.create({
    ring: { generation: head.generation, subtask: head.subtask },
    slot: slotOf(head.n, p.slots),
    entry: { n: head.n, writer: head.writer, bytes: packed.bytes },
    change: p.change,
  });
}

/** The job's rings with those that a change is going to need. */
export function listedRings(item: Pick<JobItem, 'rings'>, generation: number, owners: readonly Owner[]): readonly string[] {
  return [...new Set([...item.rings, ...owners.map(({ subtask }) => ringName({ generation, subtask }))])];
}
