// What must hold at every durable change of a world. Each failure is a sentence; a world with a sentence has failed.
//   I1  A number of a ring has one writer, numbers follow on one another, and after a seal of a ring nothing is appended. A resume alone may replace
//       a seal. Nothing that a subtask has taken or sent is ever taken back within a ring.
//   I3  Nothing of a checkpoint is visible before it is complete, and nothing becomes visible that a restore has undone.
//   I4  Numbers of checkpoints and generations only grow, over all restores.
//   I5  Whatever a retained checkpoint, a live ring, the table or the queue refers to exists.
// The end of a world, and I7, are judged by `judgement.ts`.

import { equalBytes } from '../../lib/core/bytes.ts';
import type { EntryHead } from '../../lib/invocation/entry.ts';
import type { CompletedCheckpoint, JobItem, OpenCheckpoint } from '../../lib/invocation/job-item.ts';
import type { StoredEntry } from '../../lib/invocation/ports.ts';
import type { FakeService, ServiceChange, World } from '../../lib/testing/index.ts';
import type { Counts } from './counts.ts';
import { consistentCut, progressLost, wrongHandle } from './cut.ts';
import { bodyObject, handleOf, handlesOf, headOfEntry, isStub, jobItemOf, messageOf, versionsOf } from './decoded.ts';
import { tellMessage } from './fleet.ts';
import { creationFaults, ownerFaults } from './owner-audit.ts';
import type { Setting } from './random-job.ts';
import { References } from './references.ts';
import { TableAudit } from './table-audit.ts';
import { TakenOnce } from './taken-once.ts';
import type { Targets, Transaction } from './targets.ts';

interface Ring {
  readonly writers: Map<number, string>;
  /** Barriers that it has passed. */
  readonly passed: Set<number>;
  head: EntryHead;
  isGone: boolean;
}

/** Versions that an item may have: the newest, one for each restore point, and what faster writers left. */
const versionsMaxBesidesPoints = 4;

export class Auditors {
  readonly failures: string[] = [];
  /** Every completion so far. */
  readonly completions: CompletedCheckpoint[] = [];
  item: JobItem | undefined;
  readonly #world: World;
  readonly #service: FakeService;
  readonly #setting: Setting;
  readonly #counts: Counts;
  readonly #takenOnce = new TakenOnce();
  readonly #rings = new Map<string, Ring>();
  readonly #references: References;
  readonly #table = new TableAudit((open) => this.#isPassedBy(open));
  /** Ids of messages that the queue has accepted. */
  readonly #sent = new Set<string>();
  #mostPoints = 0;

