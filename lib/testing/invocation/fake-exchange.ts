// The queue of a fake service: first in, first out in each group, at least once.
//   X1  Messages of one id within the queue's memory are one message, whatever their group.
//   X2  A group gives its messages oldest first, up to the first one that is in flight or put off. `loose` skips that one instead.
//   X3  A delivery that is neither settled nor released comes again when its time is over, under another receipt.
//   X4  A message that was settled long ago may turn up once more, as a message of its own at the end of its group.

import type { Delivery, OutgoingMessage } from '../../invocation/ports.ts';
import { checkMessages, checkReceive } from '../../invocation/request-limits.ts';
import { copyOf, type FakeHost } from './fake-hooks.ts';
import type { QueuedMessage } from './service-change.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const kept = (m: OutgoingMessage): OutgoingMessage => ({ group: m.group, id: m.id, bytes: copyOf(m.bytes) });

export class FakeExchange {
  readonly #host: FakeHost;
  /** In order of acceptance. */
  readonly #queue: Mutable<QueuedMessage>[] = [];
  /** Every message that was ever accepted. */
  readonly #past: OutgoingMessage[] = [];
  readonly #acceptedAt = new Map<string, number>();
  /** Receipts of deliveries that are no longer the latest one of their message. */
  readonly #stale = new Map<string, Mutable<QueuedMessage>>();
  #serial = 0;
  #receipts = 0;

  constructor(host: FakeHost) {
    this.#host = host;
  }

  send(messages: readonly OutgoingMessage[]): { readonly left: readonly number[] } {
    checkMessages(messages);
    const leaves = new Set(this.#host.hooks.leave(messages.length, 'exchange.send'));
    const groups = new Set<string>();
    const left: number[] = [];
    messages.forEach((m, i) => {
      if (leaves.has(i)) groups.add(m.group);
      if (groups.has(m.group)) left.push(i);
      else this.#accept(kept(m));
    });
    return { left };
  }

  receive(p: { readonly max: number }): readonly Delivery[] {
    checkReceive(p.max);
    const { hooks } = this.#host;
    const again = hooks.lateDuplicate(this.#past.length);
    if (again !== undefined) this.#enqueue(this.#past[again]!, 'late-duplicate');
    const max = Math.min(p.max, hooks.handOut(p.max));
    const ready = this.#ready(hooks.loose());
    const deliveries: Delivery[] = [];
    for (const group of hooks.groups([...ready.keys()])) {
      for (const message of ready.get(group) ?? []) if (deliveries.length < max) deliveries.push(this.#deliver(message));
    }
    return deliveries;
  }

  settle(receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const message = this.#queue.find((m) => m.receipt === receipt);
      const late = message ?? this.#stale.get(receipt);
      if (late === undefined || (message === undefined && !this.#host.hooks.staleReceiptWorks())) continue;
      const at = this.#queue.indexOf(late);
      if (at < 0) continue;
      this.#queue.splice(at, 1);
      this.#host.tell({ kind: 'settled', message: late, how: message === undefined ? 'stale' : 'in-time' });
    }
  }

  release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): void {
    for (const receipt of p.receipts) {
      const message = this.#queue.find((m) => m.receipt === receipt);
      if (message === undefined) continue;
      message.visibleAtMs = this.#host.hooks.now() + p.delayMs;
      this.#host.tell({ kind: 'released', message });
    }
  }

  /** For auditors: what the queue holds, in order of acceptance. Not copied. */
  queued(): readonly QueuedMessage[] {
    return this.#queue;
  }

  /** For auditors: every message that was ever accepted, in order. Not copied. */
  past(): readonly OutgoingMessage[] {
    return this.#past;
  }

  #accept(message: OutgoingMessage): void {
    const { hooks } = this.#host;
    const before = this.#acceptedAt.get(message.id);
    if (before !== undefined && hooks.now() - before < hooks.dedupMs) {
      this.#host.tell({ kind: 'sent', message, how: 'repeat' });
      return;
    }
    this.#acceptedAt.set(message.id, hooks.now());
    this.#past.push(message);
    this.#enqueue(message, 'accepted');
  }

  #enqueue(message: OutgoingMessage, how: 'accepted' | 'late-duplicate'): void {
    this.#queue.push({ ...message, serial: ++this.#serial, visibleAtMs: this.#host.hooks.now(), receipt: undefined, receives: 0 });
    this.#host.tell({ kind: 'sent', message, how });
  }

  /** What each group has to give now. What became visible first comes first, so that a group that fails again and again lets others through. */
  #ready(isLoose: boolean): Map<string, Mutable<QueuedMessage>[]> {
    const ready = new Map<string, Mutable<QueuedMessage>[]>();
    const blocked = new Set<string>();
    const now = this.#host.hooks.now();
    for (const message of this.#queue) {
      if (message.visibleAtMs > now) {
        if (!isLoose) blocked.add(message.group);
      } else if (!blocked.has(message.group)) {
        const list = ready.get(message.group) ?? [];
        list.push(message);
        ready.set(message.group, list);
      }
    }
    return new Map([...ready].sort(([, [a]], [, [b]]) => a!.visibleAtMs - b!.visibleAtMs || a!.serial - b!.serial));
  }

  #deliver(message: Mutable<QueuedMessage>): Delivery {
    if (message.receipt !== undefined) this.#stale.set(message.receipt, message);
    message.receipt = `r${++this.#receipts}`;
    message.receives++;
    message.visibleAtMs = this.#host.hooks.now() + this.#host.hooks.visibilityMs();
    this.#host.tell({ kind: 'received', message });
    return { group: message.group, bytes: copyOf(message.bytes), receipt: message.receipt, receives: message.receives };
  }
}
