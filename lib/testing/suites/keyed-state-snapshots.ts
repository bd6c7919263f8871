// Rules of keyed state over time: snapshots while records go on, restores at another parallelism, timers.

import assert from 'node:assert/strict';
import type { ListState, MapState, StateShape, ValueState } from '../../api/state.ts';
import { listState, mapState, valueState } from '../../api/state.ts';
import type { KeyGroupSnapshot } from '../../checkpoint/snapshot.ts';
import { encodeKey, keyValue, normalizeKey, type StateKey } from '../../core/key-codec.ts';
import { keyGroupOf, keyGroupRange } from '../../core/key-group.ts';
import type { KeyedStateFactory, RunningSnapshot } from '../../state/backend.ts';
import { Bench, empty, encoded, fill, filledWith, maxParallelism, type Rule, readAll, shape } from './keyed-state-bench.ts';

export function snapshots(rule: Rule): void {
  rule('a snapshot holds its groups in ascending order, each with the keys that belong to it, empty ones left out', (create) => {
    const b = new Bench(create);
    const names = ['a', 'b', 'c', 1, [2]];
    b.batch(names, (s, i) => fill(s, i));
    const groups = b.snapshot().map(({ group }) => group);
    const expected = [...new Set(names.map((name) => keyGroupOf(encodeKey(name), maxParallelism)))].sort((x, y) => x - y);
    assert.deepEqual(groups, expected);
  });

  rule('two snapshots of one state are equal, and so are those of what was restored', (create) => {
    const b = new Bench(create);
    b.batch(['a', 'b', 'c'], (s, i) => fill(s, i));
    b.backend.timers.event.register(5, 'a');
    const first = b.snapshot();
    assert.deepEqual(b.snapshot(), first);
    assert.deepEqual(b.restored(create, first).snapshot(), first);
  });

  rule('the snapshot of nothing is nothing', (create) => {
    assert.deepEqual(new Bench(create).snapshot(), []);
  });

  rule('a cancelled snapshot disturbs neither the state nor later snapshots', (create) => {
    const b = new Bench(create);
    const names = Array.from({ length: 50 }, (_, i) => i);
    b.batch(names, (s, i) => fill(s, i));
    const running = b.backend.startSnapshot();
    running.advance(10);
    b.batch(names, (s) => s.value.update('later'));
    running.cancel();
    running.cancel();
    const again = b.restored(create, b.snapshot());
    again.batch(names, (s, i) => assert.deepEqual(readAll(s), { ...(filledWith(i) as object), value: 'later' }));
  });
}

