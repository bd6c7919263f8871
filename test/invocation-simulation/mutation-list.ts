// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of the invocation runtime, each taken out by one patch: what the models of one subtask, of the exchange, of changing owners and of poison
// break by name (P, E, R, X), and rules of the product's own. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';
import { ownerMutations } from './owner-mutations.ts';

export const mutations: readonly Mutation[] = [
  // One subtask: ring, table, recovery
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
        find: '  return [...new Set(passed)].filter((barrier) => barrier > over);',
        replace: '  return [];',
      },
      {
        file: 'invocation/unit/warm-subtask.ts',
        find: "  const own = head.kind === 'barrier' ? [...head.open, head.epoch] : head.open;",
        replace: '  const own: readonly number[] = [];',
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
  // Several subtasks, joined by the exchange
  {
    name: 'E generation',
    rule: 'messages of an older generation are dropped',
    patches: [{ file: 'invocation/intake.ts', find: "  if (message.generation < generation) return 'older-generation';\n", replace: '' }],
  },
  {
    name: 'E repeats',
    rule: 'a receiver drops repeats',
    patches: [{ file: 'invocation/intake.ts', find: "  if (message.sequence <= sequence) return 'repeat';\n", replace: '' }],
  },
  {
    name: 'E newer',
    rule: 'a newer generation says that the receiver is out of date',
    patches: [
      {
        file: 'invocation/intake.ts',
        find: "  if (message.generation > generation) return 'newer-generation';",
        replace: "  if (message.generation > generation) return 'older-generation';",
      },
    ],
  },
  {
    name: 'E gap',
    rule: 'a receiver takes nothing after a gap',
    patches: [{ file: 'invocation/intake.ts', find: "  if (message.sequence > sequence + 1) return 'gap';\n", replace: '' }],
  },
  {
    name: 'E align',
    rule: 'records behind a barrier wait',
    patches: [{ file: 'invocation/intake.ts', find: '    return !this.#isAligned || channel.barrier === 0;', replace: '    return true;' }],
  },
  {
    name: 'E mix',
    rule: 'barriers of different numbers do not align',
    patches: [{ file: 'invocation/alignment.ts', find: '  return barrier < top;', replace: '  return false;' }],
  },
  {
    name: 'E abort',
    rule: 'an alignment that is given up lets go on what waited',
    patches: [
      {
        file: 'invocation/intake.ts',
        find: '    for (const channel of this.#channels) channel.barrier = settledBarrier(channel.barrier, facts);',
        replace:
          '    for (const channel of this.#channels) { const was = channel.barrier; channel.barrier = settledBarrier(was, facts); if (was > 0 && channel.barrier === 0) this.#waiting = this.#waiting.filter(({ message }) => !isSameChannel(message, channel)); }',
      },
    ],
  },
  {
    name: 'E untold',
    rule: 'who waits for a barrier looks whether it was given up',
    patches: [
      {
        file: 'invocation/alignment.ts',
        find: '  return !item.open.some((open) => open.checkpoint === checkpoint);',
        replace: '  return false;',
      },
    ],
  },
  {
    name: 'E tail',
    rule: 'who recovers delivers the tail',
    patches: [{ file: 'invocation/unit/admit.ts', find: '    isDelivered: false,\n', replace: '    isDelivered: true,\n' }],
  },
  {
    name: 'E late',
    rule: 'an entry is delivered before the next one is appended',
    patches: [
      {
        file: 'invocation/unit/session.ts',
        find: "    await deliver(warm, this.services);\n    return { kind: 'admitted', warm };",
        replace: "    return { kind: 'admitted', warm };",
      },
      {
        file: 'invocation/unit/session.ts',
        find: '    const outcome = await commit(warm, proposal, this.services);',
        replace:
          '    const owed = warm.isDelivered ? undefined : { ...warm };\n    const outcome = await commit(warm, proposal, this.services);',
      },
      {
        file: 'invocation/unit/session.ts',
        find: '    await deliver(warm, this.services);\n    return outcome;',
        replace:
          '    if (owed !== undefined) await deliver(owed, this.services);\n    if (warm.newest.head.n % 2 === 0) await deliver(warm, this.services);\n    return outcome;',
      },
    ],
  },
  {
    name: 'E early',
    rule: 'a barrier is forwarded behind the tail',
    patches: [
      {
        file: 'invocation/unit/barrier.ts',
        find: '    const admission = await session.admit(true);',
        replace: "    const admission = await session.admit('lazy' as never);",
      },
      {
        file: 'invocation/unit/session.ts',
        find: "    await deliver(warm, this.services);\n    return { kind: 'admitted', warm };",
        replace: "    if ((isSure as unknown) !== 'lazy') await deliver(warm, this.services);\n    return { kind: 'admitted', warm };",
      },
      {
        file: 'invocation/unit/session.ts',
        find: '    const outcome = await commit(warm, proposal, this.services);',
        replace:
          '    const owed = warm.isDelivered ? undefined : { ...warm };\n    const outcome = await commit(warm, proposal, this.services);',
      },
      {
        file: 'invocation/unit/session.ts',
        find: '    await deliver(warm, this.services);\n    return outcome;',
        replace:
          '    await deliver(warm, this.services);\n    if (owed !== undefined) await deliver(owed, this.services);\n    return outcome;',
      },
    ],
  },
  {
    name: 'E stamp',
    rule: 'a unit that lost its place runs again',
    patches: [
      {
        file: 'invocation/unit/commit.ts',
        find: "  if (outcome === 'lost') {",
        replace:
          "  if (outcome === 'lost' && proposal.kind === 'data') {\n    const again = { ...entry, head: { ...entry.head, n: n + 1 } };\n    const repacked = packEntry(again, { inlineBytesMax: 1e9, objectName: '' });\n    const second = await appendEntry(ports.changelog, warm.ring, warm.item.ringSlots, base, { n: n + 1, writer, bytes: repacked.bytes });\n    if (second !== 'lost') {\n      warm.state.commitUnit(tagOf(again.head), again.body.delta);\n      warm.newest = again;\n      warm.isDelivered = false;\n      return 'committed';\n    }\n  }\n  if (outcome === 'lost') {",
      },
    ],
  },
  {
    name: 'E ack',
    rule: 'a barrier is acknowledged when its entry is there',
    patches: [
      {
        file: 'invocation/unit/commit.ts',
        find: '  const stored = { n, writer, bytes: packed.bytes };',
        replace:
          "  if (entry.head.kind === 'barrier') await (await import('./deliver.ts')).acknowledge(entry.head, services);\n  const stored = { n, writer, bytes: packed.bytes };",
      },
    ],
  },
  {
    name: 'E open',
    rule: 'the mark of a restore voids open checkpoints',
    patches: [
      { file: 'invocation/coordinator/restore.ts', find: '    open: [],\n    moving: undefined,', replace: '    moving: undefined,' },
    ],
  },
  {
    name: 'E numbers',
    rule: 'checkpoint numbers are never used twice',
    patches: [
      {
        file: 'invocation/coordinator/restore.ts',
        find: '    generation,\n    restoring: undefined,',
        replace: '    generation,\n    begun: checkpoint,\n    restoring: undefined,',
      },
      { file: 'invocation/coordinator/restore.ts', find: 'epoch: item.begun + 1', replace: 'epoch: checkpoint + 1' },
    ],
  },
  {
    name: 'E held',
    rule: 'a restore begins with nothing waiting',
    patches: [{ file: 'invocation/coordinator/restored-entry.ts', find: '    held: [],\n', replace: '' }],
  },
  {
    name: 'E positions',
    rule: 'a restore begins channels at zero on both ends',
    patches: [
      {
        file: 'invocation/coordinator/restored-entry.ts',
        find: '({ ...channel, sequence: 0, part: undefined, barrier: 0 })',
        replace: '({ ...channel, barrier: 0 })',
      },
      { file: 'invocation/coordinator/restored-entry.ts', find: '    sent: [],\n', replace: '' },
    ],
  },
  {
    name: 'E stale',
    rule: 'a restore of the newest is of the newest at its mark',
    patches: [
      {
        file: 'invocation/coordinator/restore.ts',
        find: '  if (!isOlderMeant && checkpoint !== newestCompletedOf(item)) return item;\n',
        replace: '',
      },
    ],
  },
  {
    name: 'E forget',
    rule: 'a restore commits what it restores',
    patches: [{ file: 'invocation/coordinator/restore.ts', find: '  await commitAll(run, restored);\n', replace: '' }],
  },
  {
    name: 'E discard',
    rule: 'a restore aborts what it undoes',
    patches: [{ file: 'invocation/sinks/settler.ts', find: 'abort: (t) => abort(o, t)', replace: 'abort: async () => undefined' }],
  },
  {
    name: 'E replay',
    rule: 'a replay is over when a call finds nothing left, behind the delivered tail',
    patches: [
      {
        file: 'invocation/coordinator/inject.ts',
        find: "  if (answer?.kind !== 'done') return false;",
        replace:
          "  const seen = await (await import('./facts.ts')).newestHead(run, run.ring(subtask));\n  if (seen === undefined || seen.splits.some((s) => (s.position?.index ?? 0) < s.replayUntil)) return false;",
      },
    ],
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
    patches: [{ file: 'api/row-tag.ts', find: '  return a.generation - b.generation || a.n - b.n;', replace: '  return 1;' }],
  },
  {
    name: 'E entry',
    rule: 'the tag of a row begins with the generation',
    patches: [{ file: 'api/row-tag.ts', find: '  return a.generation - b.generation || a.n - b.n;', replace: '  return a.n - b.n;' }],
  },
  {
    name: 'E idle',
    rule: 'a refusal, or nothing to do, is told by a cache that was compared',
    patches: [{ file: 'invocation/unit/session.ts', find: '(isSure || this.#isStale)', replace: 'this.#isStale' }],
  },
  {
    name: 'E finished',
    rule: 'an ended channel has every later barrier',
    patches: [
      {
        file: 'invocation/alignment.ts',
        find: '  const awaited = channels.filter(({ hasEnded }) => !hasEnded);',
        replace: '  const awaited = channels;',
      },
    ],
  },
  {
    name: 'E end',
    rule: 'an ended subtask acknowledges a barrier that it has passed by the entry of that barrier',
    patches: [
      {
        file: 'invocation/unit/barrier.ts',
        find: '      await acknowledgeAgain(warm, invocation.checkpoint, session.services);',
        replace:
          '      if (head.hasEnded) await acknowledge({ ...head, epoch: invocation.checkpoint }, session.services);\n      else await acknowledgeAgain(warm, invocation.checkpoint, session.services);',
      },
    ],
  },
  {
    name: 'E patience',
    rule: 'time-outs grow with aborts',
    patches: [
      { file: 'invocation/coordinator/begin.ts', find: 'patienceMs(timeoutMs, item.expiredInARow)', replace: 'patienceMs(timeoutMs, 0)' },
    ],
  },
  // Owners, rings and what is cleaned up
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
  ...ownerMutations,
  // Records that fail
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
    patches: [{ file: 'invocation/unit/failures.ts', find: '    this.#attempts = head.attempts;', replace: '    this.#attempts = [];' }],
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
        find: "    const split = this.#splits.find(({ ordinal }) => ordinal === event.split);\n    if (split === undefined) return { kind: 'unknown-split' };",
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
  // The product's own
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
        find: "    if (!event.isReplay && isReplayDue(split)) return { kind: 'replay-first' };\n",
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
      { file: 'invocation/sinks/settler.ts', find: "  if ((await decide(objects, t, 'aborted')) === 'committed') return;\n", replace: '' },
    ],
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
];
