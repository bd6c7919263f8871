// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of records that fail. What their model breaks by name is X; those of queues lie with the simulation of lanes. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const poisonMutations: readonly Mutation[] = [
  {
    name: 'X fence',
    rule: 'an entry has one writer',
    patches: [
      {
        file: 'invocation/ring.ts',
        find: '  const outcome = await changelog.put({ ring, slot: slotOf(entry.n, slots), entry, expects });',
        replace:
          "  const held0 = await changelog.get({ ring, slot: slotOf(entry.n, slots) });\n  const outcome = await changelog.put({ ring, slot: slotOf(entry.n, slots), entry, expects: held0?.n ?? 'absent' });",
      },
    ],
  },
  {
    name: 'X answer',
    rule: 'only what is committed is acknowledged',
    patches: [
      {
        file: 'invocation/unit/records.ts',
        find: "      if (isStopped) return first('record-failed');",
        replace: '      if (isStopped) return done;',
      },
    ],
  },
  {
    name: 'X attempts',
    rule: 'attempts are counted in the entry',
    patches: [{ file: 'invocation/unit/failures.ts', find: '    this.#attempts = this.#before;', replace: '    this.#attempts = [];' }],
  },
  {
    name: 'X outside',
    rule: 'a letter is committed with the entry that passes its record by',
    patches: [{ file: 'invocation/unit/failing-run.ts', find: '  if (letters.length === 0) return ran;', replace: '  return ran;' }],
  },
  {
    name: 'X position',
    rule: 'each split has a position of its own',
    patches: [
      {
        file: 'invocation/source-intake.ts',
        find: "    const split = this.#splitOf(event.split);\n    if (split === undefined) return { kind: 'unknown-split' };",
        replace: "    const split = this.#splits[0];\n    if (split === undefined) return { kind: 'unknown-split' };",
      },
    ],
  },
  {
    name: 'X first',
    rule: 'a marker says which record it stood for',
    patches: [{ file: 'invocation/poison/marker.ts', find: '  if (marker.first !== now.first) return false;\n', replace: '' }],
  },
  {
    name: 'X old',
    rule: 'a marker of an older generation does not count',
    patches: [{ file: 'invocation/poison/marker.ts', find: '  if (marker.generation !== now.generation) return false;\n', replace: '' }],
  },
  {
    name: 'X thrown',
    rule: 'an attempt that was committed is no death',
    patches: [{ file: 'invocation/poison/marker.ts', find: '  if (marker.tries !== now.tries) return false;\n', replace: '' }],
  },
  {
    name: 'X cold',
    rule: 'what was delivered before is marked, warm or cold',
    patches: [{ file: 'invocation/poison/marker.ts', find: '  return facts.isAgain ?? facts.isCold;', replace: '  return facts.isCold;' }],
  },
  {
    name: 'X contention',
    rule: 'losing an append is no death',
    patches: [
      { file: 'invocation/poison/marker.ts', find: '  return mine === undefined || !isSameRecord(mine, now);', replace: '  return true;' },
    ],
  },
  {
    name: 'X survived',
    rule: 'who gives up alive takes its mark back',
    patches: [
      {
        file: 'invocation/poison/marker.ts',
        find: "  return facts.isCommitted ? 'remove' : 'restore';",
        replace: "  return facts.isCommitted ? 'remove' : 'leave';",
      },
    ],
  },
  {
    name: 'X halving',
    rule: 'what killed is tried again by halves',
    patches: [
      {
        file: 'invocation/poison/marker.ts',
        find: '  return died === undefined ? count : Math.max(1, Math.floor(died / 2));',
        replace: '  return count;',
      },
    ],
  },
  {
    name: 'X lane',
    rule: 'each group has a marker of its own',
    patches: [
      { file: 'invocation/poison/marker.ts', find: '  return `marker/${subtask}/${group}`;', replace: '  return `marker/${subtask}`;' },
    ],
  },
  {
    name: 'freed by a tick',
    rule: 'records that a tick sets free are marked before they run, whoever recovered the subtask',
    patches: [{ file: 'invocation/unit/messages.ts', find: 'event.isTick === true ? true : event.isAgain', replace: 'event.isAgain' }],
  },
  {
    name: 'letters by generation',
    rule: 'a letter of a channel has its generation in its id',
    patches: [
      {
        file: 'invocation/intake.ts',
        find: '  return `${generation}/${exchange}/${sender}/${target}`;',
        replace: '  return `${exchange}/${sender}/${target}`;',
      },
    ],
  },
  {
    name: 'timers behind the end',
    rule: 'no timer of processing time fires behind the end that was sent on',
    patches: [{ file: 'invocation/unit/tick.ts', find: '    if (!p.isOver) hasFired', replace: '    hasFired' }],
  },
  {
    name: 'redrive behind the end',
    rule: 'nothing is redriven behind the barrier of a subtask that has ended',
    patches: [{ file: 'invocation/unit/redrive.ts', find: " || head.kind !== 'data')", replace: ')' }],
  },
];
