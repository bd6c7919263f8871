// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of restores and of cleaning up behind owners that come and go. What their model breaks by name is R; the rest of R lies in
// owner-mutations.ts. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const cleanUpMutations: readonly Mutation[] = [
  {
    name: 'R newer',
    rule: 'versions above the own epoch stay only where they are visible',
    patches: [
      {
        file: 'invocation/versions.ts',
        find: '(v.epoch > view.epoch && isVisible(v, view))',
        replace: 'v.epoch > Math.max(-1, ...view.points)',
      },
    ],
  },
  {
    name: 'R open',
    rule: 'restore points come from the job item',
    patches: [{ file: 'invocation/unit/warm-subtask.ts', find: '...item.open.map((o) => o.checkpoint), ', replace: '' }],
  },
  {
    name: 'R until',
    rule: 'a restore remembers how far every subtask had got',
    patches: [
      {
        file: 'invocation/coordinator/restore.ts',
        find: '  const furthest = new Map(until);',
        replace: '  const furthest = new Map<string, number>();',
      },
    ],
  },
  {
    name: 'R stay',
    rule: 'owners go back to those of the checkpoint',
    patches: [
      { file: 'invocation/coordinator/restore.ts', find: '  const { owners } = completed;', replace: '  const { owners } = item;' },
    ],
  },
  {
    name: 'R cancel',
    rule: 'a restore cancels a change of owners',
    patches: [{ file: 'invocation/coordinator/restore.ts', find: '    moving: undefined,\n    restoring:', replace: '    restoring:' }],
  },
  {
    name: 'R begin',
    rule: 'no checkpoint begins while owners change',
    patches: [
      {
        file: 'invocation/coordinator/begin.ts',
        find: '  if (item.restoring !== undefined || item.moving !== undefined) return item;',
        replace: '  if (item.restoring !== undefined) return item;',
      },
    ],
  },
  {
    name: 'R unchecked',
    rule: 'a ring is created in a transaction that checks the job item',
    patches: [
      {
        file: 'invocation/coordinator/ring-creation.ts',
        find: '    change: p.change,',
        replace: "    change: (await ports.items.get('job'))?.change ?? '',",
      },
    ],
  },
  {
    name: 'R listed',
    rule: 'a ring is listed before it is created',
    patches: [
      {
        file: 'invocation/coordinator/ring-creation.ts',
        find: '  return [...new Set([...item.rings, ...owners.map(({ subtask }) => ringName({ generation, subtask }))])];',
        replace: '  return item.rings;',
      },
    ],
  },
  {
    name: 'R ring',
    rule: 'a ring that a checkpoint refers to stays',
    patches: [
      {
        file: 'invocation/coordinator/collect.ts',
        find: '  return new Set([...owned, ...completed, ...open]);',
        replace: '  return new Set(owned);',
      },
    ],
  },
  {
    name: 'R grave',
    rule: 'a ring that nobody needs is closed, and goes a day later',
    patches: [
      {
        file: 'invocation/coordinator/collect.ts',
        find: '  if (fresh.length > 0) await buryRings(run, fresh);',
        replace: '  if (fresh.length > 0) await removeRings(run, fresh);',
      },
    ],
  },
  {
    name: 'R tombstone',
    rule: 'a last tombstone stays for a day',
    patches: [{ file: 'invocation/versions.ts', find: '? nowMs + tombstoneLifeMs : undefined', replace: '? nowMs : undefined' }],
  },
  {
    name: 'number of a restore that was given up',
    rule: 'a generation that was named is never named again',
    patches: [
      {
        file: 'invocation/begins.ts',
        find: ', begins: withBegin(item.begins, item.restoring.generation, 0) };',
        replace: ' };',
      },
    ],
  },
  {
    name: 'R base',
    rule: 'the first round of a ring ends a round above its base',
    patches: [
      {
        file: 'invocation/ring.ts',
        find: "  return n < base + slots ? 'absent' : n - slots;",
        replace: "  return n < slots ? 'absent' : n - slots;",
      },
    ],
  },
];
