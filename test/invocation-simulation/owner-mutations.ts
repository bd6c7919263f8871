// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of changing owners, each taken out by one patch: those that the model of owners breaks by name and that lie in the move itself (R), and
// those that only the product has. `find` occurs exactly once in the file below lib/.

import { type Mutation, one } from '../simulation/mutation.ts';

/** A child that nobody has made an owner makes its ring by itself. */
const startsByItself = `    let { owner, view } = { owner: item.owners.find((o) => o.subtask === subtask), view: found };
    if (owner === undefined && (found === undefined || (found !== 'closed' && found.head.writer === 'self')) && subtask.includes('-s')) {
      const [stageId, ordinal] = subtask.split('-s').map(Number) as [number, number];
      const { initialHead } = await import('../coordinator/initial-head.ts');
      const { knownSplits } = await import('../coordinator/changes.ts');
      const { splitOwner } = await import('../coordinator/owners.ts');
      const { packEntry } = await import('../entry-codec.ts');
      const { emptyBody } = await import('../entry.ts');
      const split = (await knownSplits(services.ports, stageId)).get(ordinal);
      if (split !== undefined && !item.until.some(([name]) => name.startsWith(subtask))) {
        owner = splitOwner(stageId, ordinal, split);
        const splits: (typeof split)[] = [];
        splits[ordinal] = split;
        const head = initialHead({ owner, owners: item.owners, plan: services.plan, splits, generation: before.generation, epoch: item.begun + 1, writer: 'self' });
        const { bytes } = packEntry({ head, body: emptyBody }, { inlineBytesMax: 1_000_000, objectName: 'none' });
        if (found === undefined) await services.ports.changelog.put({ ring, slot: 0, entry: { n: 0, writer: 'self', bytes }, expects: 'absent' });
        view = await readRing(services.ports.changelog, ring, before.ringSlots);
      }
    }
`;

/** Acknowledges every open checkpoint by whatever entry the parent has. */
const acknowledgesWithoutEntry = `    for (const o of run.item.open) {
      if (!o.owners.includes(subtask) || o.checkpoint < (view.head.kind === 'barrier' ? view.head.epoch + 1 : view.head.epoch)) continue;
      const { acknowledgementName } = await import('../job-item.ts');
      const { encodeHandle } = await import('../job-item-codec.ts');
      const { encodeHead } = await import('../entry-codec.ts');
      const { generation, n, flushedThrough } = view.head;
      const bytes = encodeHandle({ generation, subtask, n, flushedThrough, head: encodeHead(view.head) });
      await run.options.ports.items.put({ name: acknowledgementName(o.checkpoint, subtask), content: { bytes, change: '' }, expects: 'absent' });
    }
    const answer = await ask(run, { kind: 'tick', subtask });`;

const move = 'invocation/coordinator/move.ts';
const adoption = 'invocation/coordinator/adoption.ts';

