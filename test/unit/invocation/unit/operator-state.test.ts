import { describe, expect, test } from 'vitest';
import type { OperatorRestore } from '../../../../lib/checkpoint/snapshot.ts';
import type { EntryHead } from '../../../../lib/invocation/entry.ts';
import { decodeOperatorState, encodeOperatorState, readOperatorState } from '../../../../lib/invocation/unit/operator-state.ts';
import { OperatorStateMemory } from '../../../../lib/invocation/unit/operator-state-memory.ts';
import { FakeService, fakePorts } from '../../../../lib/testing/index.ts';

const bytesOf = (length: number, fill = 1): Uint8Array => new Uint8Array(length).fill(fill);

/** An operator with a list that stays and one that moves, and an accumulator. */
function state(p: {
  readonly steady: Uint8Array;
  readonly moving: number;
  readonly counted?: number;
  readonly more?: boolean;
}): Uint8Array {
  const list = (name: string, element: Uint8Array) => ({ name, redistribution: 'union' as const, elements: [element] });
  const operator = (uid: string, ...lists: OperatorRestore['lists']): OperatorRestore => ({
    uid,
    lists,
    keyed: [],
    sinkStates: [],
    accumulators: [{ name: 'count', value: Uint8Array.of(p.counted ?? 0) }],
  });
  const first = operator('rules', list('rules', p.steady), ...(p.more === true ? [list('more', bytesOf(1))] : []));
  return encodeOperatorState([first, operator('late', list('time', Uint8Array.of(p.moving)))]) as Uint8Array;
}

/** Entries of one subtask; what an environment knows of it may be forgotten in between. */
class Chain {
  readonly objects = fakePorts(new FakeService()).objects;
  memory = new OperatorStateMemory();
  head: Pick<EntryHead, 'n' | 'operatorState'> = { n: 0, operatorState: undefined };

  async append(now: Uint8Array | undefined, entries = 1): Promise<EntryHead['operatorState']> {
    const where = { objects: this.objects, subtask: '0-0' };
    for (let i = 0; i < entries; i++) {
      const known = await this.memory.read(this.head.operatorState, where);
      const { head } = this;
      const name = `state/${head.n + 1}`;
      const operatorState = await this.memory.keep(now, known, { head, objects: this.objects, inlineBytesMax: 1_024, name });
      this.head = { n: head.n + 1, operatorState };
      expect(await readOperatorState(operatorState, where)).toEqual(now);
    }
    return this.head.operatorState;
  }
}

describe('operator state in entries', () => {
  test('that is small and changes rides whole', async () => {
    const chain = new Chain();
    for (let n = 0; n < 100; n++) {
      const now = state({ steady: bytesOf(20), moving: n });
      expect(await chain.append(now)).toEqual({ bytes: now, object: undefined });
    }
    expect(await chain.append(undefined)).toBeUndefined();
  });

  test('that stays the same goes to an object once entries have cost as much', async () => {
    const chain = new Chain();
    const now = state({ steady: bytesOf(900), moving: 1 });
    let rode = 0;
    while ((await chain.append(now))?.object === undefined) rode += 1;
    expect(rode).toBeGreaterThanOrEqual(8);
    expect(rode).toBeLessThanOrEqual(11);
    expect(await chain.append(now, 50)).toEqual({ bytes: undefined, object: `state/${rode + 1}` });
  });

  test('goes there while other parts move, which ride alone from then on', async () => {
    const chain = new Chain();
    for (let n = 0; n < 40; n++) await chain.append(state({ steady: bytesOf(900), moving: n, counted: n }));
    const { object, bytes } = (await chain.append(state({ steady: bytesOf(900), moving: 41, counted: 41 })))!;
    expect(object).toMatch(/^state\/(9|10|11)$/);
    expect(bytes!.length).toBeLessThan(80);
    expect(decodeOperatorState(bytes!).map(({ uid }) => uid)).toEqual(['rules', 'late']);
    // In an environment that knows nothing.
    chain.memory = new OperatorStateMemory();
    expect(await chain.append(state({ steady: bytesOf(900), moving: 42 }))).toMatchObject({ object });
  });

  test('that is large is stored once while event time goes on, and again when it changes', async () => {
    const chain = new Chain();
    const large = (fill: number, moving: number) => state({ steady: bytesOf(5_000, fill), moving });
    for (let n = 0; n < 20; n++) expect((await chain.append(large(1, n)))?.object).toBe('state/1');
    for (let n = 0; n < 20; n++) expect((await chain.append(large(2, n)))?.object).toBe('state/21');
    expect(await chain.objects.list('state/')).toEqual(['state/1', 'state/21']);
  });

  test('of another shape is stored anew, as the operators gave it', async () => {
    const chain = new Chain();
    await chain.append(state({ steady: bytesOf(5_000), moving: 1 }));
    expect(await chain.append(state({ steady: bytesOf(5_000), moving: 1, more: true }))).toEqual({ bytes: undefined, object: 'state/2' });
    expect((await chain.append(state({ steady: bytesOf(50), moving: 1 })))?.object).toBeUndefined();
  });

  test('whose object is gone is told by name', async () => {
    const chain = new Chain();
    await chain.append(state({ steady: bytesOf(5_000), moving: 1 }));
    await chain.objects.remove('state/1');
    chain.memory = new OperatorStateMemory();
    await expect(chain.append(state({ steady: bytesOf(5_000), moving: 2 }))).rejects.toMatchObject({ code: 'OBJECT_MISSING' });
  });
});
