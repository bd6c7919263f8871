// What a subtask takes from its input channels, message by message, on a copy of its entry's channels. A run that is abandoned leaves nothing.
//   N1  Each message of a channel is taken once and in order: repeats are dropped, after a gap nothing is taken.
//   N2  Channels belong to a generation. Messages of an older one are dropped; a newer one says that this environment is out of date.
//   N3  A message behind the barrier of its channel waits, whole, and all later ones of that channel behind it. Waiting messages go on in the order in
//       which they came.
//   N4  When a sender ends and names successors, their messages lie behind everything that it sent, so they wait while that announcement waits. Where
//       several are followed together, announcements wait until all have come: a successor's messages lie behind what each of them sent.
//   N5  A message may be taken in parts, cut before a record: the channel counts the records that are processed, and the rest comes again with the
//       message. What stands before a counted record is over, too.
//   N6  Whoever drives the intake takes nothing while a barrier is due: its entry comes first, after the entry of what was taken before it.

import { partOfBatch, type RecordBatch } from '../core/batch.ts';
import { SluiceError } from '../core/errors.ts';
import type { Exchange } from '../graph/plan.ts';
import { WatermarkValve } from '../runtime/watermarks.ts';
import { completeBarrier, isBarrierNew, settledBarrier, topBarrier } from './alignment.ts';
import { type ChannelProgress, type EntryHead, type HeldMessage, nextEpoch } from './entry.ts';
import type { ChannelElement, ChannelMessage } from './message.ts';
import type { RecordName } from './poison/attempts.ts';

export type MessageDecision = 'take' | 'repeat' | 'older-generation' | 'newer-generation' | 'gap' | 'unknown-channel';

/** @param facts.sequence  of the last message taken from the channel; `undefined`: nobody has announced that sender */
export function decideMessage(facts: {
  readonly generation: number;
  readonly sequence: number | undefined;
  readonly message: Pick<ChannelMessage, 'generation' | 'sequence'>;
}): MessageDecision {
  const { generation, sequence, message } = facts;
  if (message.generation > generation) return 'newer-generation';
  if (message.generation < generation) return 'older-generation';
  if (sequence === undefined) return 'unknown-channel';
  if (message.sequence <= sequence) return 'repeat';
  if (message.sequence > sequence + 1) return 'gap';
  return 'take';
}

/** Where records lie, for the count of attempts: the same after every redelivery. */
export interface RecordPlace {
  /** Channel or split. */
  readonly place: string;
  /** @param index  of a record of the batch */
  record(index: number): string;
}

/** Carries out what is consumed, in order and at once. */
export interface IntakeTarget {
  records(batch: RecordBatch, input: 0 | 1, at: RecordPlace): void;
  /** Asked for each record, in order, where it is there: true cuts the message before it, and nothing more is taken in this unit. */
  isCut?: ((name: RecordName) => boolean) | undefined;
  /** Event time of the subtask advanced. */
  watermark(timestamp: number): void;
  /** Every input has become silent. */
  idle(): void;
}

/** The wire form of a message, kept while it waits. */
export type StoredMessage = Pick<HeldMessage, 'bytes' | 'object'>;

export interface WaitingMessage {
  readonly message: ChannelMessage;
  readonly stored: StoredMessage;
  /** What it was decoded from; see unit/fresh.ts. */
  readonly raw?: Uint8Array | undefined;
}

export type IntakeHead = Pick<EntryHead, 'generation' | 'kind' | 'epoch' | 'channels' | 'abortedThrough' | 'watermark'>;

type OpenChannel = { -readonly [Name in keyof ChannelProgress]: ChannelProgress[Name] };

export interface IntakeOptions {
  readonly head: IntakeHead;
  /** The messages of `head.held`, read, in the same order. */
  readonly waiting: readonly WaitingMessage[];
  /** Exchanges that the stage reads. */
  readonly inputs: readonly Exchange[];
  /** False under AT_LEAST_ONCE. */
  readonly isAligned: boolean;
}

/** Parts of the next head. */
export type IntakeParts = Pick<EntryHead, 'channels' | 'held' | 'abortedThrough' | 'watermark'>;

/** Use: `release` until false, then `offer` and again `release` until false for each message; stop when `dueBarrier` is there. */
export class Intake {
  /** Something differs from the head. */
  hasChanged = false;
  readonly #generation: number;
  readonly #inputs: ReadonlyMap<number, 0 | 1>;
  readonly #isAligned: boolean;
  readonly #channels: OpenChannel[];
  readonly #valve: WatermarkValve;
  #waiting: readonly WaitingMessage[];
  readonly #epoch: number;
  #abortedThrough: number;

  constructor(options: IntakeOptions) {
    const { head } = options;
    this.#generation = head.generation;
    this.#inputs = new Map(options.inputs.map(({ id, input }) => [id, input]));
    this.#isAligned = options.isAligned;
    this.#channels = head.channels.map((channel) => ({ ...channel }));
    this.#valve = WatermarkValve.over(this.#channels, head.watermark);
    this.#waiting = options.waiting;
    this.#epoch = nextEpoch(head);
    this.#abortedThrough = head.abortedThrough;
  }

