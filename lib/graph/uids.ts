import type { LogicalNode } from '../api/description.ts';

/**
 * The uid of each node, by node id: its own, else one derived from its place, such as `flights~filter`. Users' uids hold no `~`, so the two
 * never meet. Only operators without state get a derived one (P3), so a changed derivation loses nothing.
 */
export function deriveUids(nodes: readonly LogicalNode[]): readonly string[] {
  const uids: string[] = [];
  const taken = new Set<string>();
  for (const node of nodes) {
    const uid = node.uid ?? firstFree(`${uids[node.inputs[0]?.from ?? -1] ?? ''}~${withoutBrackets(node.label)}`, taken);
    taken.add(uid);
    uids.push(uid);
  }
  return uids;
}

function firstFree(base: string, taken: ReadonlySet<string>): string {
  if (!taken.has(base)) return base;
  let n = 2;
  while (taken.has(`${base}-${n}`)) n++;
  return `${base}-${n}`;
}

function withoutBrackets(label: string): string {
  return label.replace(/[^A-Za-z0-9.]+/g, '-').replace(/-$/, '');
}