export function concurrentSnapshots(rule: Rule): void {
  const names = Array.from({ length: 60 }, (_, i) => i);

  /** Starts a snapshot, disturbs between its slices, and checks what it restores. */
  const disturbed = (create: KeyedStateFactory, disturb: (b: Bench, round: number) => void): void => {
    const b = new Bench(create);
    b.batch(names, (s, i) => fill(s, i));
    for (const i of names) b.backend.timers.event.register(i, i);
    const running = b.backend.startSnapshot();
    for (let round = 0; ; round++) {
      disturb(b, round);
      if (running.advance(7)) break;
    }
    disturb(b, 99);
    const again = b.restored(create, running.groups());
    again.batch(names, (s, i) => assert.deepEqual(readAll(s), filledWith(i)));
    assert.equal(again.backend.keyCount(), names.length);
    assert.equal(again.backend.timers.event.size, names.length);
  };

  rule('B2: it does not see what is written between its slices', (create) => {
    disturbed(create, (b, round) => b.batch(names.toReversed(), (s) => fill(s, 1_000 + round)));
  });

  rule('B2: it sees what is cleared between its slices', (create) => {
    disturbed(create, (b) => b.batch(names, (s) => Object.values(s).forEach((state) => void (state as { clear(): void }).clear())));
  });

  rule('B2: it does not see keys that take the places of cleared ones', (create) => {
    disturbed(create, (b, round) => {
      b.batch(round === 0 ? names : names.map((i) => `new ${round - 1} ${i}`), (s) =>
        Object.values(s).forEach((state) => void (state as { clear(): void }).clear()),
      );
      b.batch(
        names.map((i) => `new ${round} ${i}`),
        (s, i) => fill(s, i),
      );
    });
  });

  rule('B2: it does not see list items and map entries that are added, changed or removed', (create) => {
    disturbed(create, (b, round) =>
      b.batch(names, (s, i) => {
        if (round % 3 === 0) s.list.add('more');
        else if (round % 3 === 1) s.list.update([]);
        s.map.put(`more${round}`, 1);
        s.map.put(i, 'changed');
        if (round % 2 === 1) s.map.remove(`k${i}`);
      }),
    );
  });

  rule('B2: it sees timers that fire and not those that are registered between its slices', (create) => {
    disturbed(create, (b, round) => {
      b.backend.timers.event.takeDue(Number.MAX_SAFE_INTEGER);
      b.backend.timers.event.register(1_000 + round, 'late');
      b.backend.timers.event.remove(59, 59);
    });
  });

  rule('B2: several at once see each their own moment', (create) => {
    const b = new Bench(create);
    const running: { readonly moment: number; readonly snapshot: RunningSnapshot }[] = [];
    const finished: { readonly moment: number; readonly groups: readonly KeyGroupSnapshot[] }[] = [];
    for (let moment = 0; moment < 12; moment++) {
      // Half of the keys change at each moment, so that a slot may be old for one snapshot and new for another.
      b.batch(
        names.filter((i) => (i + moment) % 2 === 0),
        (s) => {
          s.value.update(moment);
          s.list.add(moment);
          s.map.put(moment, moment);
        },
      );
      running.push({ moment, snapshot: b.backend.startSnapshot() });
      for (const { moment: of, snapshot } of running.filter((r) => r.moment % 3 === moment % 3)) {
        if (snapshot.advance(17)) {
          finished.push({ moment: of, groups: snapshot.groups() });
          running.splice(
            running.findIndex((r) => r.moment === of),
            1,
          );
        }
      }
    }
    for (const { moment, snapshot } of running) finished.push({ moment, groups: encoded(snapshot) });
    assert.equal(finished.length, 12);
    for (const { moment, groups } of finished) {
      const again = b.restored(create, groups);
      again.batch(names, (s, i) => {
        const moments = Array.from({ length: moment + 1 }, (_, m) => m).filter((m) => (i + m) % 2 === 0);
        assert.deepEqual(
          readAll(s),
          { ...empty, value: moments.at(-1), list: moments, map: moments.map((m) => [m, m]) },
          `key ${i} at moment ${moment}`,
        );
      });
    }
  });
}