  constructor(p: {
    readonly world: World;
    readonly service: FakeService;
    readonly setting: Setting;
    readonly targets: Targets;
    readonly counts: Counts;
  }) {
    this.#world = p.world;
    this.#service = p.service;
    this.#setting = p.setting;
    this.#counts = p.counts;
    this.#references = new References(p.service, (t) => p.targets.isSettled(t));
    p.service.observers.push((change) => this.#observe(change));
    p.targets.onCommit = (t) => this.#meetCommit(t);
    p.targets.onLogged = (uid, checkpoint) => {
      if (!this.completions.some((c) => c.checkpoint >= checkpoint))
        this.fail(`I3: ${uid} shows rows of checkpoint ${checkpoint} before it is complete`);
    };
  }

  fail(what: string): void {
    if (this.failures.length < 20) this.failures.push(`step ${this.#world.steps}: ${what}`);
    this.#world.note(`FAILS: ${what}`);
  }

  head(generation: number, subtask: string): EntryHead | undefined {
    return this.#rings.get(`${generation}/${subtask}`)?.head;
  }

  #observe(change: ServiceChange): void {
    try {
      this.#check(change);
    } catch (error) {
      this.fail(`a stored thing cannot be read: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }

  #check(change: ServiceChange): void {
    switch (change.kind) {
      case 'entry':
        this.#checkEntry(change);
        return;
      case 'ring-removed': {
        const key = `${change.ring.generation}/${change.ring.subtask}`;
        this.#checkRingGone(key, 'removed');
        return;
      }
      case 'item':
        if (change.name === 'job') this.#checkJob(jobItemOf(change.content.bytes));
        else if (change.name.startsWith('ack/')) this.#checkAcknowledgement(change.name, change.content.bytes);
        return;
      case 'state-item': {
        const versions = versionsOf(change.item.bytes).length;
        if (versions > this.#mostPoints + versionsMaxBesidesPoints)
          this.fail(`an item has ${versions} versions, though at most ${this.#mostPoints} checkpoints were open or retained`);
        if (this.item !== undefined) for (const what of this.#table.put(change, this.item)) this.fail(what);
        return;
      }
      case 'state-item-expired':
        this.#table.expired(change);
        return;
      case 'object-removed': {
        const by = this.item === undefined ? undefined : this.#references.to(change.name, this.item);
        if (by !== undefined) this.fail(`I5: object ${change.name} is removed, and ${by} refers to it`);
        return;
      }
      case 'item-removed':
        if (change.name === 'job') this.fail('the job item is removed');
        return;
      case 'sent':
        this.#world.note(`  ${change.message.group} is sent ${tellMessage(change.message.bytes)} (${change.how})`);
        if (change.how === 'late-duplicate') this.#counts.count('late duplicate');
        if (change.how === 'accepted') {
          if (this.#sent.has(change.message.id)) this.#counts.count('sent again after the queue forgot');
          this.#sent.add(change.message.id);
          if (!('elements' in messageOf(change.message.bytes))) this.#counts.count('message overflowed');
        }
        return;
      case 'settled':
        this.#world.note(`  ${change.message.group} has settled ${tellMessage(change.message.bytes)} (${change.how})`);
        if (change.how === 'stale') this.#counts.count('old receipt worked');
        return;
      default:
        return;
    }
  }

  #checkEntry(change: ServiceChange & { readonly kind: 'entry' }): void {
    const { ring, entry, was, how } = change;
    const key = `${ring.generation}/${ring.subtask}`;
    if (isStub(entry.bytes)) {
      if (how !== 'overwrite') this.fail(`${key}: a stub is ${how}`);
      this.#checkRingGone(key, 'closed');
      return;
    }
    if (this.#isSameAgain(change)) return;
    const head = headOfEntry(entry.bytes);
    this.#world.note(`  ${key} ${entry.n} ${head.kind} epoch ${head.epoch} by ${entry.writer}`);
    if (head.n !== entry.n || head.generation !== ring.generation || head.subtask !== ring.subtask || head.writer !== entry.writer)
      this.fail(
        `${key}: entry ${entry.n} of ${entry.writer} says that it is ${head.generation}/${head.subtask} ${head.n} of ${head.writer}`,
      );
    const known = this.#rings.get(key);
    if (known === undefined) {
      if (how !== 'create') this.fail(`I1: ${key}: entry ${entry.n} is appended to a ring that was never created`);
      if (!this.item?.rings.includes(key)) this.fail(`${key} is created, and the job item does not list it`);
      if (this.item !== undefined) for (const what of creationFaults(head, this.item)) this.fail(what);
      this.#rings.set(key, { writers: new Map([[entry.n, entry.writer]]), passed: new Set(), head, isGone: false });
    } else this.#checkAppend(key, known, entry, head, how);
    const missing = this.#references.missingOf(head, entry.bytes);
    if (missing !== undefined && head.kind !== 'seal') this.fail(`I5: ${key}: entry ${entry.n} points to ${missing}, which does not exist`);
    if (this.#setting.spec.checkpoints.mode === 'AT_MOST_ONCE') for (const what of this.#takenOnce.check(head)) this.fail(what);
    this.#countEntry(entry, head, was);
  }

  /** A resume that is made again puts back what it has put before. */
  #isSameAgain({ entry, was }: ServiceChange & { readonly kind: 'entry' }): boolean {
    return (
      was !== undefined &&
      was.n === entry.n &&
      was.writer === entry.writer &&
      entry.writer.startsWith('resume') &&
      equalBytes(was.bytes, entry.bytes)
    );
  }

  #checkAppend(key: string, ring: Ring, entry: StoredEntry, head: EntryHead, how: string): void {
    if (how !== 'put') this.fail(`I1: ${key}: entry ${entry.n} is ${how} on a ring that exists`);
    if (ring.isGone) this.fail(`I1: ${key}: entry ${entry.n} of ${entry.writer} is appended to a ring that was closed`);
    const before = ring.head;
    const isReopening = before.kind === 'seal' && entry.n === before.n && entry.writer.startsWith('resume');
    const writer = ring.writers.get(entry.n);
    if (!isReopening) {
      if (writer !== undefined) this.fail(`I1: ${key}: entry ${entry.n} has two writers, ${writer} and ${entry.writer}`);
      if (before.kind === 'seal') this.fail(`I1: ${key}: ${entry.writer} appends ${entry.n} after the seal ${before.n}`);
      if (entry.n !== before.n + 1) this.fail(`I1: ${key}: entry ${entry.n} follows on ${before.n}`);
    }
    if (this.item !== undefined) for (const what of ownerFaults(head, this.item)) this.fail(what);
    const lost = progressLost(before, head);
    if (lost !== undefined) this.fail(`${key}: entry ${entry.n} of ${entry.writer} takes back ${lost}`);
    if (head.kind === 'barrier' && !isReopening && head.epoch > (this.item?.begun ?? 0))
      this.fail(`I4: ${key}: barrier ${head.epoch} was never begun`);
    ring.writers.set(entry.n, entry.writer);
    if (head.kind === 'barrier') ring.passed.add(head.epoch);
    if (before.channels.some((c, i) => c.barrier > 0 && head.kind === 'data' && head.channels[i]?.barrier !== c.barrier))
      this.#counts.count('alignment given up');
    ring.head = head;
  }

  #countEntry(entry: StoredEntry, head: EntryHead, was: StoredEntry | undefined): void {
    if (was !== undefined && was.n < entry.n) this.#counts.count('ring wrapped');
    if (bodyObject(entry.bytes) !== undefined) this.#counts.count('entry overflowed');
    if (head.held.length > 0) this.#counts.count('records waited behind a barrier');
    if (head.held.some((h) => h.object !== undefined)) this.#counts.count('held message spilled');
  }

  #checkRingGone(key: string, how: string): void {
    const ring = this.#rings.get(key);
    if (ring !== undefined) ring.isGone = true;
    const by = this.item === undefined ? undefined : this.#references.toRing(key, this.item);
    if (by !== undefined) this.fail(`I5: ring ${key} is ${how}, and ${by} needs it`);
  }