  /** The checkpoint whose barrier entry has to be appended before anything else is taken. */
  get dueBarrier(): number | undefined {
    return completeBarrier(this.#channels, this.#isAligned);
  }

  /** A message that waited and may go on: its unit is not over, so the message that set it free may not be acknowledged yet. */
  get hasReleasable(): boolean {
    return this.#releasable !== undefined;
  }

  /** Whether `offer` would take it. */
  decide(message: Omit<ChannelMessage, 'elements'>): MessageDecision {
    return decideMessage({ generation: this.#generation, sequence: this.#sequenceOf(message), message });
  }

  /** Every channel has ended and nothing waits: the subtask's own end is due. */
  get hasEnded(): boolean {
    return this.#channels.every(({ hasEnded }) => hasEnded) && this.#waiting.length === 0 && topBarrier(this.#channels) === 0;
  }

  /** @returns `held`: it waits behind a barrier and is taken; `cut`: a part of it is, or nothing; what else is not `consumed` changes nothing */
  offer(message: ChannelMessage, stored: StoredMessage, to: IntakeTarget): Exclude<MessageDecision, 'take'> | 'consumed' | 'held' | 'cut' {
    const decision = this.decide(message);
    if (decision !== 'take') return decision;
    const channel = this.#channelOf(message);
    const isHeld = !this.#mayPass(message) || this.#waiting.some((waiting) => isSameChannel(waiting.message, message));
    if (isHeld) this.#waiting = [...this.#waiting, { message, stored }];
    else if (!this.#consume(message, to)) return 'cut';
    if (channel !== undefined) channel.sequence = message.sequence;
    this.hasChanged = true;
    return isHeld ? 'held' : 'consumed';
  }

  /** The oldest waiting message that may go on. */
  get #releasable(): WaitingMessage | undefined {
    return this.#waiting.find(({ message }) => this.#mayPass(message));
  }

  /** Consumes the oldest waiting message that may go on. @returns false when there is none, or it was cut */
  release(to: IntakeTarget): boolean {
    const free = this.#releasable;
    if (free === undefined || !this.#consume(free.message, to)) return false;
    this.hasChanged = true;
    this.#waiting = this.#waiting.filter((waiting) => waiting !== free);
    return true;
  }

  /** The job item says that this checkpoint and all before it will not complete. */
  giveUp(checkpoint: number): void {
    if (checkpoint <= this.#abortedThrough) return;
    this.hasChanged = true;
    this.#abortedThrough = checkpoint;
    this.#settle();
  }

  parts(): IntakeParts {
    return {
      channels: this.#channels.map((channel) => ({ ...channel })),
      held: this.#waiting.map(({ message, stored }) => ({ sender: message.sender, exchange: message.exchange, ...stored })),
      abortedThrough: this.#abortedThrough,
      watermark: this.#valve.current,
    };
  }

  #channelOf(at: ChannelName): OpenChannel | undefined {
    return this.#channels.find((channel) => isSameChannel(channel, at));
  }

  /** Of a channel that is announced behind a barrier, what waits is all that was taken. */
  #sequenceOf(at: ChannelName): number | undefined {
    const channel = this.#channelOf(at);
    if (channel !== undefined) return channel.sequence;
    return this.#isAnnounced(at) ? this.#lastWaiting(at) : undefined;
  }

  #lastWaiting(at: ChannelName): number {
    return this.#waiting.findLast(({ message }) => isSameChannel(message, at))?.message.sequence ?? 0;
  }

  /** A sender that has yet to be succeeded by this one. */
  #isAnnounced({ exchange, sender }: ChannelName): boolean {
    return this.#waiting.some(({ message }) => message.exchange === exchange && successorsIn(message.elements).includes(sender));
  }

  #mayPass(message: ChannelMessage): boolean {
    return this.#isFree(message) && this.#haveOthersCome(message);
  }