export function restores(rule: Rule): void {
  rule('key groups go to whatever parallelism, and come back as one', (create) => {
    const b = new Bench(create);
    const names: unknown[] = [...Array.from({ length: 300 }, (_, i) => i), 'a', [1, 'b'], 5n];
    b.batch(names, (s, i) => fill(s, i));
    for (const [i, name] of names.entries()) b.backend.timers[i % 2 === 0 ? 'event' : 'processing'].register(i, normalizeKey(name));
    const whole = b.snapshot();
    for (const parallelism of [1, 2, 3, 5, 16]) {
      const parts = Array.from({ length: parallelism }, (_, subtask) => {
        const { first, last } = keyGroupRange(subtask, maxParallelism, parallelism);
        return b.restored(
          create,
          whole.filter(({ group }) => group >= first && group <= last),
        );
      });
      assert.equal(
        parts.reduce((sum, part) => sum + part.backend.keyCount(), 0),
        names.length,
      );
      const merged = new Bench(create);
      for (const part of parts.toReversed()) merged.backend.restore(part.backend.states, part.snapshot());
      merged.batch(names, (s, i) => assert.deepEqual(readAll(s), filledWith(i)));
      assert.equal(merged.backend.timers.event.size + merged.backend.timers.processing.size, names.length);
      assert.deepEqual(merged.snapshot(), whole);
    }
  });

  rule('states are found by name, whatever their order in the declaration; a new one is empty', (create) => {
    const b = new Bench(create);
    b.batch(['a', 'b'], (s, i) => fill(s, i));
    const groups = b.snapshot();
    const { value, ...others } = shape;
    const renamed: StateShape = {
      fresh: valueState<number>({ default: () => 3 }),
      ...Object.fromEntries(Object.entries(others).toReversed()),
      other: valueState({ name: 'value' }),
    };
    const other = new Bench(create, renamed);
    other.backend.restore(b.backend.states, groups);
    other.batch(['a', 'b'], (s, i) => {
      const { fresh, other: named } = s as unknown as { fresh: ValueState<number>; other: ValueState<unknown> };
      assert.equal(fresh.value(), 3);
      assert.deepEqual(named.value(), { n: i, more: [i, `${i}`] });
      assert.deepEqual([...s.map.keys()], [i, `k${i}`]);
      assert.equal(s.max.get(), i);
    });
  });

  rule('an older version of a state is migrated as it is read, in values, lists and maps', (create) => {
    const old = new Bench(create, { v: valueState<number>(), l: listState<number>(), m: mapState<string, number>() });
    old.batch(['a'], (s) => {
      const { v, l, m } = s as unknown as { v: ValueState<number>; l: ListState<number>; m: MapState<string, number> };
      v.update(1);
      l.addAll([2, 3]);
      m.put('x', 4);
    });
    const options = { version: 2, migrate: (value: unknown, from: number): string => `${from}:${String(value)}` };
    const now = new Bench(create, { v: valueState(options), l: listState(options), m: mapState<string, string>(options) });
    now.backend.restore(old.backend.states, old.snapshot());
    now.batch(['a'], (s) => {
      const { v, l, m } = s as unknown as { v: ValueState<string>; l: ListState<string>; m: MapState<string, string> };
      assert.equal(v.value(), '0:1');
      assert.deepEqual([...l.get()], ['0:2', '0:3']);
      assert.deepEqual([...m.entries()], [['x', '0:4']]);
    });
    const later = new Bench(create, { v: valueState(options), l: listState(options), m: mapState<string, string>(options) });
    later.backend.restore(now.backend.states, now.snapshot());
    later.batch(['a'], (s) => assert.equal((s as unknown as { v: ValueState<string> }).v.value(), '0:1'));
  });
}

export function evolution(rule: Rule): void {
  const restored = (create: KeyedStateFactory, declared: StateShape): void => {
    const old = new Bench(create, { v: valueState<number>({ version: 1 }) });
    old.batch(['a'], (s) => (s as unknown as { v: ValueState<number> }).v.update(1));
    new Bench(create, declared).backend.restore(old.backend.states, old.snapshot());
  };

  rule('a version that changed without migrate is refused by the names of state and operator and both versions', (create) => {
    assert.throws(
      () => restored(create, { v: valueState<number>({ version: 2 }) }),
      /state v of op has version 2 and no migrate.* version 1/,
    );
  });

  rule('what migrate throws, or gives that cannot be stored, is told by the names of state and operator', (create) => {
    const failing = (): number => {
      throw new Error('boom');
    };
    assert.throws(
      () => restored(create, { v: valueState<number>({ version: 2, migrate: failing }) }),
      /migrate of state v of op failed from version 1: boom/,
    );
    const wrong = (): unknown => () => {};
    assert.throws(
      () => restored(create, { v: valueState<unknown>({ version: 2, migrate: wrong }) }),
      /migrate of state v of op failed from version 1: /,
    );
  });
}

