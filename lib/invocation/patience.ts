// Asks again. Services throttle, lose replies and leave parts of a batch; this file is where that is borne, so that nobody else waits or counts.
//   T1  A request is asked again when it was throttled, or when nobody knows whether it happened: every method of the ports is conditional or
//       idempotent. What the second answer may say about a first try that did happen stands beside each method in `patient`.
//   T2  Tries are bounded, and so are the waits between them: each about twice the one before, drawn from its upper half.
//   T3  `STORE_THROTTLED` promises that nothing happened, so that once one try was uncertain the last word is `STORE_UNCERTAIN`.
//   T4  Left-overs are values, not failures, and `patient` passes them on. `readAll`, `putAll` and `sendAll` come back only when nothing is left:
//       what a caller acknowledges after them is done. Whoever does part of the rest goes on; tries count only while nothing moves.

import { isSluiceError, SluiceError } from '../core/errors.ts';
import type { Clock, Random } from '../core/ports.ts';
import {
  type Exchange,
  type InvocationPorts,
  type ItemAddress,
  type OutgoingMessage,
  putManyMax,
  type RingAddress,
  readManyMax,
  type StateItem,
  type StatePut,
  type StateTable,
  sendBytesMax,
  sendMax,
} from './ports.ts';
import { addressKey, messageBytes } from './request-limits.ts';

export interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  /** Times that one request is asked. Default 5. */
  readonly triesMax?: number | undefined;
  /** Calls in a row that leave everything undone, after which the rest of a batch is given up. Default 8. */
  readonly idleCallsMax?: number | undefined;
  /** Longest wait before the second try, ms. Default 50. */
  readonly firstDelayMs?: number | undefined;
  /** Longest wait, ms. Default 2,000. */
  readonly delayMsMax?: number | undefined;
}

export const triesMaxDefault = 5;
export const idleCallsMaxDefault = 8;
export const firstDelayMsDefault = 50;
export const delayMsMaxDefault = 2_000;

const inRing = (ring: RingAddress): string => `ring ${ring.generation}/${ring.subtask}`;

/** The same ports, each request asked until it is answered or its tries are over. */
export function patient(ports: InvocationPorts, patience: Patience): InvocationPorts {
  const ask = <T>(what: string, request: () => Promise<T>): Promise<T> => askAgain(patience, what, request);
  const { changelog, table, items, objects, exchange } = ports;
  return {
    changelog: {
      // After a try that did happen: `conflict`, held by the caller's own writer, or by a later entry when the ring has come round meanwhile.
      put: (p) => ask(`entry ${p.entry.n} of ${inRing(p.ring)}`, () => changelog.put(p)),
      get: (p) => ask(`slot ${p.slot} of ${inRing(p.ring)}`, () => changelog.get(p)),
      readPage: (p) => ask(`slots ${p.from} to ${p.to} of ${inRing(p.ring)}`, () => changelog.readPage(p)),
      // `exists`, or `refused` when the change is over by now.
      // As `put`: a conflict over the caller's own entry is a success whose reply was lost.
      putDuring: (p) => ask(`entry ${p.entry.n} of ${inRing(p.ring)}`, () => changelog.putDuring(p)),
      create: (p) => ask(`first entry of ${inRing(p.ring)}`, () => changelog.create(p)),
      // Written twice. Nobody else writes to a ring that is overwritten.
      overwrite: (p) => ask(`slot ${p.slot} of ${inRing(p.ring)}`, () => changelog.overwrite(p)),
      remove: (ring) => ask(inRing(ring), () => changelog.remove(ring)),
    },
    table: {
      readMany: (addresses) => ask(`${addresses.length} items`, () => table.readMany(addresses)),
      readPartition: (p) => ask(`items of ${p.partition}`, () => table.readPartition(p)),
      // `conflict` with the caller's own versions: reading and merging finds nothing to add.
      putMany: (puts) => ask(`${puts.length} puts`, () => table.putMany(puts)),
    },
    items: {
      get: (name) => ask(`job item ${name}`, () => items.get(name)),
      // `conflict` with the caller's own content. Without a condition: another revision, over whatever came between, as a late first try would.
      put: (p) => ask(`job item ${p.name}`, () => items.put(p)),
      list: (prefix) => ask(`job items ${prefix}`, () => items.list(prefix)),
      // `conflict`: there is none any more.
      remove: (p) => ask(`job item ${p.name}`, () => items.remove(p)),
    },
    objects: {
      // `exists`, with the caller's own bytes.
      putIfAbsent: (name, bytes) => ask(`object ${name}`, () => objects.putIfAbsent(name, bytes)),
      get: (name) => ask(`object ${name}`, () => objects.get(name)),
      remove: (name) => ask(`object ${name}`, () => objects.remove(name)),
      list: (prefix) => ask(`objects ${prefix}`, () => objects.list(prefix)),
    },
    exchange: {
      // The queue remembers the ids for minutes, and receivers drop what it forgot.
      send: (messages) => ask(`${messages.length} messages`, () => exchange.send(messages)),
      // What the first try handed out stays in flight until its time is over, and keeps its groups back so long.
      receive: (p) => ask('messages', () => exchange.receive(p)),
      // Receipts of what is out already, or in other hands by now, do nothing.
      settle: (receipts) => ask(`${receipts.length} receipts`, () => exchange.settle(receipts)),
      release: (p) => ask(`${p.receipts.length} receipts`, () => exchange.release(p)),
    },
  };
}

