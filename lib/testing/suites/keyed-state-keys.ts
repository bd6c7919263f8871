// Rules of keyed state about identity: how the keys of a map state, and the keys of an operator, are told apart and ordered.

import assert from 'node:assert/strict';
import { encodeKey, keyValue, normalizeKey } from '../../core/key-codec.ts';
import { type AllHandles, awkwardNames, Bench, empty, fill, type Rule, readAll } from './keyed-state-bench.ts';

export function maps(rule: Rule): void {
  rule('map keys are compared by value, and kinds are kept apart', (create) => {
    const b = new Bench(create);
    const names: unknown[] = [...awkwardNames, 1, 1n, '1', true, 'true', -0.5, Number.NaN, [1, 'a'], { a: 1 }, new Uint8Array([1])];
    b.at('k', (s) => {
      for (const [i, name] of names.entries()) s.map.put(name, i);
      assert.equal([...s.map.keys()].length, names.length);
      assert.equal(s.map.get([1, 'a']), names.findIndex(Array.isArray));
      assert.equal(s.map.get({ a: 1 }), s.map.get(JSON.parse('{"a":1}')));
      s.map.put(0, 'zero');
      assert.equal(s.map.get(-0), 'zero');
      s.map.remove(-0);
      for (const [i, name] of names.entries()) assert.equal(s.map.get(name), i);
      for (const name of names) s.map.remove(name);
      assert.equal(s.map.isEmpty(), true);
    });
    assert.equal(Object.getPrototypeOf({}), Object.prototype);
  });

  rule('a map iterates in the order of its encoded keys, whatever the order of writing', (create) => {
    const b = new Bench(create);
    const names: unknown[] = [...awkwardNames, 3, -1, 20, 100n, -5n, false, [2], [1, 2]];
    const inOrder = names.toSorted((x, y) => (encodeKey(x) < encodeKey(y) ? -1 : 1));
    b.at('forth', (s) => names.forEach((name, i) => void s.map.put(name, i)));
    b.at('back', (s) => s.map.putAll(names.toReversed().map((name) => [name, 0] as const)));
    const check = (s: AllHandles): void => assert.deepEqual([...s.map.keys()], inOrder);
    const again = b.restored(create, b.snapshot());
    for (const bench of [b, again]) for (const key of ['forth', 'back']) bench.at(key, check);
  });

  rule('a map iterates over the entries that were there when the iteration began', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => {
      for (let i = 0; i < 100; i++) s.map.put(i, i);
      const visited: unknown[] = [];
      for (const [key, value] of s.map.entries()) {
        visited.push(key);
        assert.equal(value, key);
        s.map.remove((key as number) + 1);
        s.map.put((key as number) + 1_000, 'new');
        s.map.put(key, 'changed');
      }
      assert.deepEqual(
        visited,
        Array.from({ length: 100 }, (_, i) => i),
      );
      const keys = s.map.keys();
      assert.equal(keys.next().value, 0);
      s.map.clear();
      assert.equal(keys.next().value, 1);
      assert.equal(s.map.isEmpty(), true);
      assert.deepEqual([...s.map.keys()], []);
    });
  });

  rule('an iteration begins when it is asked for, not at its first step', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => {
      s.map.put(1, 1);
      const entries = s.map.entries();
      const keys = s.map.keys();
      const values = s.map.values();
      s.map.put(2, 2);
      assert.deepEqual([...entries], [[1, 1]]);
      assert.deepEqual([...keys], [1]);
      assert.deepEqual([...values], [1]);
    });
  });

  rule('an iteration that was begun under one key goes on over that key', (create) => {
    const b = new Bench(create);
    let held: IterableIterator<unknown> | undefined;
    b.at('a', (s) => {
      s.map.putAll([
        [1, 'a'],
        [2, 'a'],
      ]);
      held = s.map.values();
    });
    b.at('b', (s) => s.map.put(1, 'b'));
    b.batch(['b'], () => assert.deepEqual([...(held as IterableIterator<unknown>)], ['a', 'a']));
  });
}

export function keys(rule: Rule): void {
  rule('keys are compared by value, and what looks alike in another kind is another key', (create) => {
    const b = new Bench(create);
    const names: unknown[] = [
      ...awkwardNames,
      1,
      1n,
      '1',
      true,
      'true',
      0,
      false,
      Number.NaN,
      'NaN',
      [1],
      [[1]],
      ['1'],
      { a: 1 },
      { a: '1' },
      new Uint8Array([1]),
    ];
    b.batch(names, (s, i) => s.value.update(i));
    assert.equal(b.backend.keyCount(), names.length);
    b.batch(structuredClone(names), (s, i) => assert.equal(s.value.value(), i));
    assert.equal(
      b.at(-0, (s) => s.value.value()),
      names.indexOf(0),
    );
    const again = b.restored(create, b.snapshot());
    assert.equal(again.backend.keyCount(), names.length);
    again.batch(structuredClone(names), (s, i) => assert.equal(s.value.value(), i));
  });

  rule('a string that looks like the encoding of another key is another key', (create) => {
    const b = new Bench(create);
    const tuple = [1, 'a'];
    b.batch([tuple, encodeKey(tuple), 'a', encodeKey('a')], (s, i) => s.value.update(i));
    b.batch([[1, 'a'], encodeKey(tuple), 'a', encodeKey('a')], (s, i) => assert.equal(s.value.value(), i));
  });

  rule('B1: the current key is that of the selected slot, also outside a batch', (create) => {
    const b = new Bench(create);
    const names = ['a', 7, [1, 'x']];
    b.batch(names, (s, i) => {
      assert.deepEqual(keyValue(b.backend.currentKey()), names[i]);
      s.value.update(i);
    });
    b.backend.selectKey(normalizeKey([1, 'x']));
    assert.deepEqual(keyValue(b.backend.currentKey()), [1, 'x']);
    assert.equal(b.s.value.value(), 2);
    b.backend.selectKey('new');
    assert.equal(b.s.value.value(), undefined);
    b.s.value.update('made');
    b.backend.endBatch();
    assert.equal(
      b.at('new', (s) => s.value.value()),
      'made',
    );
  });

  rule('B4: a key all of whose states are empty takes no place', (create) => {
    const b = new Bench(create);
    const names = Array.from({ length: 5_000 }, (_, i) => i);
    b.batch(names, (s, i) => {
      if (i % 2 === 0) fill(s, i);
      else readAll(s);
    });
    assert.equal(b.backend.keyCount(), 2_500);
    b.batch(names, (s) => {
      for (const state of Object.values(s)) (state as { clear(): void }).clear();
    });
    assert.equal(b.backend.keyCount(), 0);
    assert.deepEqual(b.snapshot(), []);
    b.batch(names.toReversed(), (s, i) => s.value.update(i));
    b.batch(names, (s, i) => assert.deepEqual(readAll(s), { ...empty, value: 4_999 - i }));
  });

  rule('a key that is emptied and written again in one batch keeps what was written last', (create) => {
    const b = new Bench(create);
    b.batch(['a', 'b', 'a', 'a'], (s, i) => {
      if (i === 2) s.value.clear();
      else s.value.update(i);
    });
    assert.equal(
      b.at('a', (s) => s.value.value()),
      3,
    );
    b.batch(['a', 'c', 'a'], (s, i) => {
      if (i === 0) s.value.clear();
      else s.value.update(10 + i);
    });
    assert.equal(
      b.at('a', (s) => s.value.value()),
      12,
    );
    assert.equal(
      b.at('c', (s) => s.value.value()),
      11,
    );
  });
}
