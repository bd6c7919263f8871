// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of poison and of lanes, each taken out by one patch: what the poison model breaks by name (X), and rules of the product's own. `find` occurs
// exactly once in the file below lib/.

import { type Mutation, one } from '../../simulation/mutation.ts';

const marker = 'invocation/poison/marker.ts';
const lane = 'invocation/poison/lane.ts';
const queue = 'invocation/unit/queue.ts';

export const mutations: readonly Mutation[] = [
  one(
    'X answer',
    'the queue is told to forget only what a committed entry covers',
    queue,
    '  const ids = messages.filter(({ id }) => settled.has(id)).map(({ id }) => id);',
    '  const ids = settled.size > 0 ? messages.map(({ id }) => id) : [];',
  ),
  one(
    'X cold',
    'what was handed out before is marked, in a warm environment too',
    marker,
    '  return facts.isAgain ?? facts.isCold;',
    '  return facts.isCold;',
  ),
  one('X first', 'a marker says which record it stood for', marker, '  if (marker.first !== now.first) return false;\n', ''),
  one(
    'X contention',
    'an append that was lost is no death',
    marker,
    '  return mine === undefined || !isSameRecord(mine, now);',
    '  return true;',
  ),
  one(
    'X halving',
    'after a death half as many records run',
    marker,
    '  return died === undefined ? count : Math.max(1, Math.floor(died / 2));',
    '  return count;',
  ),
  one('X thrown', 'a try that was committed is no death', marker, '  if (marker.tries !== now.tries) return false;\n', ''),
  one(
    'X old',
    'a marker of an older generation counts for nothing',
    marker,
    '  if (marker.generation !== now.generation) return false;\n',
    '',
  ),
  one(
    'X survived',
    'a process that lives takes its marker back',
    marker,
    "  return facts.isCommitted ? 'remove' : 'restore';",
    "  return facts.isCommitted ? 'remove' : 'leave';",
  ),
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
    name: 'X attempts',
    rule: 'tries are state of the lane',
    patches: [
      {
        file: 'invocation/unit/lane-run.ts',
        find: 'now: { settled: before?.settled, attempt: { record: record.name.record, count }, sentMs },',
        replace: 'now: { settled: before?.settled, attempt: count < 0 ? { record: record.name.record, count } : undefined, sentMs },',
      },
    ],
  },
  one('X lane', 'markers are of one group', marker, '  return `marker/${subtask}/${group}`;', '  return `marker/${subtask}`;'),
  {
    name: 'X outside',
    rule: 'dead letters are state of the lane, and roll back with it',
    patches: [
      {
        file: 'invocation/unit/lane-run.ts',
        find: '  const changed = changedGroups(lane, { records, settled, outcome });\n',
        replace: `  const changed = changedGroups(lane, { records, settled, outcome });
  for (const { address, value } of outcome.letters)
    await session.services.ports.items.put({ name: \`letter/\${address.sub}\`, content: { bytes: value!, change: '' }, expects: 'any' });
`,
      },
      {
        file: 'invocation/unit/redrive.ts',
        find: 'const stored = await warm.state.read(letterAddress(session.subtask, id));',
        replace:
          'const stored = (await warm.state.read(letterAddress(session.subtask, id))) ?? (await services.ports.items.get(`letter/${id}`))?.bytes;',
      },
      {
        file: 'invocation/unit/redrive.ts',
        find: "if ((await session.commit(warm, proposal)) === 'committed') return done;",
        replace: `if ((await session.commit(warm, proposal)) === 'committed') {
      await services.ports.items.remove({ name: \`letter/\${id}\`, expects: 'any' });
      return done;
    }`,
      },
    ],
  },
  one(
    'X horizon',
    'a position is remembered from when its record was sent, for as long as the queue keeps it',
    lane,
    'facts.nowMs > sentMs + facts.retentionMs + facts.marginMs',
    'facts.nowMs > sentMs + facts.retentionMs / 3',
  ),
  one(
    'X margin',
    'an invocation may still hold what the queue has dropped',
    lane,
    '+ facts.retentionMs + facts.marginMs',
    '+ facts.retentionMs',
  ),
  one('X position', 'positions are of one group', lane, '  return record.group;', "  return 'lane';"),
  one(
    'X redrive',
    'a redrive acts only while its letter is there',
    'invocation/unit/redrive.ts',
    'withLetters(ran, [redrivenWrite(subtask, id)])',
    'withLetters(ran, [])',
  ),
  {
    name: 'X together',
    rule: 'groups are marked one at a time, each committed before the next one',
    patches: [
      {
        file: queue,
        find: '  for (const part of partsOf(records)) {\n',
        replace: `  for (const part of partsOf(records)) {
    const early = new Guard({ items: session.services.ports.items, subtask, attemptsMax: 3, isAgain: part.group !== undefined, newWriter: session.services.newWriter });
    const admitted = await session.admit(false);
    if (admitted.kind === 'refused' || part.group === undefined) continue;
    const { generation } = admitted.warm.newest.head;
    await admitted.warm.lane?.load(part.records, admitted.warm.state);
    const left = part.records.filter((record) => admitted.warm.lane?.isSettled(record) !== true);
    if (left[0] !== undefined) await early.before({ generation, group: part.group, first: left[0].name.record, tries: 0, count: 1 }, true);
  }
  for (const part of partsOf(records)) {
`,
      },
    ],
  },
  // Rules of the product's own
  one(
    'kept input',
    'what a unit settles is kept with it',
    'invocation/unit/lane-run.ts',
    "settled.map(({ message }) => encodeUnit({ kind: 'message', message }))",
    "settled.slice(1).map(({ message }) => encodeUnit({ kind: 'message', message }))",
  ),
  one(
    'kept redrive',
    'a redrive is a unit of kept input',
    'invocation/unit/redrive.ts',
    "services.keepsInput ? [encodeUnit({ kind: 'redrive', letter: id })] : []",
    '[] as Uint8Array[]',
  ),
  one(
    'own replay first',
    'what the sealed parent had not replayed itself is replayed too',
    'invocation/coordinator/restored-lane.ts',
    ', ...(await replayLeft(objects, was.replay))];',
    '];',
  ),
  one(
    'replay first',
    'while a replay is due nothing is taken from the queue',
    queue,
    '    if (isKeptDue(warm.newest.head)) {',
    '    if (isKeptDue({})) {',
  ),
  one(
    'stored before flushed',
    'kept input is in a segment before its entries leave the ring',
    'invocation/unit/commit.ts',
    '  await warm.lane?.secure({ generation: warm.ring.generation, flushedThrough: warm.flushedThrough });\n',
    '',
  ),
  one(
    'one chain',
    'a segment goes on from the list of the newest entry',
    'invocation/lane/lane-memory.ts',
    '    if (head.lane.segment !== this.#committed.segment) this.#own = undefined;\n',
    '',
  ),
  one(
    'seal keeps nothing',
    'a seal does not repeat what the entry before it kept',
    'invocation/coordinator/seal.ts',
    'body: { ...body, delta: emptyDelta, kept: undefined },',
    'body: { ...body, delta: emptyDelta },',
  ),
  one(
    'group stops',
    'a record that waits for its next try holds back the later ones of its group',
    'invocation/unit/lane-run.ts',
    '    if (failures.stopsAt(record.name)) stopped.add(record.group);\n',
    '    if (failures.stopsAt(record.name)) continue;\n',
  ),
];
