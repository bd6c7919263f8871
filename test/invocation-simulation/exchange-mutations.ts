// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of several subtasks that are joined by the exchange. What their model breaks by name is E. `find` occurs exactly once in the file below lib/.

import type { Mutation } from '../simulation/mutation.ts';

export const exchangeMutations: readonly Mutation[] = [
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
      { file: 'invocation/coordinator/restore.ts', find: 'epoch: begun + 1', replace: 'epoch: checkpoint + 1' },
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
    patches: [{ file: 'invocation/coordinator/restore.ts', find: '  await commitAll(run, [...kept.values()]);\n', replace: '' }],
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
];
