// Rules of keyed state between two records: what each kind of state gives back, and who owns the values.

import assert from 'node:assert/strict';
import { type AllHandles, Bench, empty, fill, filledWith, type Rule, readAll } from './keyed-state-bench.ts';

export function kindsOfState(rule: Rule): void {
  rule('a key without state reads as empty, and value states give their default', (create) => {
    const b = new Bench(create);
    assert.deepEqual(b.at('a', readAll), empty);
    assert.equal(
      b.at('a', (s) => s.map.isEmpty()),
      true,
    );
  });

  rule('what one key writes no other key reads', (create) => {
    const b = new Bench(create);
    const names = Array.from({ length: 200 }, (_, i) => `k${i}`);
    b.batch(names, (s, i) => fill(s, i));
    b.batch(names.toReversed(), (s, i) => assert.deepEqual(readAll(s), filledWith(199 - i)));
    assert.deepEqual(b.at('another', readAll), empty);
  });

  rule('one batch may hold a key several times, and each record reads what the one before wrote', (create) => {
    const b = new Bench(create);
    b.batch(['a', 'b', 'a', 'a', 'b'], (s) => s.trace.add('.'));
    assert.equal(
      b.at('a', (s) => s.trace.get()),
      '>...',
    );
    assert.equal(
      b.at('b', (s) => s.trace.get()),
      '>..',
    );
  });

  rule('clear makes each state empty by itself, and what is written afterwards begins anew', (create) => {
    const b = new Bench(create);
    const clears: ((s: AllHandles) => void)[] = [
      (s) => s.value.clear(),
      (s) => s.filled.clear(),
      (s) => s.list.clear(),
      (s) => s.map.clear(),
      (s) => s.max.clear(),
      (s) => s.mean.clear(),
      (s) => s.trace.clear(),
      (s) => s.seen.clear(),
    ];
    const fields = Object.keys(empty) as (keyof typeof empty)[];
    for (const [i, clear] of clears.entries()) {
      const field = fields[i] as keyof typeof empty;
      b.at(i, (s) => fill(s, 5));
      b.at(i, clear);
      b.at(i, clear);
      assert.deepEqual(b.at(i, readAll), { ...(filledWith(5) as object), [field]: empty[field] });
      b.at(i, (s) => {
        for (const other of clears) other(s);
        fill(s, 6);
      });
      assert.deepEqual(b.at(i, readAll), filledWith(6));
    }
  });

  rule('undefined is a value: of a value state it hides the default, in lists and maps it has its place', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => {
      s.filled.update(undefined);
      s.list.addAll([undefined, 1, undefined]);
      s.map.put('u', undefined);
    });
    const check = (s: AllHandles): void => {
      assert.equal(s.filled.value(), undefined);
      assert.deepEqual([...s.list.get()], [undefined, 1, undefined]);
      assert.equal(s.map.has('u'), true);
      assert.equal(s.map.get('u'), undefined);
      assert.equal(s.map.isEmpty(), false);
      assert.deepEqual([...s.map.entries()], [['u', undefined]]);
    };
    b.at('a', check);
    b.restored(create, b.snapshot()).at('a', check);
  });

  rule('a list is added to in order, replaced by update, and emptied by an empty update', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => {
      s.list.add(1);
      const early = s.list.get();
      s.list.addAll(new Set([2, 3]));
      s.list.addAll([]);
      assert.deepEqual([...early], [1]);
      assert.deepEqual([...s.list.get()], [1, 2, 3]);
      s.list.update(s.list.get().map((n) => (n as number) * 10));
      assert.deepEqual([...s.list.get()], [10, 20, 30]);
      s.list.update([]);
      assert.deepEqual([...s.list.get()], []);
      s.list.addAll(s.list.get());
      s.list.add(4);
      s.list.addAll(s.list.get());
      assert.deepEqual([...s.list.get()], [4, 4]);
    });
  });

  rule('values come back with their type and bits', (create) => {
    const values = [
      0,
      -0,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      5e-324,
      Number.MAX_VALUE,
      9007199254740993n,
      -(10n ** 38n),
      '',
      '\u0000',
      '\ud800',
      '😀',
      true,
      null,
      undefined,
      new Date(-1),
      new Date(Number.NaN),
      new Uint8Array([0, 255]),
      new Map<unknown, unknown>([
        [{ a: 1 }, new Set([1, '1'])],
        [undefined, null],
      ]),
      new Set(),
      [],
      {},
      [undefined, [null]],
      { a: undefined, ['__proto__']: 1, nested: { d: new Date(7) } },
    ];
    const b = new Bench(create);
    b.batch(values.keys().toArray(), (s, i) => {
      s.value.update(values[i]);
      s.list.add(values[i]);
      s.map.put('v', values[i]);
    });
    const check = (s: AllHandles, i: number): void => {
      assert.deepStrictEqual(s.value.value(), values[i]);
      assert.ok(Object.is(s.value.value(), values[i]) || typeof values[i] === 'object');
      assert.deepStrictEqual(s.list.get()[0], values[i]);
      assert.deepStrictEqual(s.map.get('v'), values[i]);
    };
    b.batch(values.keys().toArray(), check);
    b.restored(create, b.snapshot()).batch(values.keys().toArray(), check);
  });

  rule('what cannot be encoded is refused where it is written, by the name of the state, and changes nothing', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => fill(s, 1));
    const cycle: unknown[] = [];
    cycle.push(cycle);
    class Point {
      x = 1;
    }
    for (const wrong of [() => 1, Symbol('s'), cycle, new Point(), { deep: [new Point()] }, [() => 1]]) {
      const writes: [string, (s: AllHandles) => void][] = [
        ['value', (s) => s.value.update(wrong)],
        ['list', (s) => s.list.add(wrong)],
        ['list', (s) => s.list.addAll([1, wrong])],
        ['list', (s) => s.list.update([wrong])],
        ['map', (s) => s.map.put('x', wrong)],
      ];
      for (const [state, write] of writes) {
        b.at('a', (s) => assert.throws(() => write(s), new RegExp(`state ${state} of op`)));
        assert.deepEqual(b.at('a', readAll), filledWith(1));
      }
    }
    b.at('a', (s) => assert.throws(() => s.map.put(null, 1), /null/));
    assert.deepEqual(b.at('a', readAll), filledWith(1));
  });
}

