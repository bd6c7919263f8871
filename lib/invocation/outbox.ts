// What a unit sends: one message for each (exchange, target) that it has something for, with the next numbers of those channels.
//   O1  Numbers and generation come from the entry that is being made; a unit that lost its append is run again, never renumbered.
//   O2  Elements keep their order. A barrier is alone in its message, `successors` and `end` are last.

import type { Plan, Stage } from '../graph/plan.ts';
import type { Emission } from '../runtime/effects.ts';
import { reachableTargets } from '../runtime/routing.ts';
import type { CommittedMessage, EntryHead } from './entry.ts';
import type { Owner } from './job-item.ts';
import type { ChannelElement, ChannelMessage } from './message.ts';
import { encodeMessage } from './message-codec.ts';

export interface OutboxOptions {
  readonly plan: Plan;
  /** Of the subtask that sends. */
  readonly owner: Owner;
  /** Of the whole job. */
  readonly owners: readonly Owner[];
}

/** One destination of a subtask. */
export interface Destination {
  readonly exchange: number;
  readonly target: string;
}

export interface Outgoing {
  readonly messages: readonly CommittedMessage[];
  /** `sent` of the new head. */
  readonly sent: EntryHead['sent'];
}

/** Addresses of a subtask's output. Made once for an environment's subtask; holds nothing of a unit. */
export class Outbox {
  readonly #subtask: string;
  /** By outlet, then by index of the target. */
  readonly #destinations: readonly ReadonlyMap<number, Destination>[];

  constructor({ plan, owner, owners }: OutboxOptions) {
    this.#subtask = owner.subtask;
    this.#destinations = destinationsOf(plan, owner, owners);
  }

  /** Everybody that the subtask has a channel to. */
  get destinations(): readonly Destination[] {
    return this.#destinations.flatMap((targets) => [...targets.values()]);
  }

  /**
   * @param head  of the entry before
   * @param after  goes to every destination behind the emissions: the senders that follow this one
   */
  pack(
    emissions: readonly Emission[],
    head: Pick<EntryHead, 'generation' | 'sent'>,
    after?: ChannelElement & { readonly kind: 'successors' },
  ): Outgoing {
    const elements = new Map<Destination, ChannelElement[]>();
    for (const { outlet, target, element } of emissions) add(elements, this.#destinationOf(outlet, target), element);
    if (after !== undefined) for (const destination of this.destinations) add(elements, destination, after);
    const sent = new Map(head.sent);
    const messages: CommittedMessage[] = [];
    for (const [destination, list] of elements) {
      for (const part of cutAtBarriers(list)) {
        const { exchange, target } = destination;
        const sequence = (sent.get(sentName(destination)) ?? 0) + 1;
        sent.set(sentName(destination), sequence);
        const message: ChannelMessage = { generation: head.generation, exchange, sender: this.#subtask, target, sequence, elements: part };
        messages.push({ exchange, target, sequence, bytes: encodeMessage(message) });
      }
    }
    return { messages, sent: [...sent] };
  }

  #destinationOf(outlet: number, target: number): Destination {
    // Neither may be missing: what has nowhere to go would be lost without a word.
    return this.#destinations[outlet]!.get(target)!;
  }
}

/** Key of `EntryHead.sent`. */
export function sentName({ exchange, target }: Destination): string {
  return `${exchange}/${target}`;
}

function destinationsOf(plan: Plan, owner: Owner, owners: readonly Owner[]): readonly ReadonlyMap<number, Destination>[] {
  const from = plan.stages[owner.stage] as Stage;
  return from.outlets.map((exchange) => {
    const to = plan.stages[exchange.toStage] as Stage;
    const reachable = reachableTargets(exchange, owner.index, from.parallelism, to.parallelism);
    const targets = owners.filter(({ stage, index }) => stage === to.id && reachable.includes(index));
    return new Map(targets.map(({ index, subtask }) => [index, { exchange: exchange.id, target: subtask }]));
  });
}

function add(elements: Map<Destination, ChannelElement[]>, destination: Destination, element: ChannelElement): void {
  const list = elements.get(destination);
  if (list === undefined) elements.set(destination, [element]);
  // Nothing lies between two watermarks in a row, so the receiver needs the later one only.
  else if (element.kind === 'watermark' && list.at(-1)?.kind === 'watermark') list[list.length - 1] = element;
  else list.push(element);
}

function cutAtBarriers(elements: readonly ChannelElement[]): readonly (readonly ChannelElement[])[] {
  const parts: ChannelElement[][] = [];
  let isOpen = false;
  for (const element of elements) {
    if (element.kind === 'barrier' || !isOpen) parts.push([]);
    (parts.at(-1) as ChannelElement[]).push(element);
    isOpen = element.kind !== 'barrier';
  }
  return parts;
}
