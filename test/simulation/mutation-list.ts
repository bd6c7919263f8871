// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules that are taken out, one mutation each. `find` occurs exactly once in the file below lib/.

import { type Mutation, one } from './mutation.ts';

export const mutations: readonly Mutation[] = [
  // Checkpoints
  one(
    'acknowledge-before-stored',
    'a subtask acknowledges what is stored',
    'checkpoint/coordinator.ts',
    'this.acknowledge(checkpoint, await this.#options.storage.storeSubtask(checkpoint, snapshot));',
    'this.acknowledge(checkpoint, { stage: snapshot.stage, subtask: snapshot.subtask, operators: [], bytes: 0 }); await this.#options.storage.storeSubtask(checkpoint, snapshot);',
  ),
  one(
    'complete-before-all-acknowledged',
    'a checkpoint is complete when everyone has acknowledged',
    'checkpoint/decide/completion.ts',
    "if (missing.length > 0) return { kind: 'wait', missing };\n  return { kind: 'complete', handles: facts.expected.map((name) => facts.acknowledged.get(name)!) };",
    "if (missing.length > 1) return { kind: 'wait', missing };\n  return { kind: 'complete', handles: facts.expected.flatMap((name) => facts.acknowledged.get(name) ?? []) };",
  ),
  one(
    'commit-before-complete',
    'nothing is visible before its checkpoint is complete',
    'checkpoint/coordinator.ts',
    '      bytes = (await storage.complete(p.checkpoint, decision.handles, info)).bytes;',
    '      this.#confirmations.add(p.checkpoint);\n      bytes = (await storage.complete(p.checkpoint, decision.handles, info)).bytes;',
  ),
  one(
    'numbers-from-one',
    'checkpoint numbers are never used twice',
    'checkpoint/storage.ts',
    'this.#highest = await readNumbers(this.#files, this.path);',
    'await readNumbers(this.#files, this.path);',
  ),
  one('metadata-not-synced', 'a file is durable before it gets its name', 'checkpoint/sealed.ts', '    await file.sync();\n', ''),
  one(
    'remove-the-newest',
    'retained checkpoints stay whole',
    'checkpoint/storage.ts',
    'await this.#sweep(completed.slice(0, numRetained), completed[0]!);',
    'await this.#sweep(completed.slice(1, numRetained), Number.MAX_SAFE_INTEGER);',
  ),
  one(
    'undo-forgotten',
    'a checkpoint that was taken back is not restored',
    'checkpoint/storage.ts',
    'const undone = (await this.completed()).filter((n) => n > checkpoint);',
    'const undone = (await this.completed()).filter((n) => n > checkpoint && n < 0);',
  ),
  // Barriers and event time
  one(
    'no-alignment',
    'records behind a barrier wait for the other inputs',
    'runtime/alignment.ts',
    'if (!this.#isAligned) return false;',
    'if (this.#channels > 0) return false;',
  ),
  one(
    'watermark-maximum',
    'the watermark is the minimum over the inputs',
    'runtime/watermarks.ts',
    'if (!time.isIdle && time.watermark < minimum) minimum = time.watermark;',
    'if (!time.isIdle && (minimum === Number.POSITIVE_INFINITY || time.watermark > minimum)) minimum = time.watermark;',
  ),
  one(
    'barrier-overtakes',
    'a snapshot holds what came before the barrier',
    'adapters/embedded/channel.ts',
    '    this.#elements.push(element);\n',
    "    if (element.kind === 'barrier') this.#elements.splice(this.#first, 0, element);\n    else this.#elements.push(element);\n",
  ),
  // Sources
  one(
    'position-off-by-one',
    'a split is read on from where its position was taken',
    'adapters/embedded/source-driver.ts',
    '    split.position = reader.position();\n',
    '    if (this.#index % 5 !== 4) split.position = reader.position();\n',
  ),
  one(
    'positions-not-restored',
    'positions are restored together with state',
    'operators/source-operator.ts',
    "return this.#state?.list(splitsName, 'union').get() ?? [];",
    'return [];',
  ),
  // State
  one(
    'timers-not-restored',
    'timers survive a restore',
    'state/heap/heap-state.ts',
    '(tag === itemTag.eventTimer ? this.timers.event : this.timers.processing).register(time, key);',
    'void [time, key];',
  ),
  one(
    'no-first-touch-copy',
    'a snapshot shows state as it was at the barrier',
    'state/heap/heap-state.ts',
    '    for (const snapshot of this.#running) if (last <= snapshot.version) snapshot.keep(slot);\n    this.versions[slot] = this.version;',
    '    void last;',
  ),
  one(
    'key-groups-elsewhere',
    'a key group is restored where its keys are sent',
    'checkpoint/redistribute.ts',
    'const range = keyGroupRange(target.subtask, target.maxParallelism, target.parallelism);',
    'const range = keyGroupRange(target.parallelism - 1 - target.subtask, target.maxParallelism, target.parallelism);',
  ),
  one(
    'split-list-order',
    'an even-split list keeps its order',
    'checkpoint/redistribute.ts',
    'return cut(whole, shareStart(total, target.subtask, target.parallelism), shareStart(total, target.subtask + 1, target.parallelism));',
    'return cut(whole.toReversed(), shareStart(total, target.subtask, target.parallelism), shareStart(total, target.subtask + 1, target.parallelism));',
  ),
  one(
    'broadcast-not-everywhere',
    'broadcast state is restored on every subtask',
    'checkpoint/redistribute.ts',
    "if (redistribution === 'broadcast') return whole.slice(0, 1);",
    "if (redistribution === 'broadcast') return whole.slice(0, target.subtask === 0 ? 1 : 0);",
  ),
  // Sinks
  one(
    'forget-pending',
    'what an aborted checkpoint prepared is promised by the next one',
    'connectors/sinks/file-sink-writer.ts',
    'return { state, transactions: [...this.#pending] };',
    'return { state, transactions: this.#pending.filter((p) => p.checkpoint === checkpoint) };',
  ),
  one(
    'forget-pending-two-phase',
    'what an aborted checkpoint prepared is promised by the next one',
    'connectors/sinks/two-phase-commit-writer.ts',
    'return { state: undefined, transactions: this.#pending.map((p) => p.transaction) };',
    'return { state: undefined, transactions: this.#pending.filter((p) => p.checkpoint === checkpoint).map((p) => p.transaction) };',
  ),
  one(
    'rename-overwrites',
    'a committed part is never overwritten',
    'connectors/sinks/file-sink-writer.ts',
    'this.#next = Math.max(restored, ...own.map((p) => p.counter + 1));',
    'this.#next = 1;',
  ),
  one(
    'part-name-not-synced',
    'a committed part is there after a power cut',
    'connectors/sinks/staging-directory.ts',
    '  if (linked.length === 0) return;\n  await files.syncDirectory(output);',
    '  if (linked.length === 0) return;',
  ),
  one(
    'abandoned-stay-prepared',
    'transactions that no checkpoint promises are aborted',
    'checkpoint/announcements.ts',
    'return found.sort((a, b) => a.checkpoint - b.checkpoint || a.subtask - b.subtask);',
    'return found.slice(found.length);',
  ),
  one(
    'promises-not-kept',
    'a restore commits what its checkpoint promises',
    'checkpoint/redistribute.ts',
    'export function transactionsOf(checkpoint: CheckpointMetadata): readonly SinkTransaction[] {\n',
    'export function transactionsOf(checkpoint: CheckpointMetadata): readonly SinkTransaction[] {\n  if (checkpoint.checkpoint > 0) return [];\n',
  ),
  // Owners
  one(
    'zombie-keeps-directory',
    'an attempt takes the directory away from the one before it',
    'adapters/embedded/attempt-directory.ts',
    '    await files.rename(old, path);\n  } catch (e) {',
    "    await files.createDirectory(path);\n    for (const entry of await files.list(old)) if (entry.kind === 'directory' || !entry.name.startsWith('owner-')) await files.rename(join(old, entry.name), join(path, entry.name));\n    for (const entry of await files.list(old)) if (entry.kind === 'file') await files.link(join(old, entry.name), join(path, entry.name));\n  } catch (e) {",
  ),
  one(
    'staging-not-renamed',
    'an attempt takes the staging directory away from the one before it',
    'connectors/sinks/staging-directory.ts',
    '    await files.rename(join(output, `${prefix}${generation}`), hasOwn ? await freeName(files, join(own, `older-${generation}`)) : own);\n    hasOwn = true;',
    '    await files.createDirectory(own);\n    for (const entry of await files.list(join(output, `${prefix}${generation}`))) await files.link(join(output, `${prefix}${generation}`, entry.name), join(own, entry.name)).catch(() => undefined);\n    hasOwn = true;',
  ),
];
