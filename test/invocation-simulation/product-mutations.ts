// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// Rules that no model has: the product's own. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const productMutations: readonly Mutation[] = [
  {
    name: 'a lost append leaves nothing behind',
    rule: 'what lost its place is abandoned',
    patches: [
      { file: 'invocation/unit/commit.ts', find: "    warm.state.abandonUnit();\n    return 'lost';", replace: "    return 'lost';" },
    ],
  },
  {
    name: 'room in a ring',
    rule: 'a slot is used again only when its entry is in the base',
    patches: [
      { file: 'invocation/ring.ts', find: '  return Math.max(0, p.flushedThrough + p.slots - 1 - p.n);', replace: '  return p.slots;' },
    ],
  },
  {
    name: 'already mine',
    rule: 'a conflict over an entry of another writer is a loss',
    patches: [
      { file: 'invocation/ring.ts', find: 'held.n === entry.n && held.writer === entry.writer ?', replace: 'held.n === entry.n ?' },
    ],
  },
  {
    name: 'hidden versions',
    rule: 'a restore makes later versions invisible',
    patches: [
      {
        file: 'invocation/versions.ts',
        find: 'r.generation <= view.generation && v.epoch > r.checkpoint) return false;',
        replace: 'r.generation <= view.generation && v.epoch > r.checkpoint) break;',
      },
    ],
  },
  {
    name: 'own epoch',
    rule: 'a writer keeps what is visible at its own epoch',
    patches: [
      {
        file: 'invocation/versions.ts',
        find: 'for (const epoch of [Number.POSITIVE_INFINITY, view.epoch, ...view.points])',
        replace: 'for (const epoch of [Number.POSITIVE_INFINITY, ...view.points])',
      },
    ],
  },
  {
    name: 'half a flush',
    rule: 'entries up to some number are in the base when every version of them that a restore may ask for is',
    patches: [
      {
        file: 'invocation/state/overlay.ts',
        find: 'if (versions.some(({ tag }) => tag.n <= through)) due.push(piece);',
        replace: 'if (versions.at(-1)!.tag.n <= through) due.push(piece);',
      },
    ],
  },
  {
    name: 'newer entry of an epoch',
    rule: 'of one epoch the later entry wins',
    patches: [{ file: 'invocation/versions.ts', find: 'else if (united[i]!.n < m.n) united[i] = m;', replace: 'else united[i] = m;' }],
  },
  {
    name: 'suspended runs',
    rule: 'a run that missed state counts for nothing',
    patches: [{ file: 'invocation/unit/run.ts', find: '!warm.state.isSuspended', replace: 'true' }],
  },
  {
    name: 'operators of an abandoned run',
    rule: 'operators of an abandoned run are made anew',
    patches: [{ file: 'invocation/unit/run.ts', find: '    await dropOperators(warm);\n', replace: '' }],
  },
  {
    name: 'reads left over',
    rule: 'what a batch of reads left is asked for again',
    patches: [
      {
        file: 'invocation/patience.ts',
        find: '    waiting = [...left, ...waiting.slice(batch.length)];',
        replace: '    waiting = waiting.slice(batch.length);',
      },
    ],
  },
  {
    name: 'puts left over',
    rule: 'what a batch of puts left is put again',
    patches: [
      {
        file: 'invocation/patience.ts',
        find: '    waiting = [...waiting.slice(batch.length), ...left];',
        replace: "    waiting = waiting.slice(batch.length);\n    for (const i of left) outcomes[i] = 'stored';",
      },
    ],
  },
  {
    name: 'messages left over',
    rule: 'what a batch of messages left is sent again',
    patches: [
      {
        file: 'invocation/patience.ts',
        find: '    waiting = [...again, ...waiting.slice(batch.length)];',
        replace: '    waiting = waiting.slice(batch.length);',
      },
    ],
  },
  {
    name: 'mapping behind a replay',
    rule: 'a mapping is refused while a replay is due',
    patches: [
      {
        file: 'invocation/source-intake.ts',
        find: "    if (!event.isReplay && isReplayDue(split, this.#o.replayEnds ?? noEnd)) return { kind: 'replay-first' };\n",
        replace: '',
      },
    ],
  },
  {
    name: 'decision first',
    rule: 'a transaction is decided before it is settled',
    patches: [
      {
        file: 'invocation/sinks/settler.ts',
        find: "  if ((await decide(objects, t, 'committed')) === 'aborted') throw abortedBefore(t);\n",
        replace: '',
      },
      {
        file: 'invocation/sinks/settler.ts',
        find: "  if ((await decide(objects, t, 'aborted')) === 'committed') {",
        replace: '  if ((await decide(objects, t, "aborted")) === undefined) {',
      },
    ],
  },
  {
    name: 'rows by their writer',
    rule: 'rows of a transaction lie under a name of whoever stores them',
    patches: [{ file: 'invocation/unit/barrier.ts', find: '${head.n + 1}-${services.newWriter()}`', replace: '${head.n + 1}`' }],
  },
  {
    name: 'first prepared',
    rule: 'of two who prepare the first one counts',
    patches: [{ file: 'invocation/sinks/transaction-records.ts', find: '((await readRecord(objects, t)) ?? record)', replace: 'record' }],
  },
  {
    name: 'completion in order',
    rule: 'only a number above the last completed one completes',
    patches: [
      {
        file: 'invocation/coordinator/completion.ts',
        find: '  if (done.checkpoint <= newestCompletedOf(item) || !isStillOpen(item, done)) return item;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the seal of a pause',
    rule: 'a seal that can be opened again carries the tail',
    patches: [
      {
        file: 'invocation/coordinator/seal.ts',
        find: 'p.isResumable ? await unpackEntry(view.newest.bytes, objects) : { head: view.head, body: emptyBody }',
        replace: '{ head: view.head, body: emptyBody }',
      },
    ],
  },
  {
    name: 'failures on a proven cache',
    rule: 'a failure counts only where the cache was compared',
    patches: [
      {
        file: 'invocation/unit/failures.ts',
        find: '    if (!this.#isProven || !this.#isCareful) {',
        replace: '    if (!this.#isCareful) {',
      },
    ],
  },
  {
    name: 'seal, then settle',
    rule: 'a restore reads transactions from sealed rings',
    patches: [
      {
        file: 'invocation/coordinator/restore.ts',
        find: '  const seals = await sealAll(run);\n',
        replace:
          '  const seals = (await concurrently(run.item.owners, 32, ({ subtask }) => import("./facts.ts").then((f) => f.newestHead(run, run.ring(subtask))))).filter((h) => h !== undefined);\n',
      },
    ],
  },
  {
    name: 'at most once',
    rule: 'under AT_MOST_ONCE a restore takes no record again',
    patches: [
      {
        file: 'invocation/coordinator/restored-entry.ts',
        find: 'isAtMostOnce ? skippingSplits(head, seals) : head.splits',
        replace: 'head.splits',
      },
    ],
  },
  {
    name: 'at most once aligns',
    rule: 'under AT_MOST_ONCE records behind a barrier wait',
    patches: [
      {
        file: 'invocation/unit/messages.ts',
        find: "isAligned = services.mode !== 'AT_LEAST_ONCE'",
        replace: "isAligned = services.mode === 'EXACTLY_ONCE'",
      },
    ],
  },
];