  /** Of several senders that are followed together each says so: what the first one says waits for what the last one does. */
  #haveOthersCome({ exchange, sender, elements }: ChannelMessage): boolean {
    return parentsIn(elements).every((parent) => {
      const at = { exchange, sender: parent };
      return parent === sender || this.#channelOf(at)?.hasEnded === true || this.#isEnding(at);
    });
  }

  /** The last message of a channel has come, and nothing but others holds it back. */
  #isEnding(at: ChannelName): boolean {
    return this.#isFree(at) && this.#waiting.some(({ message }) => isSameChannel(message, at) && successorsIn(message.elements).length > 0);
  }

  #isFree(at: ChannelName): boolean {
    const channel = this.#channelOf(at);
    if (channel === undefined || this.#isAnnounced(at)) return false;
    return !this.#isAligned || channel.barrier === 0;
  }

  /** @returns false when it was cut */
  #consume(message: ChannelMessage, to: IntakeTarget): boolean {
    const index = this.#channels.findIndex((channel) => isSameChannel(channel, message));
    const channel = this.#channels[index] as OpenChannel;
    const done = channel.part ?? 0;
    let first = 0;
    for (const element of message.elements) {
      const isOver = first < done;
      if (element.kind === 'records') {
        const { count } = element.batch;
        const from = Math.min(count, Math.max(0, done - first));
        const upTo = this.#cutOf(message, { first, from, count }, to);
        if (upTo > from) this.#passRecords(index, { message, batch: element.batch, first, from, upTo }, to);
        first += upTo;
        if (upTo < count) return false;
      } else if (!isOver) this.#consumeSignal(index, element, to);
    }
    channel.part = undefined;
    return true;
  }

  /** Index in a batch of the first record that is not to be processed now. */
  #cutOf(
    message: ChannelMessage,
    { first, from, count }: { readonly first: number; readonly from: number; readonly count: number },
    { isCut }: IntakeTarget,
  ): number {
    if (isCut === undefined) return count;
    const place = channelPlace(message);
    for (let index = from; index < count; index++) if (isCut({ place, record: recordName(message, first + index) })) return index;
    return count;
  }

  /** @param p.first  number in the message of the batch's first record */
  #passRecords(
    index: number,
    p: {
      readonly message: ChannelMessage;
      readonly batch: RecordBatch;
      readonly first: number;
      readonly from: number;
      readonly upTo: number;
    },
    to: IntakeTarget,
  ): void {
    const { message, batch, first, from, upTo } = p;
    const isWhole = from === 0 && upTo === batch.count;
    this.hasChanged = true;
    this.#valve.active(index);
    to.records(isWhole ? batch : partOfBatch(batch, from, upTo), this.#inputOf(message.exchange), {
      place: channelPlace(message),
      record: (i) => recordName(message, first + from + i),
    });
    (this.#channels[index] as OpenChannel).part = first + upTo;
  }

  #consumeSignal(index: number, element: Exclude<ChannelElement, { readonly kind: 'records' }>, to: IntakeTarget): void {
    const channel = this.#channels[index] as OpenChannel;
    switch (element.kind) {
      case 'barrier':
        if (isBarrierNew(element.checkpoint, { epoch: this.#epoch, abortedThrough: this.#abortedThrough })) {
          channel.barrier = element.checkpoint;
          this.#settle();
        }
        break;
      case 'watermark':
        this.#tell(() => this.#valve.watermark(index, element.timestamp), to);
        break;
      case 'idle':
        this.#tell(() => this.#valve.idle(index), to);
        break;
      case 'successors':
        this.#succeed(channel, element.senders);
        this.#tell(() => this.#valve.end(index), to);
        break;
      case 'end':
        this.#tell(() => this.#valve.end(index), to);
        break;
    }
  }

  #tell(change: () => number | undefined, to: IntakeTarget): void {
    const wasIdle = this.#valve.isIdle;
    const watermark = change();
    if (watermark !== undefined) to.watermark(watermark);
    if (this.#valve.isIdle && !wasIdle) to.idle();
  }

  /** A successor goes on from the event time of whom it follows; of several, from the earliest. */
  #succeed({ exchange, watermark, isIdle }: OpenChannel, senders: readonly string[]): void {
    for (const sender of senders) {
      const channel = this.#channelOf({ exchange, sender });
      if (channel !== undefined) {
        channel.watermark = Math.min(channel.watermark, watermark);
        continue;
      }
      const sequence = this.#lastWaiting({ exchange, sender });
      this.#channels.push({ sender, exchange, sequence, barrier: 0, hasEnded: false, watermark, isIdle });
    }
  }

  #settle(): void {
    const facts = { top: topBarrier(this.#channels), abortedThrough: this.#abortedThrough, isAligned: this.#isAligned };
    for (const channel of this.#channels) channel.barrier = settledBarrier(channel.barrier, facts);
  }

  #inputOf(exchange: number): 0 | 1 {
    const input = this.#inputs.get(exchange);
    if (input !== undefined) return input;
    throw new SluiceError('INTERNAL', { message: `exchange ${exchange} leads to another stage`, next: 'report-a-bug' });
  }
}

type ChannelName = Pick<ChannelProgress, 'exchange' | 'sender'>;

function isSameChannel(a: ChannelName, b: ChannelName): boolean {
  return a.exchange === b.exchange && a.sender === b.sender;
}

function parentsIn(elements: readonly ChannelElement[]): readonly string[] {
  return elements.flatMap((element) => (element.kind === 'successors' ? (element.parents ?? []) : []));
}

function successorsIn(elements: readonly ChannelElement[]): readonly string[] {
  return elements.flatMap((element) => (element.kind === 'successors' ? element.senders : []));
}

/** `RecordPlace.place` of the records of a channel, which are numbered for each target, and from the beginning in each generation. */
function channelPlace({
  generation,
  exchange,
  sender,
  target,
}: Pick<ChannelMessage, 'generation' | 'exchange' | 'sender' | 'target'>): string {
  return `${generation}/${exchange}/${sender}/${target}`;
}

/** `RecordPlace.record` of the n-th record of a message, from 0. */
function recordName({ sequence }: Pick<ChannelMessage, 'sequence'>, n: number): string {
  return `${sequence}/${n}`;
}
