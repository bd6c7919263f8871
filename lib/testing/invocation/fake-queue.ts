// A queue as an event source, as strict as the two kinds there are. It is no port of the runtime: whoever stands between it and the environments asks
// it for messages, and tells it what the answers said.
//   Q1  A message that was handed out comes again when its time in flight is over, under another receipt, and counts as received once more; also
//       while whoever had it before still works on it.
//   Q2  With order, the messages of a group come oldest first, and none while an earlier one of the group is in flight: not out of order, but any
//       number of groups in one answer. Without order anything may come before anything else, and a message that was settled may come once more.
//   Q3  Older than its retention a message is dropped, in flight or not, settled or not. That is told aloud, and is the only way of losing one: there
//       is no dead-letter queue that takes it after so many receives.
//   Q4  A receipt is of one delivery. That of an earlier one may settle the message, or do nothing.

import type { QueueMessage } from '../../invocation/invocation.ts';

export interface FakeQueueHooks {
  /** ms; the queue's own clock. */
  now: () => number;
  /** How long a delivery stays in flight, ms. */
  visibilityMs: () => number;
  /** Order in which a receive looks at what has something for it: groups, or ids of messages. */
  order: (names: readonly string[]) => readonly string[];
  /** How many of `max` messages a receive hands out at most. */
  handOut: (max: number) => number;
  /** Without order: of `count` settled messages that are not dropped yet, the one that comes once more now; `undefined`: none. */
  duplicate: (count: number) => number | undefined;
  staleReceiptWorks: () => boolean;
  /** A message was dropped unsettled. */
  lost: (message: QueueMessage) => void;
}

export interface QueueDelivered {
  readonly message: QueueMessage;
  readonly receipt: string;
}

interface Held {
  readonly message: Omit<QueueMessage, 'receives'>;
  receives: number;
  visibleAtMs: number;
  receipt: string | undefined;
  isSettled: boolean;
}

export class FakeQueue {
  readonly hooks: FakeQueueHooks;
  readonly #kind: 'fifo' | 'standard';
  readonly #retentionMs: number;
  #held: Held[] = [];
  readonly #stale = new Map<string, Held>();
  #sent = 0;
  #receipts = 0;

  constructor(p: { readonly order: 'fifo' | 'standard'; readonly retentionMs: number; readonly hooks?: Partial<FakeQueueHooks> }) {
    this.#kind = p.order;
    this.#retentionMs = p.retentionMs;
    this.hooks = {
      now: () => 0,
      visibilityMs: () => 30_000,
      order: (names) => names,
      handOut: (max) => max,
      duplicate: () => undefined,
      staleReceiptWorks: () => false,
      lost: () => undefined,
      ...p.hooks,
    };
  }

  /** @param group  ignored by queues without order */
  send(p: { readonly group: string; readonly body: unknown }): QueueMessage {
    const now = this.hooks.now();
    const number = ++this.#sent;
    const isFifo = this.#kind === 'fifo';
    // Numbers of a group are large, and have holes.
    const sequence = isFifo ? String(18_850_000_000_000_000_000n + BigInt(number) * 256n) : '';
    const message = { id: `m-${number}`, group: isFifo ? p.group : '', sequence, sentMs: now, body: p.body };
    this.#held.push({ message, receives: 0, visibleAtMs: now, receipt: undefined, isSettled: false });
    return { ...message, receives: 0 };
  }

  receive({ max }: { readonly max: number }): readonly QueueDelivered[] {
    this.#dropOld();
    const limit = Math.min(max, this.hooks.handOut(max));
    const ready = this.#kind === 'fifo' ? this.#readyGroups() : this.#readyMessages();
    const given: QueueDelivered[] = [];
    for (const name of this.hooks.order([...ready.keys()])) {
      for (const held of ready.get(name) ?? []) if (given.length < limit) given.push(this.#handOut(held));
    }
    return given;
  }

  settle(receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const current = this.#held.find((held) => held.receipt === receipt);
      const held = current ?? (this.hooks.staleReceiptWorks() ? this.#stale.get(receipt) : undefined);
      if (held !== undefined) held.isSettled = true;
    }
  }

  /** Makes messages visible again. */
  release(p: { readonly receipts: readonly string[]; readonly delayMs: number }): void {
    for (const receipt of p.receipts) {
      const held = this.#held.find((one) => one.receipt === receipt);
      if (held !== undefined) held.visibleAtMs = this.hooks.now() + p.delayMs;
    }
  }

  /** For auditors: what is neither settled nor dropped. */
  get unsettled(): readonly QueueMessage[] {
    this.#dropOld();
    return this.#held.filter((held) => !held.isSettled).map(told);
  }

  #dropOld(): void {
    const oldest = this.hooks.now() - this.#retentionMs;
    for (const held of this.#held) if (held.message.sentMs < oldest && !held.isSettled) this.hooks.lost(told(held));
    this.#held = this.#held.filter((held) => held.message.sentMs >= oldest);
  }

  #readyGroups(): Map<string, Held[]> {
    const ready = new Map<string, Held[]>();
    const blocked = new Set<string>();
    const now = this.hooks.now();
    for (const held of this.#held) {
      const { group } = held.message;
      if (held.isSettled) continue;
      if (held.visibleAtMs > now) blocked.add(group);
      if (!blocked.has(group)) ready.set(group, [...(ready.get(group) ?? []), held]);
    }
    return ready;
  }

  #readyMessages(): Map<string, Held[]> {
    const now = this.hooks.now();
    const settled = this.#held.filter((held) => held.isSettled);
    const again = this.hooks.duplicate(settled.length);
    const ready = this.#held.filter((held) => !held.isSettled && held.visibleAtMs <= now);
    const all = again === undefined || settled[again] === undefined ? ready : [...ready, settled[again]];
    return new Map(all.map((held) => [held.message.id, [held]]));
  }

  #handOut(held: Held): QueueDelivered {
    if (held.receipt !== undefined) this.#stale.set(held.receipt, held);
    held.receipt = `q${++this.#receipts}`;
    held.receives += 1;
    held.visibleAtMs = this.hooks.now() + this.hooks.visibilityMs();
    return { message: told(held), receipt: held.receipt };
  }
}

function told({ message, receives }: Held): QueueMessage {
  return { ...message, receives };
}