export function ownership(rule: Rule): void {
  rule('what is written is copied: changing it afterwards changes no state', (create) => {
    const b = new Bench(create);
    const object = { list: [1], inner: { x: 1 } };
    const map = new Map([['a', { x: 1 }]]);
    const bytes = new Uint8Array([1]);
    b.at('a', (s) => {
      s.value.update(object);
      s.list.addAll([map, bytes]);
      s.map.put('o', object);
    });
    object.list.push(2);
    object.inner.x = 2;
    map.set('b', { x: 2 });
    bytes[0] = 2;
    b.at('a', (s) => {
      assert.deepEqual(s.value.value(), { list: [1], inner: { x: 1 } });
      assert.deepEqual([...s.list.get()], [new Map([['a', { x: 1 }]]), new Uint8Array([1])]);
      assert.deepEqual(s.map.get('o'), { list: [1], inner: { x: 1 } });
    });
  });

  rule('changing what was read throws, as deep as it goes', (create) => {
    const b = new Bench(create);
    b.at('a', (s) => {
      s.value.update({ list: [{ x: 1 }] });
      s.list.add({ x: 1 });
      s.map.put('o', { x: 1 });
      s.mean.add(1);
      const value = s.value.value() as { list: { x: number }[]; more?: number };
      assert.throws(() => (value.more = 1), TypeError);
      assert.throws(() => value.list.push({ x: 2 }), TypeError);
      assert.throws(() => ((value.list[0] as { x: number }).x = 2), TypeError);
      assert.throws(() => (s.list.get() as unknown[]).push(1), TypeError);
      assert.throws(() => ((s.list.get()[0] as { x: number }).x = 2), TypeError);
      assert.throws(() => ((s.map.get('o') as { x: number }).x = 2), TypeError);
      assert.throws(() => ((s.map.values().next().value as { x: number }).x = 2), TypeError);
      const ofDefault = s.filled.value() as { from: string };
      assert.throws(() => (ofDefault.from = 'x'), TypeError);
    });
  });

  rule('Map, Set, Date and bytes are fresh copies at each read, so changing one changes no state', (create) => {
    const b = new Bench(create);
    const make = (): unknown => ({ map: new Map([['a', [1]]]), set: new Set([1]), date: new Date(5), bytes: new Uint8Array([1, 2]) });
    type Made = { map: Map<string, unknown>; set: Set<unknown>; date: Date; bytes: Uint8Array };
    const spoil = (made: unknown): void => {
      const { map, set, date, bytes } = made as Made;
      map.set('b', 2);
      set.clear();
      date.setTime(0);
      bytes[0] = 9;
    };
    b.at('a', (s) => {
      s.value.update(make());
      s.list.add(make());
      s.map.put('m', make());
      const reads = [
        (): unknown => s.value.value(),
        (): unknown => s.list.get()[0],
        (): unknown => s.map.get('m'),
        (): unknown => s.map.values().next().value,
        (): unknown => s.map.entries().next().value?.[1],
      ];
      for (const read of reads) {
        spoil(read());
        assert.deepEqual(read(), make());
        assert.notEqual((read() as Made).map, (read() as Made).map);
      }
    });
  });

  rule('a fold that changes what it was given changes neither what other keys start from nor what is stored', (create) => {
    const b = new Bench(create);
    b.batch(['a', 'b', 'a'], (s, i) => s.seen.add(`v${i}`));
    b.at('a', (s) => (s.seen.get() as Map<string, number>).set('x', 1));
    assert.deepEqual(
      b.at('a', (s) => s.seen.get()),
      new Map([
        ['v0', 1],
        ['v2', 1],
      ]),
    );
    assert.deepEqual(
      b.at('b', (s) => s.seen.get()),
      new Map([['v1', 1]]),
    );
    b.at('c', (s) => s.seen.add('z'));
    assert.deepEqual(
      b.at('c', (s) => s.seen.get()),
      new Map([['z', 1]]),
    );
  });
}