export const ownerMutations: readonly Mutation[] = [
  one(
    'R numbers',
    'children number above their parents',
    move,
    '  const n = Math.max(...parents.map(({ seal }) => seal.head.n)) + 1;',
    '  const n = 0;',
  ),
  one(
    'R end',
    'parents are sealed when they have read to their ends',
    'invocation/coordinator/changes.ts',
    '      if (isOver !== true) return false;',
    '',
  ),
  one(
    'R flush',
    'a parent is materialised whole before a child exists',
    move,
    '  if (parent === undefined || !(await parent.materialise())) return undefined;',
    '  if (parent === undefined) return undefined;',
  ),
  one(
    'R epoch',
    'children begin in an epoch above every checkpoint that was begun',
    adoption,
    '    epoch: moving.epoch,',
    '    epoch: Math.max(...parents.map((parent) => parent.epoch)),',
  ),
  one(
    'R position',
    'a child begins at the start of its split',
    adoption,
    '    splits: plain.splits.map((split) => ({ ...split, replayUntil })),',
    '    splits: plain.splits.map((split) => ({ ...split, position: parents[0]?.splits[0]?.position, replayUntil })),',
  ),
  one(
    'R owner',
    'a ring that exists does not make an owner',
    'invocation/unit/admit.ts',
    '    const owner = item.owners.find((o) => o.subtask === subtask);',
    '    const owner = [...item.owners, ...(item.moving?.children ?? [])].find((o) => o.subtask === subtask);',
  ),
  {
    name: 'R early',
    rule: 'a child does not start by being delivered to',
    patches: [
      {
        file: 'invocation/unit/admit.ts',
        find: '    const view = await readRing(services.ports.changelog, ring, before.ringSlots);',
        replace: '    const found = await readRing(services.ports.changelog, ring, before.ringSlots);',
      },
      {
        file: 'invocation/unit/admit.ts',
        find: '    const owner = item.owners.find((o) => o.subtask === subtask);\n',
        replace: startsByItself,
      },
    ],
  },
  one(
    'R fence',
    'parents are sealed before owners change',
    move,
    "    if ((await appendEntry(changelog, ring, run.item.ringSlots, view.head.base, entry)) === 'appended') return seal;",
    '    if (entry.n > 0) return seal;',
  ),
  one(
    'R closed',
    'a finished parent acknowledges by an entry only',
    move,
    "    const answer = await ask(run, { kind: 'tick', subtask });",
    acknowledgesWithoutEntry,
  ),
  // Rules of the product's own
  one(
    'owners: today',
    'a change begins in the generation in which its parents were found at their ends',
    move,
    '  if (!mayBegin(item) || item.generation !== generation) return item;',
    '  if (!mayBegin(item)) return item;',
  ),
  one(
    'owners: joint',
    'who several senders are followed by is heard when all of them have told',
    'invocation/intake.ts',
    '    return this.#isFree(message) && this.#haveOthersCome(message);',
    '    return this.#isFree(message);',
  ),
  one(
    'owners: delivered',
    'a parent is sealed behind an entry that is known to be delivered',
    move,
    "    if (answer?.kind !== 'done') return undefined;\n",
    '',
  ),
  one(
    'owners: rows',
    'rows that wait go to the first child',
    'invocation/coordinator/inheritance.ts',
    '  if (isFirstChild(p)) writes.push(...(await waitingRows(run, stage, p)));\n',
    '',
  ),
  one(
    'owners: transactions',
    'transactions that are not confirmed go to the first child',
    adoption,
    'transactions: isFirst ? parents.flatMap(({ transactions }) => transactions) : [],',
    'transactions: [],',
  ),
  one(
    'owners: timers',
    'a timer goes to the child that its key goes to',
    'invocation/coordinator/inheritance.ts',
    '    .filter(({ keyText }) => isMine(keyText))\n',
    '    .filter(({ keyText }) => isMine(keyText) || keyText.length > 0)\n',
  ),
  one(
    'owners: timers apart',
    'subtasks that share key groups keep their timers apart',
    'invocation/state/key-share.ts',
    'sharesGroups: true };',
    'sharesGroups: false };',
  ),
  one(
    'owners: letters',
    'dead letters go to the child that their key goes to',
    'invocation/coordinator/inheritance.ts',
    '    writes.push(...(await lettersOf(stage, parent, p, heir)));\n',
    '',
  ),
  one(
    'owners: operator state',
    'operator state is dealt out among the children',
    adoption,
    '    operatorState: await operatorState(run, p),',
    '    operatorState: undefined,',
  ),
  one(
    'owners: heard',
    'a ring whose subtask gave way stays until everyone has taken its last message',
    'invocation/coordinator/collect.ts',
    '    if (hasGivenWay && !needs.isHeard(ring.subtask)) continue;\n',
    '',
  ),
  one(
    'owners: taken part',
    'a checkpoint that outlives its owners names them',
    'invocation/coordinator/completion.ts',
    '    owners: open.owners.map((subtask) => ownerAt(run, subtask, heads)),',
    '    owners: run.item.owners.filter(({ subtask }) => open.owners.includes(subtask)),',
  ),
];