export function timers(rule: Rule): void {
  const taken = (b: Bench, domain: 'event' | 'processing', now: number): [number, unknown][] => {
    const all: [number, unknown][] = [];
    for (let t = b.backend.timers[domain].takeDue(now); t !== undefined; t = b.backend.timers[domain].takeDue(now))
      all.push([t.time, keyValue(t.key)]);
    return all;
  };
  const key = (k: unknown): StateKey => normalizeKey(k);

  rule('timers are taken by time, then by encoded key, whatever the order of registering', (create) => {
    const b = new Bench(create);
    const times = [5, -3, 0, 1e15, 2.5, -1e15, 7];
    const names: unknown[] = ['b', 'a', 2, 10, [1]];
    for (const time of times) for (const name of names) b.backend.timers.event.register(time, key(name));
    const inOrder = names.toSorted((x, y) => (encodeKey(x) < encodeKey(y) ? -1 : 1));
    const expected = times.toSorted((x, y) => x - y).flatMap((time) => inOrder.map((name) => [time, name]));
    const again = b.restored(create, b.snapshot());
    assert.equal(b.backend.timers.event.next(), -1e15);
    assert.deepEqual(taken(b, 'event', Number.MAX_SAFE_INTEGER), expected);
    assert.deepEqual(taken(again, 'event', Number.MAX_SAFE_INTEGER), expected);
    assert.equal(b.backend.timers.event.next(), undefined);
  });

  rule('a timer of a key and time is one, however often it is registered; the two domains are apart', (create) => {
    const b = new Bench(create);
    const { event, processing } = b.backend.timers;
    event.register(5, 'a');
    event.register(5, 'a');
    event.register(5, key(['a']));
    event.register(5, key(['a']));
    event.register(0, 'z');
    event.register(-0, 'z');
    processing.register(5, 'a');
    assert.equal(event.size, 3);
    assert.deepEqual(taken(b, 'event', 5), [
      [0, 'z'],
      [5, 'a'],
      [5, ['a']],
    ]);
    assert.deepEqual(taken(b, 'event', 5), []);
    assert.deepEqual(taken(b, 'processing', 5), [[5, 'a']]);
  });

  rule('a timer keeps the first thing that set it, over a snapshot too', (create) => {
    const b = new Bench(create);
    const { event, processing } = b.backend.timers;
    event.registerCaused(5, 'a', 'first');
    event.registerCaused(5, 'a', 'second');
    event.register(6, 'a');
    processing.registerCaused(7, key(['b']), 'third \u{1f600}');
    const again = b.restored(create, b.snapshot());
    for (const { backend } of [b, again]) {
      assert.equal(backend.timers.event.takeDue(9)?.cause, 'first');
      assert.equal(backend.timers.event.takeDue(9)?.cause, undefined);
      assert.equal(backend.timers.processing.takeDue(9)?.cause, 'third \u{1f600}');
    }
  });

  rule('only what is due is taken, the limit included', (create) => {
    const b = new Bench(create);
    for (const time of [9, 10, 11]) b.backend.timers.event.register(time, 'a');
    assert.deepEqual(taken(b, 'event', 8), []);
    assert.deepEqual(
      taken(b, 'event', 10).map(([time]) => time),
      [9, 10],
    );
    assert.equal(b.backend.timers.event.next(), 11);
  });

  rule('a removed timer does not come back, and removing what is not there is harmless', (create) => {
    const b = new Bench(create);
    const { event } = b.backend.timers;
    event.register(1, 'a');
    event.register(1, 'b');
    event.remove(1, 'a');
    event.remove(1, 'a');
    event.remove(2, 'b');
    const again = b.restored(create, b.snapshot());
    assert.deepEqual(taken(again, 'event', 1), [[1, 'b']]);
    assert.deepEqual(taken(b, 'event', 1), [[1, 'b']]);
  });

  rule('a timer keeps what set it first, also over a snapshot', (create) => {
    const b = new Bench(create);
    const { event } = b.backend.timers;
    event.registerCaused(1, 'a', 'first');
    event.registerCaused(1, 'a', 'second');
    event.register(2, 'a');
    const again = b.restored(create, b.snapshot());
    for (const bench of [b, again]) {
      const causes = [1, 2].map(() => bench.backend.timers.event.takeDue(2)?.cause);
      assert.deepEqual(causes, ['first', undefined]);
    }
  });

  rule('timers of keys without state are part of a snapshot', (create) => {
    const b = new Bench(create);
    b.backend.timers.processing.register(3, key({ user: 1 }));
    const again = b.restored(create, b.snapshot());
    assert.equal(again.backend.keyCount(), 0);
    assert.deepEqual(taken(again, 'processing', 3), [[3, { user: 1 }]]);
  });
}
