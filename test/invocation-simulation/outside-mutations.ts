// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of what sinks have outside: transactions, and rows with tags. What the model of the exchange breaks by name is E. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const outsideMutations: readonly Mutation[] = [
  {
    name: 'E discard',
    rule: 'a restore aborts what it undoes',
    patches: [{ file: 'invocation/sinks/settler.ts', find: 'abort: (t) => abort(o, t)', replace: 'abort: async () => undefined' }],
  },
  {
    name: 'E name',
    rule: 'transactions are named by their generation',
    patches: [
      {
        file: 'invocation/sinks/transaction-names.ts',
        find: '  return `${generation}/${subtask}/${sink}/${opened}`;',
        replace: '  return `${subtask}/${sink}/${opened}`;',
      },
      { file: 'invocation/sinks/transaction-names.ts', find: 'generation: t.generation', replace: 'generation: 0' },
    ],
  },
  {
    name: 'E premature',
    rule: 'nothing is committed at the barrier entry',
    patches: [
      {
        file: 'invocation/sinks/prepare-transaction.ts',
        find: "  // What another deliverer prepared is the settler's to abort; of ours nobody else may know.",
        replace: '  await sink.commit(context, detachedOf(context.job, t, rows, timestamp), prepared);',
      },
    ],
  },
  {
    name: 'E pending',
    rule: 'a checkpoint lists the rows of those that were aborted before it',
    patches: [
      {
        file: 'invocation/coordinator/checkpoint-objects.ts',
        find: '  return heads.flatMap(({ transactions }) => transactions);',
        replace: '  return heads.flatMap(({ transactions, epoch }) => transactions.filter((t) => t.under === epoch));',
      },
    ],
  },
  {
    name: 'E confirm',
    rule: 'a transaction is listed until its commit is confirmed',
    patches: [
      {
        file: 'invocation/unit/barrier.ts',
        find: 'head.transactions.filter((t) => t.under > confirmed)',
        replace: 'head.transactions.filter((t) => t.under > Math.max(confirmed, ...warm.item.completed.map((c) => c.checkpoint)))',
      },
    ],
  },
  {
    name: 'E again',
    rule: 'a transaction that is decided is not prepared again',
    patches: [
      {
        file: 'invocation/sinks/prepare-transaction.ts',
        find: '  if ((await readDecision(objects, t)) !== undefined) return;\n  if ((await readRecord',
        replace: '  if ((await readRecord',
      },
    ],
  },
  {
    name: 'E tag',
    rule: 'rows are ordered by the tag of their write',
    patches: [
      {
        file: 'api/row-tag.ts',
        find: '  return a.begunMs - b.begunMs || a.generation - b.generation || a.n - b.n || a.index - b.index;',
        replace: '  return 1;',
      },
    ],
  },
  {
    name: 'E entry',
    rule: 'the tag of a row begins with the generation',
    patches: [
      {
        file: 'api/row-tag.ts',
        find: '  return a.begunMs - b.begunMs || a.generation - b.generation || a.n - b.n || a.index - b.index;',
        replace: '  return a.n - b.n || a.index - b.index;',
      },
    ],
  },
];