  #checkJob(item: JobItem): void {
    const before = this.item;
    this.item = item;
    this.#references.learn(item);
    this.#mostPoints = Math.max(this.#mostPoints, item.completed.length + item.open.length + 1);
    if (before === undefined) return;
    // A restore that was given up for another one has used a number that no generation has.
    const isRaised = item.generation > before.generation && item.generation === before.restoring?.generation;
    if (item.generation !== before.generation && !isRaised)
      this.fail(`I4: generation ${before.generation} is followed by ${item.generation}`);
    if (item.begun < before.begun) this.fail(`I4: after checkpoint ${before.begun} the item says that ${item.begun} is the newest begun`);
    if (item.completed.some((c, i) => i > 0 && c.checkpoint <= item.completed[i - 1]!.checkpoint))
      this.fail(`I4: checkpoints ${item.completed.map((c) => c.checkpoint).join()} are complete, in this order`);
    for (const o of item.open) {
      if (before.open.some((b) => b.checkpoint === o.checkpoint)) continue;
      this.#counts.count('checkpoint begun');
      if (o.checkpoint <= before.begun) this.fail(`I4: checkpoint ${o.checkpoint} begins after ${before.begun}`);
    }
    for (const o of before.open) {
      if (item.open.some((n) => n.checkpoint === o.checkpoint) || item.completed.some((c) => c.checkpoint === o.checkpoint)) continue;
      this.#counts.count('checkpoint aborted');
      this.#world.note(`  checkpoint ${o.checkpoint} is given up`);
    }
    for (const c of item.completed) if (!before.completed.some((b) => b.checkpoint === c.checkpoint)) this.#meetCompletion(c, before);
    if (item.generation > before.generation) this.#counts.count('restored');
  }

  /** Barriers only rise in a ring: a subtask that is above a checkpoint without its barrier can never acknowledge it. */
  #isPassedBy({ checkpoint, generation, owners }: OpenCheckpoint): boolean {
    return owners.some((subtask) => {
      const ring = this.#rings.get(`${generation}/${subtask}`);
      return ring !== undefined && ring.head.epoch > checkpoint && !ring.passed.has(checkpoint);
    });
  }

  #checkAcknowledgement(name: string, bytes: Uint8Array): void {
    const handle = handleOf(bytes);
    const what = wrongHandle(handle, Number(name.split('/')[1]));
    if (what !== undefined) this.fail(`${handle.subtask} acknowledges ${name} by ${what}`);
  }

  #meetCompletion(c: CompletedCheckpoint, before: JobItem): void {
    this.#counts.count('checkpoint completed');
    this.#world.note(`  checkpoint ${c.checkpoint} is complete`);
    const newest = this.completions.at(-1)?.checkpoint ?? 0;
    if (c.checkpoint <= newest) this.fail(`I4: checkpoint ${c.checkpoint} is complete after ${newest}`);
    const open = before.open.find((o) => o.checkpoint === c.checkpoint);
    if (open === undefined) this.fail(`I4: checkpoint ${c.checkpoint} is complete and was not open`);
    else if (this.#isPassedBy(open)) this.fail(`I4: checkpoint ${c.checkpoint} is complete, and a subtask has passed it by`);
    if (before.restoring !== undefined) this.fail(`I4: checkpoint ${c.checkpoint} is complete while a restore is under way`);
    if (c.generation !== before.generation)
      this.fail(`I4: checkpoint ${c.checkpoint} of generation ${c.generation} is complete in ${before.generation}`);
    this.completions.push(c);
    const metadata = this.#service.objects.peek(c.metadata);
    if (metadata === undefined) {
      this.fail(`I5: checkpoint ${c.checkpoint} is complete without its metadata ${c.metadata}`);
      return;
    }
    const handles = handlesOf(metadata);
    for (const o of c.owners)
      if (!handles.some((h) => h.subtask === o.subtask)) this.fail(`I5: checkpoint ${c.checkpoint} has no handle of ${o.subtask}`);
    for (const missing of this.#references.missingFor(handles))
      this.fail(`I5: checkpoint ${c.checkpoint} refers to ${missing}, which does not exist`);
    if (this.#setting.spec.checkpoints.mode !== 'EXACTLY_ONCE') return;
    for (const what of consistentCut(handles)) this.fail(`checkpoint ${c.checkpoint} is no consistent cut: ${what}`);
  }

  #meetCommit(t: Transaction): void {
    const { generation, checkpoint: opened } = t.id;
    const first = t.under ?? opened + 1;
    const promises = this.completions.filter((c) => c.generation === generation && c.checkpoint >= first);
    if (promises.length === 0) this.fail(`I3: ${t.name} is visible, and no checkpoint that lists it is complete`);
    const undone = this.item?.restores.find((r) => r.generation > generation && !promises.some((c) => c.checkpoint <= r.checkpoint));
    if (undone !== undefined) this.fail(`I3: ${t.name} becomes visible after the restore of ${undone.checkpoint} has undone it`);
  }
}
