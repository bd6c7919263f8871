// Messages that came before the ones they follow.
import { describe, expect, test } from 'vitest';
import { takeAroundGap, type Waiting } from '../../../lib/aws/around-gap.ts';
import { decodeMessage, encodeMessage } from '../../../lib/invocation/message-codec.ts';
import { seededRandom } from '../../../lib/testing/seeded-random.ts';

const bytesOf = (sender: string, sequence: number): Uint8Array =>
  encodeMessage({ generation: 1, exchange: 0, sender, target: '1-0', sequence, elements: [] });
const waiting = (number: number, sender: string, sequence: number): Waiting => ({
  number: String(number),
  bytes: bytesOf(sender, sequence),
});

/** Takes each channel in order, and stops at a gap. @param follows  a channel → after which message of which other it begins */
function receiver(follows: Readonly<Record<string, readonly [sender: string, sequence: number]>> = {}) {
  const taken = new Map<string, number>();
  let asked = 0;
  const take = async (messages: readonly Uint8Array[]): Promise<number> => {
    asked++;
    let count = 0;
    for (const { sender, sequence } of messages.map(decodeMessage)) {
      const has = taken.get(sender) ?? 0;
      const [parent, last] = follows[sender] ?? ['', 0];
      if (sequence > has + 1 || (taken.get(parent) ?? 0) < last) break;
      taken.set(sender, Math.max(has, sequence));
      count++;
    }
    return count;
  };
  return { taken, take, asked: () => asked };
}

const nothing = async (): Promise<readonly Uint8Array[]> => [];
const numbersOf = (left: readonly Waiting[]): readonly (string | undefined)[] => left.map(({ number }) => number);

describe('behind a gap', () => {
  test('what lies further behind in the event is taken first', async () => {
    const { take, taken } = receiver();
    const left = await takeAroundGap({
      waiting: [waiting(5, 'a', 2), waiting(6, 'b', 1), waiting(7, 'a', 1)],
      ahead: () => Promise.reject(new Error('nobody has to look')),
      take,
    });
    expect(left).toEqual([]);
    expect([...taken]).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  test('what lies behind the event is found in the shard', async () => {
    const { take, taken } = receiver();
    const ahead = async (): Promise<readonly Uint8Array[]> => [bytesOf('b', 1), bytesOf('a', 1), bytesOf('a', 3)];
    expect(await takeAroundGap({ waiting: [waiting(5, 'a', 2)], ahead, take })).toEqual([]);
    expect(taken.get('a')).toBe(3);
  });

  test('a channel waits for the last message of the one that it follows', async () => {
    const { take, taken } = receiver({ child: ['parent', 2] });
    const messages = [waiting(5, 'child', 1), waiting(6, 'child', 2), waiting(7, 'parent', 2), waiting(8, 'parent', 1)];
    expect(await takeAroundGap({ waiting: messages, ahead: nothing, take })).toEqual([]);
    expect(taken.get('child')).toBe(2);
  });

  test('a gap stays one where what is missing is nowhere', async () => {
    const { take, taken } = receiver();
    const messages = [waiting(5, 'a', 3), waiting(6, 'b', 1), waiting(7, 'a', 1)];
    const left = await takeAroundGap({ waiting: messages, ahead: async () => [bytesOf('a', 4)], take });
    expect(numbersOf(left)).toEqual(['5']);
    expect([...taken].sort()).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  test('every order of the messages of some channels comes to the same', async () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed);
      const { take, taken, asked } = receiver({ c: ['a', 4], d: ['c', 2] });
      const all = ['a', 'b', 'c', 'd'].flatMap((sender) => [1, 2, 3, 4].map((sequence) => ({ sender, sequence, at: random.below(1_000) })));
      const shuffled = all.toSorted((x, y) => x.at - y.at);
      const cut = random.between(1, shuffled.length);
      const left = await takeAroundGap({
        waiting: shuffled.slice(0, cut).map(({ sender, sequence }, i) => waiting(i, sender, sequence)),
        ahead: async () => shuffled.slice(cut).map(({ sender, sequence }) => bytesOf(sender, sequence)),
        take,
      });
      expect(left, `seed ${seed}`).toEqual([]);
      expect(asked(), `seed ${seed}`).toBeLessThan(60);
      expect(Math.min(...[...taken.values()])).toBeGreaterThan(0);
    }
  });
});
