// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of one subtask: ring, table, recovery. What its model breaks by name is P. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const ringMutations: readonly Mutation[] = [
  {
    name: 'P condition',
    rule: 'a put of the table is conditional on the versions that were merged',
    patches: [
      {
        file: 'invocation/state/table-flush.ts',
        find: 'const held = item === undefined ? [] : decodeItem(item.bytes);',
        replace: 'const held: readonly Version[] = [];',
      },
    ],
  },
  {
    name: 'P versions',
    rule: 'an item keeps the versions that a restore may still ask for',
    patches: [
      {
        file: 'invocation/state/table-flush.ts',
        find: 'const merged = mergeVersions(held, mine, view);',
        replace: 'const merged = mergeVersions(held, mine, view).slice(0, 1);',
      },
    ],
  },
  {
    name: 'P advance',
    rule: 'flushedThrough moves only when everything is flushed',
    patches: [{ file: 'invocation/unit/materialise.ts', find: "  if (flushed.kind === 'incomplete') return false;\n", replace: '' }],
  },
  {
    name: 'P seal',
    rule: 'a restore seals before it reads (E seal too)',
    patches: [
      {
        file: 'invocation/coordinator/seal.ts',
        find: "    if (view.head.kind === 'seal') return view.head;",
        replace: '    return view.head;',
      },
    ],
  },
  {
    name: 'P open',
    rule: 'barriers that are open ride in every entry, and versions stay for them',
    patches: [
      {
        file: 'invocation/unit/warm-subtask.ts',
        find: '  return [...new Set(passedBarriers(warm))].filter((barrier) => barrier > over);',
        replace: '  return [];',
      },
      {
        file: 'invocation/unit/warm-subtask.ts',
        find: '  return passed.filter((barrier) => !isKnownAborted(barrier, head.generation, warm.item));',
        replace: '  return [];',
      },
    ],
  },
  {
    name: 'P torn',
    rule: 'a ring that was read in pieces is read again until they fit',
    patches: [{ file: 'invocation/ring.ts', find: "  if (above.length !== newest.n - head.flushedThrough) return 'torn';\n", replace: '' }],
  },
  {
    name: 'P order',
    rule: 'the job item is read again after the ring',
    patches: [{ file: 'invocation/unit/admit.ts', find: '    const item = await jobOf(services);', replace: '    const item = before;' }],
  },
];
