import { describe, expect, test } from 'vitest';
import { checkStates, factoryOf, sinkFactoryOf, waysToRemember } from '../../../lib/api/function-checks.ts';
import type { Sink } from '../../../lib/api/sink.ts';
import { listState, valueState } from '../../../lib/api/state.ts';
import { nowhere, refusal } from './building.ts';

const make = (f: unknown): { create(): object; sample: object } => factoryOf('process', f as object, ['processElement']);

class Plain {
  processElement(): void {}
}
class WithField extends Plain {
  seen = 0;
}
class WithPrivateField extends Plain {
  #seen = 0;
  override processElement(): void {
    this.#seen += 1;
  }
}
class WithInheritedPrivateField extends WithPrivateField {}
class WithState extends Plain {
  readonly state = { n: valueState<number>() };
}

describe('one instance for all subtasks', () => {
  test.each([
    ['an object of methods', { processElement() {} }],
    ['an object of arrow functions and state', { state: { n: valueState<number>() }, processElement: () => {} }],
    ['a class without fields', new Plain()],
    ['a class whose only field is its state', new WithState()],
  ])('may be %s', (_what, f) => {
    const { create, sample } = make(f);
    expect([create(), create(), sample]).toEqual([f, f, f]);
  });

  test.each([
    ['a field', { count: 0, processElement() {} }, "the field 'count'"],
    [
      'an accessor',
      {
        get count() {
          return 0;
        },
        processElement() {},
      },
      "the field 'count'",
    ],
    ['a field of a class', new WithField(), '() => new WithField()'],
    ['a private field', new WithPrivateField(), 'private fields'],
    ['a private field of a parent', new WithInheritedPrivateField(), 'private fields'],
    ['open', { open() {}, processElement() {} }, "'open'"],
    ['initializeState', { initializeState() {}, processElement() {} }, "'initializeState'"],
    ['restoreState', { restoreState() {}, processElement() {} }, "'restoreState'"],
  ])('is refused when it has %s', (_what, f, words) => {
    const error = refusal(() => make(f));
    expect(error.code).toBe('FUNCTION_NEEDS_FACTORY');
    expect(error.message).toContain(words);
  });
});

describe('a factory', () => {
  test('is called once for each subtask, the look at its state included', () => {
    let calls = 0;
    const { create, sample } = make(() => ({ number: ++calls, processElement() {} }));
    const made = [create(), create(), create()];
    expect(calls).toBe(3);
    expect(new Set(made).size).toBe(3);
    expect(made[0]).toBe(sample);
  });

  test('may give one object again only if the object remembers nothing', () => {
    const shared = new Plain();
    const { create } = make(() => shared);
    expect([create(), create()]).toEqual([shared, shared]);
    const remembering = new WithField();
    const second = make(() => remembering);
    second.create();
    expect(refusal(() => second.create()).code).toBe('FUNCTION_NEEDS_FACTORY');
  });

  test.each([
    ['a class', WithField, 'new WithField()'],
    ['nothing', () => undefined, 'not undefined'],
    ['a promise', async () => new Plain(), 'promise'],
    ['an object without the method', () => ({}), 'processElement'],
  ])('is refused when it is or gives %s', (_what, f, words) => {
    const error = refusal(() => make(f));
    expect(error.code).toBe('FUNCTION_INVALID');
    expect(error.message).toContain(words);
  });
});

describe('a sink', () => {
  class Prepared implements Sink<number> {
    readonly rows: number[] = [];
    readonly kind = 'Prepared';
    beginTransaction(): void {}
    recover(): void {}
    createWriter(): never {
      throw new Error('nothing runs in this test');
    }
  }

  test('made by a function is shared, because its writers hold what changes', () => {
    const sink = { ...nowhere<number>(), path: 'out/' };
    expect(sinkFactoryOf(sink).create()).toBe(sink);
  });

  test('that is one writer itself needs a factory as soon as it can remember', () => {
    expect(refusal(() => sinkFactoryOf(new Prepared())).message).toContain("'rows'");
    expect(sinkFactoryOf(() => new Prepared()).create()).toBeInstanceOf(Prepared);
  });
});

describe('declared states', () => {
  test('are what valueState and its siblings made, under different names', () => {
    expect(checkStates('process', undefined)).toEqual({});
    expect(refusal(() => checkStates('process', { n: 1 })).code).toBe('FUNCTION_INVALID');
    expect(refusal(() => checkStates('process', [valueState()])).code).toBe('FUNCTION_INVALID');
    const twice = refusal(() => checkStates('process', { a: valueState({ name: 'b' }), b: listState() }));
    expect([twice.code, twice.details['state']]).toEqual(['STATE_NAME_DUPLICATE', 'b']);
  });

  test('with a time-to-live are refused by name instead of living for ever', () => {
    const error = refusal(() => checkStates('process', { basket: valueState({ ttl: { duration: '30 d' } }) }));
    expect([error.code, error.details['state']]).toEqual(['FEATURE_NOT_AVAILABLE', 'basket']);
  });
});

test('what can remember is told in the words of the author', () => {
  expect(waysToRemember({ a: 1, b: () => 1, [Symbol.for('c')]: 2, open() {} })).toEqual([
    "the field 'a'",
    "the field 'Symbol(c)'",
    "'open'",
  ]);
});