/**
 * Reads all addresses, whatever their number; one that is named twice is read once. Not a snapshot, and in no order.
 * @throws SluiceError `STORE_THROTTLED` when the rest stays left
 */
export async function readAll(table: StateTable, addresses: readonly ItemAddress[], patience: Patience): Promise<readonly StateItem[]> {
  let waiting: readonly ItemAddress[] = [...new Map(addresses.map((a) => [addressKey(a), a])).values()];
  const found: StateItem[] = [];
  const rounds = new Rounds(patience, 'reads', waiting.length);
  while (waiting.length > 0) {
    const batch = waiting.slice(0, readManyMax);
    const { items, left } = await table.readMany(batch);
    for (const item of items) found.push(item);
    waiting = [...left, ...waiting.slice(batch.length)];
    await rounds.after({ asked: batch.length, left: left.length });
  }
  return found;
}

/**
 * Puts all, whatever their number; each address at most once.
 * @returns one outcome each, in order
 * @throws SluiceError `STORE_THROTTLED` when the rest stays left; what is not left has been put
 */
export async function putAll(
  table: StateTable,
  puts: readonly StatePut[],
  patience: Patience,
): Promise<readonly ('stored' | 'conflict')[]> {
  const outcomes: ('stored' | 'conflict')[] = [];
  let waiting: readonly number[] = puts.map((_, i) => i);
  const rounds = new Rounds(patience, 'puts', puts.length);
  while (waiting.length > 0) {
    const batch = waiting.slice(0, putManyMax);
    const answers = await table.putMany(batch.map((i) => puts[i]!));
    const left: number[] = [];
    batch.forEach((i, at) => {
      const answer = answers[at] ?? 'left';
      if (answer === 'left') left.push(i);
      else outcomes[i] = answer;
    });
    waiting = [...waiting.slice(batch.length), ...left];
    await rounds.after({ asked: batch.length, left: left.length });
  }
  return outcomes;
}

/**
 * Sends all, whatever their number. Within a group in the order given: what is left goes before what comes after it.
 * @throws SluiceError `STORE_THROTTLED` when the rest stays left; what is not left has been sent
 */
export async function sendAll(exchange: Exchange, messages: readonly OutgoingMessage[], patience: Patience): Promise<void> {
  let waiting = messages;
  const rounds = new Rounds(patience, 'messages', messages.length);
  while (waiting.length > 0) {
    const batch = firstBatch(waiting);
    const { left } = await exchange.send(batch);
    const again = [...left].sort((a, b) => a - b).map((i) => batch[i]!);
    waiting = [...again, ...waiting.slice(batch.length)];
    await rounds.after({ asked: batch.length, left: again.length });
  }
}

function firstBatch(messages: readonly OutgoingMessage[]): readonly OutgoingMessage[] {
  let bytes = 0;
  let count = 0;
  for (const m of messages) {
    bytes += messageBytes(m);
    if (count > 0 && (count === sendMax || bytes > sendBytesMax)) break;
    count++;
  }
  return messages.slice(0, count);
}

/** Counts the calls in a row in which nothing of a batch was done, and waits after those that left something. */
class Rounds {
  readonly #patience: Patience;
  readonly #what: string;
  readonly #all: number;
  #done = 0;
  #idle = 0;

  constructor(patience: Patience, what: string, all: number) {
    this.#patience = patience;
    this.#what = what;
    this.#all = all;
  }

  async after(p: { readonly asked: number; readonly left: number }): Promise<void> {
    this.#done += p.asked - p.left;
    this.#idle = p.left < p.asked ? 0 : this.#idle + 1;
    if (p.left === 0) return;
    if (this.#idle >= (this.#patience.idleCallsMax ?? idleCallsMaxDefault)) {
      throw new SluiceError('STORE_THROTTLED', {
        message: `${this.#done} of ${this.#all} ${this.#what} are done; the store left the rest undone ${this.#idle} times in a row`,
        next: 'retry-invocation',
      });
    }
    await wait(this.#patience, Math.max(this.#idle, 1));
  }
}

/** One request, asked until it is answered or its tries are over. */
export async function askAgain<T>(patience: Patience, what: string, request: () => Promise<T>): Promise<T> {
  const triesMax = patience.triesMax ?? triesMaxDefault;
  let isUncertain = false;
  for (let tries = 1; ; tries++) {
    try {
      return await request();
    } catch (e) {
      const code = isSluiceError(e) ? e.code : 'STORE_UNCERTAIN';
      if (code !== 'STORE_THROTTLED' && code !== 'STORE_UNCERTAIN') throw e;
      isUncertain ||= code === 'STORE_UNCERTAIN';
      if (tries >= triesMax) {
        throw new SluiceError(isUncertain ? 'STORE_UNCERTAIN' : 'STORE_THROTTLED', {
          message: `${what}: the store was asked ${tries} times and ${isUncertain ? 'gave no answer' : 'refused each time'}`,
          next: 'retry-invocation',
          cause: e,
        });
      }
    }
    await wait(patience, tries);
  }
}

/** Waits before try `tries + 1`. */
async function wait(patience: Patience, tries: number): Promise<void> {
  const longest = Math.min((patience.firstDelayMs ?? firstDelayMsDefault) * 2 ** (tries - 1), patience.delayMsMax ?? delayMsMaxDefault);
  const part = patience.random.bits() / 2 ** 32;
  await patience.clock.sleep(Math.ceil((longest * (1 + part)) / 2)).done;
}
